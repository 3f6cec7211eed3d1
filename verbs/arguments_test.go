package verbs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/transport"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// nilErr returns the error of a call with two results.
func nilErr[T any](_ T, err error) error { return err }

func TestNilArgumentsAreRefusedWithWhatToDo(t *testing.T) {
	links := verbstest.PipeLinks(t)
	n, other := verbstest.Open(t, links[0], 64), verbstest.Open(t, links[1], 64)
	conn, _ := verbstest.ConnectByCM(t, n, other)
	c := newClient(t, n.Device, verbs.ContextLimits{})
	own := newClient(t, n.Device, verbs.ContextLimits{})
	l := n.ListenAt(verbs.PortSpaceTCP, 0)
	qp, err := c.pd.CreateQP(verbs.QPInitAttr{SendCQ: c.cq, Cap: verbstest.Cap})
	if err != nil {
		t.Fatal(err)
	}
	if err := qp.Connect(c.info, c.info, verbs.DefaultConnAttr()); err != nil {
		t.Fatal(err)
	}
	w2, err := c.pd.AllocMW(verbs.MWType2)
	if err != nil {
		t.Fatal(err)
	}
	bind := func(m *verbs.MR) error {
		return qp.PostSend(&verbs.SendWR{Opcode: verbs.WRBindMW, Bind: w2.Bind(m, 0, 8, verbs.RemoteRead)})
	}
	var none context.Context // a nil context
	wc, param, at := make([]verbs.WC, 1), verbs.DefaultConnParam(), other.At(7)
	for _, test := range []struct {
		name string
		call func() error
		want string
	}{
		{"Wait", func() error { return nilErr(c.cq.Wait(none, wc)) }, "context is nil"},
		{"CompChannel.Wait", func() error { return nilErr(c.channel.Wait(none)) }, "context is nil"},
		{"Event", func() error { return nilErr(n.Device.Event(none)) }, "context is nil"},
		{"Next", func() error { return nilErr(l.Next(none)) }, "context is nil"},
		{"Drain", func() error { return n.Device.Drain(none) }, "context is nil"},
		{"Dial without a context", func() error { return nilErr(n.Device.Dial(none, at, qp, param)) },
			"context is nil"},
		{"DialUD", func() error { return nilErr(c.pd.DialUD(none, at, nil)) }, "context is nil"},
		{"Disconnect", func() error { return conn.Disconnect(none) }, "context is nil"},
		{"KeepAlive", func() error { return conn.KeepAlive(none, time.Second) }, "context is nil"},
		{"KeepAlive every 0 s", func() error { return conn.KeepAlive(t.Context(), 0) }, "above 0"},
		{"KeepAlive every -1 s", func() error { return conn.KeepAlive(t.Context(), -time.Second) }, "above 0"},

		{"Dial without a queue pair", func() error { return nilErr(n.Device.Dial(t.Context(), at, nil, param)) },
			"queue pair is nil"},
		{"Dial of a zero queue pair",
			func() error { return nilErr(n.Device.Dial(t.Context(), at, new(verbs.QP), param)) }, "PD.CreateQP"},
		{"PostSend", func() error { return qp.PostSend(nil) }, "work request is nil"},
		{"QP.PostRecv", func() error { return qp.PostRecv(nil) }, "work request is nil"},
		{"SRQ.PostRecv", func() error { return c.srq.PostRecv(nil) }, "work request is nil"},
		{"Modify", func() error { return qp.Modify(nil, verbs.AttrState) }, "attributes are nil"},
		{"Modify of nothing", func() error { return qp.Modify(nil, 0) }, "attributes are nil"},
		{"CreateAHFromWC", func() error { return nilErr(c.pd.CreateAHFromWC(nil, nil)) }, "completion is nil"},
		{"CreateCQ with an option", func() error { return nilErr(c.ctx.CreateCQ(1, verbs.OnChannel(nil), nil)) },
			"option 1 is nil"},
		{"RegMR with an option", func() error { return nilErr(c.pd.RegMR(c.buf, 0, nil)) }, "option 0 is nil"},
		{"RegMemory", func() error { return nilErr(c.pd.RegMemory(nil, 0)) }, "memory is nil"},
		{"Rereg with an option", func() error { return c.mr.Rereg(nil) }, "option 0 is nil"},
		{"ReregPD", func() error { return c.mr.Rereg(verbs.ReregPD(nil)) }, "protection domain of ReregPD is nil"},
		{"ReregPD among others", func() error { return c.mr.Rereg(verbs.ReregPD(nil), verbs.ReregPD(c.pd)) },
			"protection domain of ReregPD is nil"},
		{"CreateQP", func() error { return nilErr(c.pd.CreateQP(verbs.QPInitAttr{})) }, "SendCQ is nil"},
		{"BindMW", func() error { return nilErr(c.qp.BindMW(nil, verbs.BindInfo{})) }, "memory window is nil"},
		{"BindMW of a zero window", func() error { return nilErr(c.qp.BindMW(new(verbs.MW), verbs.BindInfo{})) },
			"in one context"},
		{"Bind", func() error { return bind(nil) }, "no region given"},
		{"Bind to a zero region", func() error { return bind(new(verbs.MR)) }, "no region given"},
		{"Open with a link", func() error { return nilErr(verbs.Open(verbs.Config{Links: []packet.Link{nil}})) },
			"number 0 is nil"},
		{"Open with Wrap", func() error {
			cfg := verbstest.PipeLinks(t)[0]
			cfg.Wrap = func(packet.Link) packet.Link { return nil }
			return nilErr(verbs.Open(cfg))
		}, "Wrap returned nil for the link on 192.0.2.1"},
	} {
		t.Run(test.name, func(t *testing.T) { verbstest.MustFail(t, test.call(), test.want) })
	}
	if err := conn.Err(); err != nil {
		t.Errorf("the connection ended: %v", err)
	}
	// No lock is held: the objects still work and can be closed.
	if got := own.Writes(t); got != verbs.WCSuccess {
		t.Errorf("another client's WRITE: %v", got)
	}
	for _, client := range []*client{c, own} {
		if err := client.ctx.Close(); err != nil {
			t.Error(err)
		}
	}
}

// writes connects a queue pair to itself, sends a WRITE and returns its status.
func (c *client) Writes(t *testing.T) verbs.WCStatus {
	t.Helper()
	if err := c.qp.Connect(c.info, c.info, verbs.DefaultConnAttr()); err != nil {
		t.Fatal(err)
	}
	return c.write(t, c)
}

func TestAcceptRefusesNilAndTheRequestStays(t *testing.T) {
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), 64)
	a.QP, _ = a.NewQP()
	b.QP, _ = b.NewQP()
	l := b.ListenAt(verbs.PortSpaceTCP, 7)
	dialed := a.Dial(t.Context(), b.At(7), verbs.DefaultConnParam())
	r := b.Next(l)
	var none context.Context
	verbstest.MustFail(t, nilErr(r.Accept(none, b.QP, verbs.DefaultConnParam())), "context is nil")
	verbstest.MustFail(t, nilErr(r.Accept(t.Context(), nil, verbs.DefaultConnParam())), "queue pair is nil")
	verbstest.MustFail(t, nilErr(r.Accept(t.Context(), a.QP, verbs.DefaultConnParam())), "another device")
	if _, err := r.Accept(t.Context(), b.QP, verbs.DefaultConnParam()); err != nil {
		t.Error(err)
	}
	if d := <-dialed; d.Err != nil {
		t.Error(d.Err)
	}
}

func TestAcceptUDRefusesNilAndTheRequestStays(t *testing.T) {
	links := verbstest.PipeLinks(t)
	a, b := verbstest.Open(t, links[0], 64), verbstest.Open(t, links[1], 64)
	l := b.ListenAt(verbs.PortSpaceUDP, 7)
	dialed := make(chan error, 1)
	go func() { dialed <- nilErr(a.PD.DialUD(t.Context(), b.At(7), nil)) }()
	r := b.Next(l)
	verbstest.MustFail(t, r.AcceptUD(nil, nil), "queue pair is nil")
	verbstest.MustFail(t, r.AcceptUD(a.NewDatagramQP(1), nil), "another device")
	if err := r.AcceptUD(b.NewDatagramQP(1), nil); err != nil {
		t.Error(err)
	}
	if err := <-dialed; err != nil {
		t.Error(err)
	}
}

func TestPostTakesTheWorkRequestsBeforeANilOne(t *testing.T) {
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), 64)
	write := a.OneSided(verbs.WRWrite, b, 8)
	for _, test := range []struct {
		name string
		post func() error
		want int
	}{
		{"PostSend", func() error { return a.QP.PostSend(write, write, nil, write) }, 2},
		{"PostRecv", func() error { return b.QP.PostRecv(&verbs.RecvWR{}, nil) }, 1},
		// The error of the queue takes precedence over that of a later request.
		{"one that is refused", func() error { return a.QP.PostSend(write, &verbs.SendWR{Opcode: 99}, nil) }, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var refused *verbs.PostError
			if err := test.post(); !errors.As(err, &refused) || refused.Index != test.want {
				t.Errorf("error %v, want that of work request %d", err, test.want)
			}
		})
	}
	a.Wait(3, make([]verbs.WC, 3))
}

func TestNilCongestionControlIsTheDefaultOne(t *testing.T) {
	links := verbstest.PipeLinks(t)
	for i := range links {
		links[i].Transport.Congestion = func() transport.Congestion { return nil }
	}
	a, b := verbstest.Connected(t, links, 64)
	a.Ends(a.OneSided(verbs.WRWrite, b, 8), verbs.WCSuccess)
}
