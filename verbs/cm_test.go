package verbs_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// overLinks runs a test over links in memory and over sockets.
func overLinks(t *testing.T, test func(t *testing.T, cfg [2]verbs.Config)) {
	t.Run("pipe", func(t *testing.T) { test(t, verbstest.PipeLinks(t)) })
	t.Run("udp", func(t *testing.T) { test(t, verbstest.UDPDevices(t)) })
}

func TestAConnectionIsMadeUsedAndEnded(t *testing.T) {
	overLinks(t, func(t *testing.T, cfg [2]verbs.Config) {
		a, b := verbstest.Open(t, cfg[0], 8192), verbstest.Open(t, cfg[1], 8192)
		l := b.ListenAt(verbs.PortSpaceTCP, 7174)
		p := verbs.DefaultConnParam()
		p.PrivateData = []byte("from the client")
		p.MaxRdAtomic, p.MaxDestRdAtomic = 3, 9
		out := a.Dial(t.Context(), b.At(7174), p)

		r := b.Next(l)
		if got := r.PrivateData(); len(got) != verbs.DialPrivateLen ||
			!bytes.HasPrefix(got, []byte("from the client\x00")) {
			t.Errorf("private data of the request: %q", got)
		}
		if want := r.Peer(); want.MaxRdAtomic != 3 || want.MaxDestRdAtomic != 9 || want.PathMTU != 4096 ||
			want.RetryCnt != 7 {
			t.Errorf("the peer asks for %+v", want)
		}
		if r.Local() != b.At(7174) || r.Remote().Addr() != a.Device.GIDs()[0].Addr {
			t.Errorf("from %v to %v", r.Remote(), r.Local())
		}
		q := verbs.DefaultConnParam()
		q.PrivateData = bytes.Repeat([]byte{7}, verbs.AcceptPrivateLen)
		q.MaxRdAtomic, q.MaxDestRdAtomic = 16, 2
		atB, err := r.Accept(t.Context(), b.QP, q)
		if err != nil {
			t.Fatal(err)
		}
		d := <-out
		if d.Err != nil {
			t.Fatal(d.Err)
		}
		atA := d.Conn
		if !bytes.Equal(atA.PrivateData(), q.PrivateData) {
			t.Errorf("private data of the answer: %x", atA.PrivateData())
		}
		if got := atA.Attr(); got.MaxRdAtomic != 2 || got.MaxDestRdAtomic != 9 {
			t.Errorf("the client may have %d READs outstanding and takes %d", got.MaxRdAtomic, got.MaxDestRdAtomic)
		}
		if got := atB.Attr(); got.MaxRdAtomic != 9 || got.MaxDestRdAtomic != 2 {
			t.Errorf("the server may have %d READs outstanding and takes %d", got.MaxRdAtomic, got.MaxDestRdAtomic)
		}
		if atA.Remote() != r.Local() || atA.Local() != r.Remote() || atB.Local() != r.Local() || atA.QP() != a.QP {
			t.Errorf("ends: %v %v, %v %v", atA.Local(), atA.Remote(), atB.Local(), atB.Remote())
		}

		copy(a.Buf, "hello")
		if err := a.QP.PostSend(a.OneSided(verbs.WRWrite, b, 8192)); err != nil {
			t.Fatal(err)
		}
		a.Wait(1, make([]verbs.WC, 1))
		b.Fence()
		if !bytes.HasPrefix(b.Buf, []byte("hello")) {
			t.Errorf("the server has %q", b.Buf[:5])
		}

		if err := atA.Disconnect(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-atB.Done()
		if atA.Err() != nil || !errors.Is(atB.Err(), verbs.ErrDisconnected) {
			t.Errorf("ended with %v and %v", atA.Err(), atB.Err())
		}
		if a.QP.State() != verbs.ERR || b.QP.State() != verbs.ERR {
			t.Errorf("queue pairs in %v and %v", a.QP.State(), b.QP.State())
		}
		if err := atB.Disconnect(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTheProgramsRefusalReachesTheClientWithItsWords(t *testing.T) {
	overLinks(t, func(t *testing.T, cfg [2]verbs.Config) {
		a, b := verbstest.Open(t, cfg[0], 8), verbstest.Open(t, cfg[1], 8)
		l := b.ListenAt(verbs.PortSpaceTCP, 1)
		out := a.Dial(t.Context(), b.At(1), verbs.DefaultConnParam())
		r := b.Next(l)
		if err := r.Reject(make([]byte, verbs.RejectPrivateLen+1)); err == nil {
			t.Error("private data of 149 bytes was taken")
		}
		if err := r.Reject([]byte("not today")); err != nil {
			t.Fatal(err)
		}
		var rej *verbs.RejectError
		if d := <-out; !errors.As(d.Err, &rej) || rej.Reason != mad.RejectConsumerDefined ||
			!bytes.HasPrefix(rej.PrivateData, []byte("not today\x00")) {
			t.Errorf("Dial = %v", d.Err)
		}
		if err := r.Reject(nil); err == nil {
			t.Error("a request was rejected twice")
		}
		if _, err := r.Accept(t.Context(), b.QP, verbs.DefaultConnParam()); err == nil {
			t.Error("a rejected request was accepted")
		}
	})
}

func TestARequestThatIsLeftWithoutAnAnswerComesAgain(t *testing.T) {
	overLinks(t, func(t *testing.T, cfg [2]verbs.Config) {
		a, b := verbstest.Open(t, cfg[0], 8), verbstest.Open(t, cfg[1], 8)
		l := b.ListenAt(verbs.PortSpaceTCP, 1)
		out := a.Dial(t.Context(), b.At(1), verbs.DefaultConnParam())
		r := b.Next(l)
		if err := r.Ignore(); err != nil {
			t.Fatal(err)
		}
		if r.Ignore() == nil || r.Reject(nil) == nil {
			t.Error("a request that was left without an answer is answered")
		}
		if _, err := b.Next(l).Accept(t.Context(), b.QP, verbs.DefaultConnParam()); err != nil {
			t.Fatal(err)
		}
		if d := <-out; d.Err != nil {
			t.Errorf("Dial = %v", d.Err)
		}
		if n := b.Device.Counters()["cm_ignored"]; n != 1 {
			t.Errorf("%d requests are counted as ignored, want 1", n)
		}
	})
}

// The program gives up while the RTU is in flight: in either order, no connection remains
// established.
func TestAnAcceptThatIsGivenUpLeavesNoConnection(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	a, b := verbstest.Open(t, cfg[0], 8), verbstest.Open(t, cfg[1], 8)
	l := b.ListenAt(verbs.PortSpaceTCP, 1)
	for i := range 100 {
		a.QP, _ = a.NewQP()
		b.QP, _ = b.NewQP()
		out := a.Dial(t.Context(), b.At(1), verbs.DefaultConnParam())
		r := b.Next(l)
		ctx, giveUp := context.WithCancel(t.Context())
		accepted := make(chan *verbs.Conn, 1)
		go func() {
			c, _ := r.Accept(ctx, b.QP, verbs.DefaultConnParam())
			accepted <- c
		}()
		var atA *verbs.Conn
		if i%2 == 0 {
			atA = (<-out).Conn
			giveUp()
		} else {
			giveUp()
			atA = (<-out).Conn
		}
		if atB := <-accepted; atB != nil {
			if err := atB.Disconnect(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if atA != nil {
			select {
			case <-atA.Done():
			case <-time.After(20 * time.Second):
				t.Fatalf("connection %d: the peer was not told", i)
			}
		}
		for info := range b.Device.CMs() {
			if info.State == "ESTABLISHED" {
				t.Fatalf("connection %d: %+v is left", i, info)
			}
		}
		if err := errors.Join(a.QP.Close(), b.QP.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAClientHearsThatNobodyListens(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	a, b := verbstest.Open(t, cfg[0], 8), verbstest.Open(t, cfg[1], 8)
	b.ListenAt(verbs.PortSpaceTCP, 1)
	b.ListenAt(verbs.PortSpaceUDP, 2)
	var rej *verbs.RejectError
	_, err := a.Device.Dial(t.Context(), b.At(2), a.QP, verbs.DefaultConnParam())
	if !errors.As(err, &rej) || rej.Reason != mad.RejectInvalidServiceID ||
		!strings.Contains(err.Error(), b.At(2).String()) {
		t.Errorf("Dial = %v", err)
	}
	if _, err := a.PD.DialUD(t.Context(), b.At(1), nil); !errors.As(err, &rej) ||
		rej.Reason != mad.RejectInvalidServiceID {
		t.Errorf("DialUD = %v", err)
	}
}

func TestADatagramQueuePairIsFound(t *testing.T) {
	overLinks(t, func(t *testing.T, cfg [2]verbs.Config) {
		a, b := verbstest.Open(t, cfg[0], 100), verbstest.Open(t, cfg[1], 100)
		l := b.ListenAt(verbs.PortSpaceUDP, 7)
		client, server := a.NewDatagramQP(verbs.UDPQKey), b.NewDatagramQP(verbs.UDPQKey+1)
		type found struct {
			peer *verbs.UDPeer
			err  error
		}
		out := make(chan found, 1)
		go func() {
			peer, err := a.PD.DialUD(t.Context(), b.At(7), []byte("who?"))
			out <- found{peer, err}
		}()
		r := b.Next(l)
		if got := r.PrivateData(); len(got) != verbs.DialUDPrivateLen || string(got[:5]) != "who?\x00" {
			t.Errorf("private data of the request: %q", got)
		}
		if _, err := r.Accept(t.Context(), b.QP, verbs.DefaultConnParam()); err == nil ||
			!strings.Contains(err.Error(), "AcceptUD") {
			t.Errorf("Accept = %v", err)
		}
		if err := r.AcceptUD(b.QP, nil); err == nil || !strings.Contains(err.Error(), "RC") {
			t.Errorf("AcceptUD of an RC queue pair = %v", err)
		}
		if err := r.AcceptUD(server, []byte("me")); err != nil {
			t.Fatal(err)
		}
		f := <-out
		if f.err != nil {
			t.Fatal(f.err)
		}
		if f.peer.QPN != server.QPN() || f.peer.QKey != verbs.UDPQKey+1 || string(f.peer.PrivateData[:3]) != "me\x00" {
			t.Errorf("found %+v", f.peer)
		}
		if err := server.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{b.MR.SGE(0, 100)}}); err != nil {
			t.Fatal(err)
		}
		copy(a.Buf, "datagram")
		err := client.PostSend(&verbs.SendWR{
			Opcode: verbs.WRSend, SGList: []verbs.SGE{a.MR.SGE(0, 8)}, AH: f.peer.AH, RemoteQPN: f.peer.QPN,
			RemoteQKey: f.peer.QKey,
		})
		if err != nil {
			t.Fatal(err)
		}
		b.Wait(1, make([]verbs.WC, 1))
		if got := string(b.Buf[verbs.GRHLen:][:8]); got != "datagram" {
			t.Errorf("the server got %q", got)
		}
	})
}

func TestADatagramServiceMayRefuse(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	a, b := verbstest.Open(t, cfg[0], 8), verbstest.Open(t, cfg[1], 8)
	l := b.ListenAt(verbs.PortSpaceUDP, 7)
	out := make(chan error, 1)
	go func() {
		_, err := a.PD.DialUD(t.Context(), b.At(7), nil)
		out <- err
	}()
	if err := b.Next(l).Reject([]byte("no")); err != nil {
		t.Fatal(err)
	}
	var rej *verbs.RejectError
	if err := <-out; !errors.As(err, &rej) || rej.Reason != mad.RejectConsumerDefined ||
		string(rej.PrivateData[:3]) != "no\x00" {
		t.Errorf("DialUD = %v", err)
	}
}

// faulty returns links in memory with faults in both directions.
func faulty(t *testing.T, f fault.Config) [2]verbs.Config {
	cfg := verbstest.PipeLinks(t)
	for i := range cfg {
		f.Seed += uint64(i)
		cfg[i].Wrap = func(l packet.Link) packet.Link { return fault.New(l, f) }
	}
	return cfg
}

func TestConnectingOutlivesFaults(t *testing.T) {
	for name, f := range map[string]fault.Config{
		"loss":       {Seed: 5, Drop: 0.3},
		"duplicates": {Seed: 5, Duplicate: 0.7},
		"reordering": {Seed: 5, Reorder: 0.5},
		"corruption": {Seed: 5, Corrupt: 0.3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := faulty(t, f)
				a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
				for range 10 {
					a.QP, _ = a.NewQP()
					b.QP, _ = b.NewQP()
					atA, atB := verbstest.ConnectByCM(t, a, b)
					if err := atA.Disconnect(t.Context()); err != nil {
						t.Error(err)
					}
					<-atB.Done()
				}
			})
		})
	}
}

func TestAPeerThatDoesNotAnswerIsUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := verbstest.Open(t, verbstest.PipeLinks(t)[0], 64)
		began := time.Now()
		_, err := a.Device.Dial(t.Context(), netip.MustParseAddrPort("192.0.2.9:1"), a.QP, verbs.DefaultConnParam())
		if !errors.Is(err, verbs.ErrUnreachable) {
			t.Errorf("Dial = %v", err)
		}
		if waited := time.Since(began); waited < 24*time.Second || waited > 27*time.Second {
			t.Errorf("it took %v to give up", waited)
		}
		if a.QP.State() != verbs.ERR {
			t.Errorf("the queue pair is in %v", a.QP.State())
		}
		if _, err := a.PD.DialUD(t.Context(), netip.MustParseAddrPort("192.0.2.9:1"), nil); !errors.Is(err,
			verbs.ErrUnreachable) {
			t.Errorf("DialUD = %v", err)
		}
	})
}

func TestAClientMayGiveUp(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
	l := b.ListenAt(verbs.PortSpaceTCP, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	out := a.Dial(ctx, b.At(1), verbs.DefaultConnParam())
	r := b.Next(l)
	why := errors.New("changed its mind")
	cancel(why)
	if d := <-out; !errors.Is(d.Err, why) {
		t.Errorf("Dial = %v", d.Err)
	}
	// The request may notice before or after it is accepted, but must notice.
	if _, err := r.Accept(t.Context(), b.QP, verbs.DefaultConnParam()); err == nil {
		t.Error("a request whose sender gave up was accepted")
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := a.PD.DialUD(ctx, b.At(1), nil); !errors.Is(err, why) {
		t.Errorf("DialUD = %v", err)
	}
	if _, err := l.Next(ctx); !errors.Is(err, why) {
		t.Errorf("Next = %v", err)
	}
}

func TestAServerMayGiveUpWaitingForTheClient(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
	l := b.ListenAt(verbs.PortSpaceTCP, 1)
	out := a.Dial(t.Context(), b.At(1), verbs.DefaultConnParam())
	r := b.Next(l)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Accept(ctx, b.QP, verbs.DefaultConnParam())
	if err == nil {
		// The client was faster.
		return
	}
	if d := <-out; d.Err == nil {
		<-d.Conn.Done()
	}
}

func TestClosingTellsThePeer(t *testing.T) {
	for name, end := range map[string]func(a *verbstest.Node, c *verbs.Conn) error{
		"the queue pair": func(a *verbstest.Node, _ *verbs.Conn) error { return a.QP.Close() },
		"the device":     func(a *verbstest.Node, _ *verbs.Conn) error { return a.Device.Close() },
		"the connection": func(a *verbstest.Node, c *verbs.Conn) error { return c.Disconnect(a.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := verbstest.PipeLinks(t)
			a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
			atA, atB := verbstest.ConnectByCM(t, a, b)
			if err := end(a, atA); err != nil {
				t.Fatal(err)
			}
			<-atB.Done()
			if !errors.Is(atB.Err(), verbs.ErrDisconnected) || b.QP.State() != verbs.ERR {
				t.Errorf("ended with %v, queue pair in %v", atB.Err(), b.QP.State())
			}
		})
	}
}

// killable returns two connected nodes. kill closes the link of the second one without notice, as
// kill -9 would.
func killable(t *testing.T) (a *verbstest.Node, c *verbs.Conn, kill func()) {
	t.Helper()
	cfg := verbstest.PipeLinks(t)
	a = verbstest.Open(t, cfg[0], 64)
	c, _ = verbstest.ConnectByCM(t, a, verbstest.Open(t, cfg[1], 64))
	return a, c, func() {
		if err := cfg[1].Links[0].Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAConnectionEndsThoughThePeerIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, kill := killable(t)
		kill()
		if err := a.QP.PostSend(&verbs.SendWR{Opcode: verbs.WRWrite, Flags: verbs.Signaled}); err != nil {
			t.Fatal(err)
		}
		var wc [1]verbs.WC
		if _, err := a.CQ.Wait(t.Context(), wc[:]); err != nil || wc[0].Status != verbs.WCRetryExcErr {
			t.Errorf("%v, %v", wc[0].Status, err)
		}
		if err := c.Disconnect(t.Context()); err != nil || !errors.Is(c.Err(), verbs.ErrUnreachable) {
			t.Errorf("Disconnect = %v, then %v", err, c.Err())
		}
	})
}

func TestKeepAliveFindsOutThatThePeerIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, kill := killable(t)
		ended := make(chan error, 1)
		go func() { ended <- c.KeepAlive(t.Context(), 10*time.Second) }()
		time.Sleep(time.Minute)
		select {
		case err := <-ended:
			t.Fatalf("it ended while the peer lived: %v", err)
		default:
		}
		killed := time.Now()
		kill()
		if err := <-ended; !errors.Is(err, verbs.ErrUnreachable) {
			t.Errorf("KeepAlive = %v", err)
		}
		if took := time.Since(killed); took > 40*time.Second {
			t.Errorf("it took %v", took)
		}
		<-c.Done()
		if !errors.Is(c.Err(), verbs.ErrUnreachable) || a.QP.State() != verbs.ERR {
			t.Errorf("ended with %v, queue pair in %v", c.Err(), a.QP.State())
		}
	})
}

func TestKeepAliveEndsWithTheConnectionOrItsContext(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
	atA, atB := verbstest.ConnectByCM(t, a, b)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := atA.KeepAlive(ctx, time.Hour); !errors.Is(err, why) {
		t.Errorf("KeepAlive = %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- atB.KeepAlive(t.Context(), time.Microsecond) }()
	if err := atA.Disconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil && !errors.Is(err, verbs.ErrUnreachable) {
		t.Errorf("KeepAlive = %v", err)
	}
}

func TestAListenerThatClosesRefusesWhatWaits(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
	l := b.ListenAt(verbs.PortSpaceTCP, 0)
	if l.Addr().Port() < 49152 {
		t.Errorf("any port is %d", l.Addr().Port())
	}
	if _, err := b.Device.Listen(verbs.PortSpaceTCP, l.Addr(), 0); err == nil ||
		!strings.Contains(err.Error(), "in use") {
		t.Errorf("a second listener at the port: %v", err)
	}
	out := a.Dial(t.Context(), b.At(l.Addr().Port()), verbs.DefaultConnParam())
	r := b.Next(l)
	waiting := a.DialNewQP(t, b.At(l.Addr().Port()))
	// When the first is taken, the second waits in the queue or is in flight.
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var rej *verbs.RejectError
	if err := <-waiting; !errors.As(err, &rej) {
		t.Errorf("the one that waited: %v", err)
	}
	if _, err := l.Next(t.Context()); !errors.Is(err, verbs.ErrClosed) {
		t.Errorf("Next = %v", err)
	}
	// The request that was taken remains valid.
	if _, err := r.Accept(t.Context(), b.QP, verbs.DefaultConnParam()); err != nil {
		t.Error(err)
	}
	if d := <-out; d.Err != nil {
		t.Error(d.Err)
	}
}

func TestWhatCannotBeDialedIsRefusedAtOnce(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
	ud := a.NewDatagramQP(1)
	long := verbs.DefaultConnParam()
	long.PrivateData = make([]byte, verbs.DialPrivateLen+1)
	reads := verbs.DefaultConnParam()
	reads.RetryCnt = 8
	for _, tt := range []struct {
		name string
		qp   *verbs.QP
		to   string
		p    verbs.ConnParam
		want string
	}{
		{"datagrams", ud, "192.0.2.2:1", verbs.DefaultConnParam(), "type UD"},
		{"a queue pair of another device", b.QP, "192.0.2.2:1", verbs.DefaultConnParam(), "another device"},
		{"private data that is too long", a.QP, "192.0.2.2:1", long, "57 bytes: the maximum is 56"},
		{"an address of another family", a.QP, "[2001:db8::1]:1", verbs.DefaultConnParam(), "2001:db8::1"},
		{"no address", a.QP, "", verbs.DefaultConnParam(), "invalid"},
		{"a value that does not fit its field", a.QP, "192.0.2.2:1", reads, "RetryCount"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			to, _ := netip.ParseAddrPort(tt.to)
			_, err := a.Device.Dial(t.Context(), to, tt.qp, tt.p)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Dial = %v, want %q in it", err, tt.want)
			}
		})
	}
	if _, err := a.Device.Listen(verbs.PortSpaceTCP, netip.MustParseAddrPort("192.0.2.9:1"), 0); err == nil ||
		!strings.Contains(err.Error(), "192.0.2.1") {
		t.Errorf("Listen at an address that the device does not have = %v", err)
	}
	if _, err := a.Device.Listen(3, netip.AddrPort{}, 0); err == nil {
		t.Error("Listen in a port space that does not exist")
	}
	if _, err := a.PD.DialUD(t.Context(), b.At(1), make([]byte, verbs.DialUDPrivateLen+1)); err == nil ||
		!strings.Contains(err.Error(), "181") {
		t.Errorf("DialUD = %v", err)
	}
}

func TestADeviceTellsWhatItsConnectionManagerHas(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	cfg[0].ConnManager = true
	a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
	if n := a.Device.Counters()["cm_rx_msgs_req"]; n != 0 {
		t.Errorf("%d REQs", n)
	}
	if _, started := b.Device.Counters()["cm_rx_msgs_req"]; started {
		t.Error("the connection manager runs though nobody needs it")
	}
	// It answers even if no program listens.
	var rej *verbs.RejectError
	if _, err := b.Device.Dial(t.Context(), a.At(1), b.QP, verbs.DefaultConnParam()); !errors.As(err, &rej) {
		t.Errorf("Dial = %v", err)
	}
	b.QP, _ = b.NewQP()

	atA, atB := verbstest.ConnectByCM(t, a, b)
	for _, end := range []struct {
		n, peer *verbstest.Node
		c       *verbs.Conn
	}{{a, b, atA}, {b, a, atB}} {
		got := slices.Collect(end.n.Device.CMs())
		if len(got) != 1 {
			t.Fatalf("%+v", got)
		}
		i := got[0]
		if i.State != "ESTABLISHED" || i.PortSpace != verbs.PortSpaceTCP || i.Local != end.c.Local() ||
			i.Remote != end.c.Remote() ||
			i.QPN != end.n.QP.QPN() || i.RemoteQPN != end.peer.QP.QPN() || i.LocalID == 0 ||
			i.RemoteID == 0 || i.Age < 0 {
			t.Errorf("%+v", i)
		}
	}
	count := b.Device.Counters()
	for name, want := range map[string]uint64{"cm_rx_msgs_req": 1, "cm_tx_msgs_rep": 1, "cm_rx_msgs_rtu": 1,
		"cm_tx_msgs_req": 1, "cm_rx_msgs_rej": 1, "cm_unsent": 0} {
		if got, ok := count[name]; !ok || got != want {
			t.Errorf("%s is %d, %v, not %d", name, got, ok, want)
		}
	}
}

func TestProgramsCannotSpeakToQueuePair1(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	cfg[1].ConnManager = true
	a, b := verbstest.Open(t, cfg[0], 256), verbstest.Open(t, cfg[1], 64)
	q := a.NewDatagramQP(1)
	ah, err := a.PD.CreateAH(verbs.AddressVector{DGID: b.Device.GIDs()[0].GID})
	if err != nil {
		t.Fatal(err)
	}
	err = q.PostSend(&verbs.SendWR{
		Opcode: verbs.WRSend, Flags: verbs.Signaled, SGList: []verbs.SGE{a.MR.SGE(0, 256)}, AH: ah, RemoteQPN: 1,
		RemoteQKey: 0x80010000 &^ (1 << 31),
	})
	if err != nil {
		t.Fatal(err)
	}
	a.Wait(1, make([]verbs.WC, 1))
	// The next request is handled after it.
	var rej *verbs.RejectError
	if _, err := a.Device.Dial(t.Context(), b.At(1), a.QP, verbs.DefaultConnParam()); !errors.As(err, &rej) {
		t.Errorf("Dial = %v", err)
	}
	if c := b.Device.Counters(); c["cm_rx_msgs_req"] != 1 || c["cm_malformed_mad_length"] != 0 {
		t.Errorf("%d REQs, %d of wrong length", c["cm_rx_msgs_req"], c["cm_malformed_mad_length"])
	}
}

func TestAClientTakesThePathMTUThatTheServerNames(t *testing.T) {
	for _, mtu := range []verbs.MTU{256, 1024, 2048} {
		cfg := verbstest.PipeLinks(t)
		cfg[1].MTU = mtu
		a, b := verbstest.Open(t, cfg[0], 8192), verbstest.Open(t, cfg[1], 8192)
		atA, atB := verbstest.ConnectByCM(t, a, b)
		if atA.Attr().PathMTU != mtu || atB.Attr().PathMTU != mtu {
			t.Errorf("path MTU %v and %v, not %v", atA.Attr().PathMTU, atB.Attr().PathMTU, mtu)
		}
		if err := a.QP.PostSend(a.OneSided(verbs.WRWrite, b, 8192)); err != nil {
			t.Fatal(err)
		}
		a.Wait(1, make([]verbs.WC, 1))
		if n := b.Device.Counters()["cm_rx_msgs_req"]; n != 2 {
			t.Errorf("%d REQs", n)
		}
	}
}
