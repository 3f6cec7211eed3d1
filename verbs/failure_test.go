package verbs_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

func TestErrIsSetWhenAFatalCompletionIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, kill := killable(t)
		if err := c.Err(); err != nil {
			t.Fatalf("a connection that lives has the error %v", err)
		}
		kill()
		if err := a.QP.PostSend(&verbs.SendWR{Opcode: verbs.WRWrite, Flags: verbs.Signaled}); err != nil {
			t.Fatal(err)
		}
		var wc [1]verbs.WC
		if _, err := a.CQ.Wait(t.Context(), wc[:]); err != nil || wc[0].Status != verbs.WCRetryExcErr {
			t.Fatalf("%v, %v", wc[0].Status, err)
		}
		var fatal *verbs.FatalError
		if err := c.Err(); !errors.As(err, &fatal) || fatal.Status != verbs.WCRetryExcErr ||
			!errors.Is(err, verbs.ErrUnreachable) {
			t.Errorf("Err = %v", err)
		}
		<-c.Done()
	})
}

// The end at which the queue pair fails notices it, and closing it notifies the other.
func TestAConnectionEndsWhenItsQueuePairFails(t *testing.T) {
	for name, test := range map[string]struct {
		wr     verbs.SendWR
		status verbs.WCStatus
	}{
		"a WRITE with a wrong key": {verbs.SendWR{Opcode: verbs.WRWrite, RKey: 1, RemoteAddr: 1}, verbs.WCRemAccessErr},
		"a SEND that is too long":  {verbs.SendWR{Opcode: verbs.WRSend}, verbs.WCRemInvReqErr},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := verbstest.PipeLinks(t)
				a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
				atA, atB := verbstest.ConnectByCM(t, a, b)
				if err := b.QP.PostRecv(&verbs.RecvWR{}); err != nil {
					t.Fatal(err)
				}
				test.wr.SGList = []verbs.SGE{a.MR.SGE(0, 8)}
				if err := a.QP.PostSend(&test.wr); err != nil {
					t.Fatal(err)
				}
				<-atA.Done()
				<-atB.Done()
				var atTheSender, atTheOther *verbs.FatalError
				if !errors.As(atA.Err(), &atTheSender) || atTheSender.Status != test.status ||
					errors.Is(atA.Err(), verbs.ErrUnreachable) {
					t.Errorf("the sender: %v", atA.Err())
				}
				if !errors.As(atB.Err(), &atTheOther) {
					t.Errorf("the other: %v", atB.Err())
				}
				before := atA.Err()
				if err := atA.Disconnect(t.Context()); err != nil || !errors.Is(atA.Err(), before) {
					t.Errorf("Disconnect = %v, then %v", err, atA.Err())
				}
			})
		})
	}
}

// gated is a link whose receiver waits while the gate is locked.
type gated struct {
	packet.Link
	gate sync.Mutex
}

func (g *gated) Recv(b *packet.RecvBatch) error {
	err := g.Link.Recv(b)
	g.gate.Lock()
	defer g.gate.Unlock()
	return err
}

// The peer that rejects a request disconnects, and both messages are received at once.
func TestWhyTheQueuePairFailedIsNotHiddenByThePeersDisconnecting(t *testing.T) {
	for range 3 {
		cfg := verbstest.PipeLinks(t)
		link := &gated{Link: cfg[0].Links[0]}
		cfg[0].Links[0] = link
		a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
		atA, atB := verbstest.ConnectByCM(t, a, b)
		link.gate.Lock()
		wr := verbs.SendWR{Opcode: verbs.WRWrite, SGList: []verbs.SGE{a.MR.SGE(0, 8)}, RKey: 1, RemoteAddr: 1}
		if err := a.QP.PostSend(&wr); err != nil {
			t.Fatal(err)
		}
		<-atB.Done()
		done := make(chan error, 1)
		go func() { done <- atB.Disconnect(t.Context()) }()
		for sent := uint64(0); sent == 0; {
			sent = b.Device.Counters()["cm_tx_msgs_dreq"]
		}
		link.gate.Unlock()
		<-atA.Done()
		var fatal *verbs.FatalError
		if err := atA.Err(); !errors.As(err, &fatal) || fatal.Status != verbs.WCRemAccessErr {
			t.Errorf("Err = %v", err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// behind is a link whose receiver reports that it is behind while the flag is set.
type behind struct {
	packet.Link
	is atomic.Bool
}

func (b *behind) Pending() bool { return b.is.Load() }

// With a long timeout, or with none, the retries would take longer.
func TestKeepAliveNeedsNoRetries(t *testing.T) {
	for _, c := range []struct {
		what       string
		behind     bool
		from, upTo time.Duration
	}{
		{"an end that has looked at all that has come", false, 0, 3 * time.Second},
		{"an end that is behind", true, 9 * time.Second, 12 * time.Second},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := verbstest.PipeLinks(t)
				link, peer := &behind{Link: cfg[0].Links[0]}, cfg[1].Links[0]
				cfg[0].Links[0] = link
				a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
				l := b.ListenAt(verbs.PortSpaceTCP, 7174)
				p := verbs.DefaultConnParam()
				p.Timeout = 0
				out := a.Dial(t.Context(), b.At(7174), p)
				if _, err := b.Next(l).Accept(t.Context(), b.QP, p); err != nil {
					t.Fatal(err)
				}
				conn := (<-out).Conn
				link.is.Store(c.behind)
				ended := make(chan error, 1)
				go func() { ended <- conn.KeepAlive(t.Context(), 500*time.Millisecond) }()
				time.Sleep(time.Minute)
				select {
				case err := <-ended:
					t.Fatalf("it ended while the peer lived: %v", err)
				default:
				}
				if err := peer.Close(); err != nil {
					t.Fatal(err)
				}
				killed := time.Now()
				if err := <-ended; !errors.Is(err, verbs.ErrUnreachable) {
					t.Errorf("KeepAlive = %v", err)
				}
				// The clock of the bubble is virtual.
				if took := time.Since(killed); took < c.from || took > c.upTo {
					t.Errorf("it took %v, want %v to %v", took, c.from, c.upTo)
				}
			})
		})
	}
}
