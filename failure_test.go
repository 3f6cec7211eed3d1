package gorxe_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe"
	"github.com/gorxe/gorxe/packet"
)

func TestErrIsSetWhenAFatalCompletionIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, kill := killable(t)
		if err := c.Err(); err != nil {
			t.Fatalf("a connection that lives has the error %v", err)
		}
		kill()
		if err := a.qp.PostSend(&gorxe.SendWR{Opcode: gorxe.WRWrite, Flags: gorxe.Signaled}); err != nil {
			t.Fatal(err)
		}
		var wc [1]gorxe.WC
		if _, err := a.cq.Wait(t.Context(), wc[:]); err != nil || wc[0].Status != gorxe.WCRetryExcErr {
			t.Fatalf("%v, %v", wc[0].Status, err)
		}
		var fatal *gorxe.FatalError
		if err := c.Err(); !errors.As(err, &fatal) || fatal.Status != gorxe.WCRetryExcErr || !errors.Is(err, gorxe.ErrUnreachable) {
			t.Errorf("Err = %v", err)
		}
		<-c.Done()
	})
}

// Whichever end the queue pair fails at knows it, and closing it tells the other.
func TestAConnectionEndsWhenItsQueuePairFails(t *testing.T) {
	for name, test := range map[string]struct {
		wr     gorxe.SendWR
		status gorxe.WCStatus
	}{
		"a WRITE with a wrong key": {gorxe.SendWR{Opcode: gorxe.WRWrite, RKey: 1, RemoteAddr: 1}, gorxe.WCRemAccessErr},
		"a SEND that is too long":  {gorxe.SendWR{Opcode: gorxe.WRSend}, gorxe.WCRemInvReqErr},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := pipeLinks(t)
				a, b := openNode(t, cfg[0], 64), openNode(t, cfg[1], 64)
				atA, atB := connectByCM(t, a, b)
				if err := b.qp.PostRecv(&gorxe.RecvWR{}); err != nil {
					t.Fatal(err)
				}
				test.wr.SGList = []gorxe.SGE{a.mr.SGE(0, 8)}
				if err := a.qp.PostSend(&test.wr); err != nil {
					t.Fatal(err)
				}
				<-atA.Done()
				<-atB.Done()
				var atTheSender, atTheOther *gorxe.FatalError
				if !errors.As(atA.Err(), &atTheSender) || atTheSender.Status != test.status || errors.Is(atA.Err(), gorxe.ErrUnreachable) {
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

// The peer that refuses a request disconnects, and both messages are received at once.
func TestWhyTheQueuePairFailedIsNotHiddenByThePeersDisconnecting(t *testing.T) {
	for range 3 {
		cfg := pipeLinks(t)
		link := &gated{Link: cfg[0].Links[0]}
		cfg[0].Links[0] = link
		a, b := openNode(t, cfg[0], 64), openNode(t, cfg[1], 64)
		atA, atB := connectByCM(t, a, b)
		link.gate.Lock()
		wr := gorxe.SendWR{Opcode: gorxe.WRWrite, SGList: []gorxe.SGE{a.mr.SGE(0, 8)}, RKey: 1, RemoteAddr: 1}
		if err := a.qp.PostSend(&wr); err != nil {
			t.Fatal(err)
		}
		<-atB.Done()
		done := make(chan error, 1)
		go func() { done <- atB.Disconnect(t.Context()) }()
		for sent := uint64(0); sent == 0; {
			sent = b.dev.Counters()["cm_tx_msgs_dreq"]
		}
		link.gate.Unlock()
		<-atA.Done()
		var fatal *gorxe.FatalError
		if err := atA.Err(); !errors.As(err, &fatal) || fatal.Status != gorxe.WCRemAccessErr {
			t.Errorf("Err = %v", err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// behind is a link whose receiver is behind while the flag is set.
type behind struct {
	packet.Link
	is atomic.Bool
}

func (b *behind) Pending() bool { return b.is.Load() }

// The retries of a connection with a long timeout, or with none, take longer.
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
				cfg := pipeLinks(t)
				link, peer := &behind{Link: cfg[0].Links[0]}, cfg[1].Links[0]
				cfg[0].Links[0] = link
				a, b := openNode(t, cfg[0], 64), openNode(t, cfg[1], 64)
				l := b.listenAt(gorxe.PortSpaceTCP, 7174)
				p := gorxe.DefaultConnParam()
				p.Timeout = 0
				out := a.dial(t.Context(), b.at(7174), p)
				if _, err := b.next(l).Accept(t.Context(), b.qp, p); err != nil {
					t.Fatal(err)
				}
				conn := (<-out).conn
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
				if err := <-ended; !errors.Is(err, gorxe.ErrUnreachable) {
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
