package nic

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// Two peers request a megabyte each with a single READ, as no gorxe requester would. The
// responses exceed one flush; all of them are sent, the two queue pairs alternate, and neither
// sends more than a turn's bytes at a time.
func TestLongAnswersTakeTurns(t *testing.T) {
	oneShard(t)
	synctest.Test(t, func(t *testing.T) {
		v := newVictim(t, pipe.NewNet())
		defer v.close()
		if err := v.dev.Deregister(v.mem); err != nil {
			t.Fatal(err)
		}
		v.register(make([]byte, 1<<20))
		second := v.newQP()
		v.connect(second, addrB, peerQPN+1, peerPSN, usualRetry)

		in := newInbox(v.dev.gids[0], v.dev.shard0())
		for _, q := range []*QP{v.qp, second} {
			p := bth.Packet{
				Opcode: bth.RCReadRequest, PKey: 0xffff, DestQP: q.Num(), PSN: peerPSN,
				RETH: bth.RETH{VA: v.mem.IOVA(), RKey: v.mem.RKey(), DMALen: 1 << 20},
			}
			in.rb.Frames = append(in.rb.Frames, received4(addrB, addrA, p.Append(nil)))
		}
		in.deliver()
		synctest.Wait()

		got, run, last := map[bth.QPN]int{}, 0, bth.QPN(0)
		for _, a := range v.peer.answers() {
			if run++; a.DestQP != last {
				run, last = 1, a.DestQP
			}
			if got[a.DestQP]++; run > turnBytes/1024 && got[peerQPN] < 1024 && got[peerQPN+1] < 1024 {
				t.Fatalf("more than %d packets in a row to %#x while another waits", turnBytes/1024, a.DestQP)
			}
		}
		if got[peerQPN] != 1024 || got[peerQPN+1] != 1024 {
			t.Errorf("responses by queue pair: %v, want 1024 each", got)
		}
	})
}

// A post on a busy queue pair leaves sending to the pump, which needs neither a response nor a
// timer for it.
func TestPipelinedPostsLeaveAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVictim(t, pipe.NewNet())
		defer v.close()
		start := time.Now()
		for i := range 3 * pipelined {
			v.post(v.write(v.end, uint64(i), 0, 64))
		}
		synctest.Wait()
		if n := len(v.peer.answers()); n != 3*pipelined || time.Since(start) != 0 {
			t.Errorf("%d packets after %v, want %d at once", n, time.Since(start), 3*pipelined)
		}
	})
}

func TestClosedQueuePairLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVictim(t, pipe.NewNet())
		defer v.close()
		v.post(v.write(v.end, 1, 0, 64))
		s := v.qp.shard
		s.lock()
		if s.timers.wheel.count != 1 {
			t.Errorf("%d deadlines with a packet outstanding, want 1", s.timers.wheel.count)
		}
		s.markReady(v.qp)
		v.qp.close()
		if s.timers.wheel.count != 0 || !s.out[0].empty() || s.qps.Len() != 0 {
			t.Errorf("left behind: %d deadlines, ready queue pairs %v, %d numbers", s.timers.wheel.count,
				!s.out[0].empty(), s.qps.Len())
		}
		s.unlock()
		v.qp.Close()
		if n := v.counter("sent_pkts"); n != 1 {
			t.Errorf("sent_pkts = %d after Close, want the 1 it had counted", n)
		}
		if err := v.cq.Close(); err != nil {
			t.Errorf("its CQ is still in use: %v", err)
		}
	})
}

// scriptedLink fails as its fields say.
type scriptedLink struct {
	packet.Link
	reprepare atomic.Int32 // number of Send calls that return ErrReprepare for the frames from keep on
	keep      int          // frames sent before that
	refuse    atomic.Bool  // Send rejects everything
	recvFails atomic.Int32
	prepared  atomic.Int32
}

func (l *scriptedLink) Prepare(b *packet.Batch) {
	l.Link.Prepare(b)
	l.prepared.Add(1)
}

func (l *scriptedLink) Send(b *packet.Batch) error {
	switch {
	case l.reprepare.Load() > 0:
		l.reprepare.Add(-1)
		// A batch of its own removes the first frames, as if they had been sent.
		first := packet.NewBatch(l.keep)
		for i := range l.keep {
			f, g := first.AppendFrame(), b.At(i)
			f.Path, f.Header, f.Payload, f.Trailer = g.Path, g.Header, g.Payload, g.Trailer
			f.SrcPort, f.ID, f.FlagsFragment = g.SrcPort, g.ID, g.FlagsFragment
		}
		if err := l.Link.Send(first); err != nil {
			return err
		}
		b.Sent += l.keep
		return packet.ErrReprepare
	case l.refuse.Load():
		n := b.Len() - b.Sent
		b.Sent = b.Len()
		return &packet.SendError{Refused: n, Dst: *b.At(0).Path, Err: errors.New("no route to host")}
	}
	return l.Link.Send(b)
}

func (l *scriptedLink) Recv(rb *packet.RecvBatch) error {
	if l.recvFails.Load() > 0 {
		l.recvFails.Add(-1)
		return errors.New("try again later")
	}
	return l.Link.Recv(rb)
}

func TestFramesAreSealedAgain(t *testing.T) {
	for _, keep := range []int{0, 1, 3} {
		t.Run(fmt.Sprintf("after %d of 4 left", keep), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				link := &scriptedLink{keep: keep}
				a, b := newPair(t, 8192, usualRetry, func(l packet.Link) packet.Link {
					if l.Local() != addrA {
						return l
					}
					link.Link = l
					return link
				})
				defer closeAll(t, a, b)
				fill(a.buf, 5)
				link.reprepare.Store(1)
				// 3001 bytes: the last packet has padding, which must not be taken for the ICRC.
				a.post(a.write(b, 1, 0, 3*1024+1))
				a.succeed(1)
				if n := link.prepared.Load(); n != 2 {
					t.Errorf("prepared %d times, want 2", n)
				}
				if d := b.drops(); len(d) > 0 {
					t.Errorf("dropped: %v", d)
				}
				if n := a.qp.Counters().Retransmitted; n != 0 {
					t.Errorf("%d packets had to be sent again", n)
				}
			})
		})
	}
}

func TestRefusedFramesAreToldAndSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := &scriptedLink{}
		a, b := newPair(t, 4096, usualRetry, func(l packet.Link) packet.Link {
			if l.Local() != addrA {
				return l
			}
			link.Link = l
			return link
		})
		defer closeAll(t, a, b)
		if err := a.dev.SendError(); err != nil {
			t.Errorf("SendError = %v before anything was sent", err)
		}
		link.refuse.Store(true)
		a.post(a.write(b, 1, 0, 64))
		var refused *packet.SendError
		if err := a.dev.SendError(); !errors.As(err, &refused) || refused.Dst.Dst != addrB {
			t.Errorf("SendError = %v, want the host's refusal", err)
		}
		if n := a.counter("tx_refused"); n != 1 {
			t.Errorf("tx_refused = %d, want 1", n)
		}
		link.refuse.Store(false)
		a.succeed(1)
	})
}

// An error that persists for a while neither ends reception nor uses up the processor.
func TestReceivingGoesOnAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const failures = 20
		n := pipe.NewNet()
		link := &scriptedLink{Link: openLink(t, n, addrA)}
		link.recvFails.Store(failures)
		start := time.Now()
		e := newEnd(t, 1, link, 4096)
		e.connect(e.qp, addrA, e.qp.Num(), e.psn, retry{timeout: 20, count: 7})
		e.post(e.write(e, 1, 0, 64))
		e.succeed(1)
		if d := time.Since(start); d < time.Second || d > time.Minute {
			t.Errorf("%d errors were over after %v", failures, d)
		}
		link.recvFails.Store(1 << 30)
		closeAll(t, e)
	})
}

func TestPostInClosedDeviceDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, 4096, usualRetry, nil)
		defer closeAll(t, a, b)
		if err := a.dev.gids[0].link.Close(); err != nil {
			t.Fatal(err)
		}
		a.post(a.write(b, 1, 0, 64))
		if wc := a.wait(1)[0]; wc.Status != qp.WCRetryExcErr {
			t.Errorf("a link that is gone ends work with %s, want RETRY_EXC_ERR", wc.Status.Name())
		}
		if err := a.dev.SendError(); errors.Is(err, net.ErrClosed) {
			t.Error("a closed link is told as a refusal of the host")
		}
	})
}
