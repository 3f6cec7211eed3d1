package conformance_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cmsg"
	"github.com/gorxe/gorxe/conformance/wire"
)

var (
	testerAddr = netip.MustParseAddr("192.0.2.1")
	deviceAddr = netip.MustParseAddr("192.0.2.2")
)

// manager is a link whose other end is a device with a communication manager that react plays.
type manager struct {
	react func(m *cmsg.MAD, reply func(*cmsg.MAD))
	// data gets the packets to other queue pairs.
	data func(p *wire.Packet, reply func(*wire.Packet))

	in  chan *wire.Received
	mu  sync.Mutex
	got []*cmsg.MAD
}

func newManager(react func(m *cmsg.MAD, reply func(*cmsg.MAD))) *manager {
	return &manager{react: react, in: make(chan *wire.Received, 100)}
}

func (*manager) Local() netip.Addr { return testerAddr }
func (*manager) Raw() bool         { return false }
func (*manager) MTU() int          { return 1500 }
func (*manager) Close() error      { return nil }

func (l *manager) Send(_ netip.Addr, p *wire.Packet) ([]byte, error) {
	b := p.Append(nil)
	b = append(b, 0, 0, 0, 0)
	switch {
	case p.DestQP == bth.GSI && len(p.Payload) == cmsg.Len:
		m := cmsg.MAD(p.Payload)
		l.mu.Lock()
		l.got = append(l.got, &m)
		l.mu.Unlock()
		l.react(&m, func(m *cmsg.MAD) {
			l.reply(&wire.Packet{Packet: bth.Packet{Opcode: bth.UDSendOnly, DestQP: bth.GSI, PKey: 0xffff,
				DETH: bth.DETH{QKey: cmsg.QKey, SrcQP: bth.GSI}, Payload: m[:]}})
		})
	case l.data != nil:
		l.data(p, l.reply)
	}
	return b, nil
}

func (l *manager) reply(p *wire.Packet) {
	r := &wire.Received{At: time.Now(), Src: netip.AddrPortFrom(deviceAddr, 49152),
		Dst: netip.AddrPortFrom(testerAddr, wire.Port), Bytes: append(p.Append(nil), 0, 0, 0, 0)}
	r.Err = r.Packet.Decode(r.Bytes)
	l.in <- r
}

func (l *manager) Recv(deadline time.Time) (*wire.Received, error) {
	select {
	case r := <-l.in:
		return r, nil
	case <-time.After(time.Until(deadline)):
		return nil, wire.ErrTimeout
	}
}

// sent returns the attributes of the messages of the tester.
func (l *manager) sent() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, m := range l.got {
		names = append(names, m.Attribute().String())
	}
	return strings.Join(names, " ")
}

// listening is a device whose program listens with rdma_cm.
type listening struct{ ended error }

func (d *listening) Open(context.Context, conformance.Program, conformance.Local) (conformance.Peer, error) {
	return d, nil
}

func (*listening) Target() conformance.Target {
	return conformance.Target{Addr: deviceAddr, Port: 7174}
}
func (*listening) Go() error      { return nil }
func (*listening) Output() string { return "no device" }
func (*listening) Close() error   { return nil }
func (d *listening) Ended() error { return d.ended }

// accept answers a REQ with a REP.
func accept(m *cmsg.MAD) *cmsg.MAD {
	rep := conformance.Answer(m, cmsg.REP)
	rep.Set(cmsg.LocalID, 0xd00d)
	rep.Set(cmsg.REPQPN, 0x4711)
	rep.Set(cmsg.REPPSN, 0x123456)
	return rep
}

// run runs a script against a manager.
func run(t *testing.T, d conformance.Device, l *manager, script func(*conformance.T)) *conformance.Result {
	t.Helper()
	r := &conformance.Runner{Device: d, Link: l, Timeout: 200 * time.Millisecond, Silence: 5 * time.Millisecond,
		Limit: 2 * time.Second}
	return r.Run(t.Context(), []*conformance.Case{{ID: "cm/0", Program: conformance.CMServer, Run: script}})[0]
}

func TestConnectRepeatsTheRequestUntilTheProgramListens(t *testing.T) {
	n := 0
	l := newManager(func(m *cmsg.MAD, reply func(*cmsg.MAD)) {
		if m.Attribute() != cmsg.REQ {
			return
		}
		if n++; n < 3 {
			rej := conformance.Answer(m, cmsg.REJ)
			rej.Set(cmsg.REJReason, 8)
			reply(rej)
			return
		}
		stranger := accept(m)
		stranger.Set(cmsg.RemoteID, 0x99)
		reply(stranger)                        // of another connection: ignored
		reply(conformance.Answer(m, cmsg.MRA)) // the program needs time
		reply(accept(m))
	})
	x := run(t, &listening{}, l, func(t *conformance.T) {
		c := t.Connect(conformance.StartPSN(77))
		if c.Target.QPN != 0x4711 || c.PSN != 0x123456 || c.Target.PSN != 77 {
			t.Fail("the connection is %+v with PSN %d", c.Target, c.PSN)
		}
	})
	if x.Verdict != conformance.Pass {
		t.Fatal(x.Verdict, x.Detail)
	}
	if want := "REQ REQ REQ RTU DREQ"; l.sent() != want {
		t.Errorf("the tester sent %s, want %s", l.sent(), want)
	}
}

func TestAServiceThatDoesNotAcceptIsInconclusive(t *testing.T) {
	refuse := func(reason uint64) func(m *cmsg.MAD, reply func(*cmsg.MAD)) {
		return func(m *cmsg.MAD, reply func(*cmsg.MAD)) {
			rej := conformance.Answer(m, cmsg.REJ)
			rej.Set(cmsg.REJReason, reason)
			reply(rej)
		}
	}
	ignore := func(*cmsg.MAD, func(*cmsg.MAD)) {}
	for want, c := range map[string]struct {
		device *listening
		react  func(m *cmsg.MAD, reply func(*cmsg.MAD))
	}{
		"does not accept a connection: it answers with REJ reason 28": {&listening{}, refuse(28)},
		"answers with REJ reason 10 (stale connection): it knows the queue pair of an earlier attempt": {
			&listening{}, refuse(10)},
		"ended before it accepted a connection: status 3: no device": {
			&listening{ended: errors.New("status 3")}, refuse(8)},
		"the time for one case is over": {&listening{}, ignore},
	} {
		x := run(t, c.device, newManager(c.react), func(t *conformance.T) { t.Connect() })
		if x.Verdict != conformance.Inconclusive || !strings.Contains(x.Detail, want) {
			t.Errorf("%v: %s; want inconclusive: %s", x.Verdict, x.Detail, want)
		}
	}
}

func TestAProgramThatDoesNotExistIsUnsupported(t *testing.T) {
	l := newManager(func(*cmsg.MAD, func(*cmsg.MAD)) {})
	x := run(t, &listening{ended: conformance.ErrUnsupported}, l, func(t *conformance.T) { t.Connect() })
	if x.Verdict != conformance.Unsupported {
		t.Errorf("%v: %s", x.Verdict, x.Detail)
	}
}

func TestTheDeviceMayEndAConnectionWhileTheScriptWaits(t *testing.T) {
	l := newManager(nil)
	l.react = func(m *cmsg.MAD, reply func(*cmsg.MAD)) {
		if m.Attribute() == cmsg.REQ {
			rep := accept(m)
			reply(rep)
			dreq := conformance.Answer(m, cmsg.DREQ)
			dreq.Set(cmsg.LocalID, rep.Get(cmsg.LocalID))
			reply(dreq)
		}
	}
	x := run(t, &listening{}, l, func(t *conformance.T) {
		if r := t.Connect().NextRequest(time.Hour); r != nil {
			t.Fail("a request came")
		}
	})
	if x.Verdict != conformance.Pass {
		t.Errorf("%v: %s", x.Verdict, x.Detail)
	}
	if want := "REQ RTU DREP"; l.sent() != want {
		t.Errorf("the tester sent %s, want %s", l.sent(), want)
	}
}

func TestServeIsACorrectResponder(t *testing.T) {
	const first = 0xfffffe // wraps
	var got []string
	l := newManager(func(m *cmsg.MAD, reply func(*cmsg.MAD)) {
		if m.Attribute() == cmsg.REQ {
			reply(accept(m))
		}
	})
	l.data = func(p *wire.Packet, _ func(*wire.Packet)) {
		r := &wire.Received{Packet: p.Packet}
		got = append(got, conformance.Describe(r))
	}
	x := run(t, &listening{}, l, func(t *conformance.T) {
		c := t.Connect(conformance.StartPSN(first))
		for _, p := range []bth.Packet{
			{Opcode: bth.RCSendOnly, PSN: first, AckReq: true},
			{Opcode: bth.RCReadRequest, PSN: first + 1, AckReq: true, RETH: bth.RETH{DMALen: 1025}},
			{Opcode: bth.RCSendOnly, PSN: 5, AckReq: true},                               // ahead: dropped
			{Opcode: bth.RCReadRequest, PSN: 0, AckReq: true, RETH: bth.RETH{DMALen: 1}}, // its second part again
			{Opcode: bth.RCWriteOnly, PSN: 1, AckReq: false, RETH: bth.RETH{DMALen: 1}},  // asks for nothing
			{Opcode: bth.RCSendOnly, PSN: 2, AckReq: true},
		} {
			c.Serve(&wire.Received{Packet: p})
		}
		if c.Expected() != 3 {
			t.Fail("PSN %d is expected", c.Expected())
		}
	})
	want := []string{
		"RC_ACKNOWLEDGE with PSN 16777214 (ACK, MSN 1)",
		"RC_RDMA_READ_RESPONSE_FIRST with PSN 16777215 (ACK, MSN 2), 1024 bytes",
		"RC_RDMA_READ_RESPONSE_LAST with PSN 0 (ACK, MSN 2), 1 bytes",
		"RC_RDMA_READ_RESPONSE_ONLY with PSN 0 (ACK, MSN 2), 1 bytes",
		"RC_ACKNOWLEDGE with PSN 2 (ACK, MSN 4)",
	}
	if x.Verdict != conformance.Pass || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v %s: the answers are\n%s\nwant\n%s", x.Verdict, x.Detail, strings.Join(got, "\n"),
			strings.Join(want, "\n"))
	}
}
