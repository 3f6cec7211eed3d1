package nic

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

func fill(b []byte, seed uint64) {
	c := rand.NewChaCha8([32]byte{byte(seed)})
	c.Read(b)
}

func TestOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, 1<<20, usualRetry, nil)
		defer closeAll(t, a, b)
		operations(t, a, b)
	})
}

// operations performs operations of each kind and many lengths between ends with buffers of 1
// MiB.
func operations(t *testing.T, a, b *end) {
	t.Helper()
	for i, size := range []int{0, 1, 1023, 1024, 1025, 65536, 1 << 20} {
		fill(a.buf, uint64(i))
		clear(b.buf)
		a.post(a.write(b, 1, 0, size))
		a.succeed(1)
		if !bytes.Equal(b.buf[:size], a.buf[:size]) {
			t.Errorf("WRITE of %d bytes: the peer has others", size)
		}
		clear(a.buf)
		a.post(a.read(b, 2, 0, size))
		a.succeed(1)
		if !bytes.Equal(b.buf[:size], a.buf[:size]) {
			t.Errorf("READ of %d bytes brought others", size)
		}
		fill(a.buf, uint64(i)+100)
		b.postRecv(&qp.RecvWR{ID: 3, SGList: b.sge(0, len(b.buf))})
		a.post(&qp.SendWR{ID: 4, Opcode: qp.WRSendImm, Flags: qp.Signaled, Imm: 0xabcd, SGList: a.sge(0, size)})
		a.succeed(1)
		if wc := b.succeed(1)[0]; int(wc.ByteLen) != size || wc.Imm != 0xabcd || wc.WRID != 3 {
			t.Errorf("SEND of %d bytes was received as %+v", size, wc)
		}
		if !bytes.Equal(b.buf[:size], a.buf[:size]) {
			t.Errorf("SEND of %d bytes: the peer has others", size)
		}
	}
	if d := b.drops(); len(d) > 0 {
		t.Errorf("packets dropped: %v", d)
	}
}

// Packets that arrive in one batch are acknowledged with one packet.
func TestAcknowledgementsOfABatchAreCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVictim(t, pipe.NewNet())
		defer v.close()
		in := newInbox(v.dev.gids[0], v.dev.shard0())
		p := v.valid()
		for range 16 {
			in.rb.Frames = append(in.rb.Frames, received4(addrB, addrA, p.Append(nil)))
			p.PSN = p.PSN.Add(1)
		}
		in.deliver()
		synctest.Wait()
		if a := v.peer.answers(); len(a) != 1 || a[0].PSN != p.PSN.Sub(1) {
			t.Errorf("16 WRITEs of one batch are answered with %+v, want one ACK for the last", a)
		}
	})
}

// Work requests posted in one call are sent together.
func TestPostsShareSystemCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var links []*countingLink
		a, b := newPair(t, 4096, usualRetry, func(l packet.Link) packet.Link {
			links = append(links, &countingLink{Link: l})
			return links[len(links)-1]
		})
		defer closeAll(t, a, b)
		var wrs []*qp.SendWR
		for i := range 16 {
			wrs = append(wrs, a.write(b, uint64(i), i*64, 64))
		}
		a.post(wrs...)
		if n := links[0].sends.Load(); n != 1 {
			t.Errorf("16 WRITEs of one call left in %d sends, want 1", n)
		}
		for i, wc := range a.succeed(len(wrs)) {
			if wc.WRID != uint64(i) {
				t.Errorf("completion %d is of work request %d", i, wc.WRID)
			}
		}
	})
}

// countingLink counts the calls of Send.
type countingLink struct {
	packet.Link
	sends atomic.Int64
}

func (l *countingLink) Send(b *packet.Batch) error {
	l.sends.Add(1)
	return l.Link.Send(b)
}

func TestPostStopsAtTheFirstBadRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, 4096, usualRetry, nil)
		defer closeAll(t, a, b)
		bad := a.write(b, 2, 0, 64)
		bad.Opcode = 99
		n, err := a.qp.PostSend([]*qp.SendWR{a.write(b, 1, 0, 64), bad, a.write(b, 3, 0, 64)})
		if n != 1 || !errors.Is(err, qp.ErrBadWR) {
			t.Fatalf("PostSend = %d, %v, want 1 and ErrBadWR", n, err)
		}
		if wc := a.succeed(1)[0]; wc.WRID != 1 {
			t.Errorf("work request %d completed, want 1", wc.WRID)
		}
		synctest.Wait()
		if n := a.cq.Poll(make([]qp.WC, 1)); n != 0 {
			t.Error("a work request after the bad one was executed")
		}
	})
}

func TestEverythingArrivesOverABadLink(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault fault.Config
	}{
		{"5 % loss", fault.Config{Drop: 0.05}},
		{"duplication", fault.Config{Duplicate: 0.1}},
		{"reordering", fault.Config{Reorder: 0.05}},
		{"corruption", fault.Config{Corrupt: 0.05}},
		{"delay", fault.Config{Delay: time.Millisecond}},
		{"all of it", fault.Config{Drop: 0.01, Duplicate: 0.01, Reorder: 0.01, Corrupt: 0.01,
			Jitter: 50 * time.Microsecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seed := uint64(0)
				a, b := newPair(t, 1<<18, usualRetry, func(l packet.Link) packet.Link {
					f := c.fault
					seed++
					f.Seed = seed
					return fault.New(l, f)
				})
				defer closeAll(t, a, b)
				const pieces = 32
				piece := len(a.buf) / pieces
				fill(a.buf, 1)
				want := bytes.Clone(a.buf)
				for i := range pieces {
					a.post(a.write(b, uint64(i), i*piece, piece))
				}
				a.succeed(pieces)
				if !bytes.Equal(b.buf, want) {
					t.Error("WRITE left other bytes than those sent")
				}
				clear(a.buf)
				for i := range pieces {
					a.post(a.read(b, uint64(i), i*piece, piece))
				}
				a.succeed(pieces)
				if !bytes.Equal(a.buf, want) {
					t.Error("READ brought other bytes than those there")
				}
			})
		})
	}
}

// IBA 9.7.6.1.3: the timeout is 4.096 µs × 2^t, and may be detected up to four times as late; it
// happens once for the first transmission and once for each retry.
func TestDeadPeerEndsInRetryExceeded(t *testing.T) {
	for _, r := range []retry{{timeout: 14, count: 7}, {timeout: 10, count: 3}, {timeout: 8, count: 0}} {
		synctest.Test(t, func(t *testing.T) {
			a, b := newPair(t, 4096, r, nil)
			defer closeAll(t, a)
			closeAll(t, b)

			start := time.Now()
			a.post(a.write(b, 1, 0, 64), a.write(b, 2, 0, 64))
			wcs := a.wait(2)
			took := time.Since(start)
			if wcs[0].Status != qp.WCRetryExcErr || wcs[1].Status != qp.WCWRFlushErr {
				t.Errorf("ended with %s and %s, want RETRY_EXC_ERR and WR_FLUSH_ERR",
					wcs[0].Status.Name(), wcs[1].Status.Name())
			}
			once := 4096 * time.Nanosecond << r.timeout
			tries := time.Duration(r.count) + 1
			if took < tries*once || took > 4*tries*once {
				t.Errorf("%+v: given up after %v, want between %v and %v", r, took, tries*once, 4*tries*once)
			}
			if s := a.qp.State(); s != qp.ERR {
				t.Errorf("the queue pair is in %v, want ERR", s)
			}
			if n, err := a.qp.PostSend([]*qp.SendWR{a.write(b, 3, 0, 64)}); n != 1 || err != nil {
				t.Errorf("PostSend in ERR = %d, %v", n, err)
			}
			if wc := a.wait(1)[0]; wc.Status != qp.WCWRFlushErr {
				t.Errorf("a post in ERR ended with %s, want WR_FLUSH_ERR", wc.Status.Name())
			}
		})
	}
}

// A device whose queue pairs are idle, with its timers stopped, does nothing: in the bubble an
// hour of idleness would take forever if a timer kept firing.
func TestIdleConnectionSetsNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, 4096, usualRetry, nil)
		defer closeAll(t, a, b)
		a.post(a.write(b, 1, 0, 64))
		a.succeed(1)
		time.Sleep(time.Hour)
		a.dev.lockAll()
		defer a.dev.unlockAll()
		if n := a.qp.shard.timers.wheel.count; n != 0 {
			t.Errorf("%d deadlines are left", n)
		}
		if n := a.qp.machine.Counters().Timeouts; n != 0 {
			t.Errorf("%d timeouts on a good link", n)
		}
	})
}

func TestCloseDuringTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newPair(t, 1<<20, usualRetry, nil)
		var posters sync.WaitGroup
		posted := make([]int, 4)
		for i := range posted {
			posters.Go(func() {
				for {
					n, err := a.qp.PostSend([]*qp.SendWR{a.write(b, uint64(i), 0, 8192)})
					posted[i] += n
					switch {
					case errors.Is(err, qp.ErrQueueFull):
						time.Sleep(time.Microsecond)
					case errors.Is(err, ErrClosed):
						return
					case err != nil:
						t.Errorf("PostSend = %v", err)
						return
					}
				}
			})
		}
		completed := make(chan int)
		go func() {
			total := 0
			wc := make([]qp.WC, 64)
			for {
				n, err := a.cq.Wait(t.Context(), wc)
				total += n
				if err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Errorf("Wait = %v, want ErrClosed", err)
					}
					completed <- total
					return
				}
			}
		}()
		time.Sleep(3 * time.Microsecond)
		closeAll(t, a)
		posters.Wait()
		total := 0
		for _, n := range posted {
			total += n
		}
		if n := <-completed; n != total {
			t.Errorf("%d completions for %d work requests", n, total)
		}
		closeAll(t, a, b)
	})
}

// When Deregister returns, the memory belongs to the program again: the race detector finds any
// later access.
func TestDeregisterDuringTraffic(t *testing.T) {
	for _, c := range []struct {
		name string
		op   qp.WROpcode
		at   func(a, b *end) *end // end whose region is deregistered
		want qp.WCStatus
	}{
		{"the target of a WRITE", qp.WRWrite, func(a, b *end) *end { return b }, qp.WCRemAccessErr},
		{"the source of a WRITE", qp.WRWrite, func(a, b *end) *end { return a }, qp.WCLocProtErr},
		{"the source of a READ", qp.WRRead, func(a, b *end) *end { return b }, qp.WCRemAccessErr},
		{"the target of a READ", qp.WRRead, func(a, b *end) *end { return a }, qp.WCLocProtErr},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := newPair(t, 8<<20, usualRetry, func(l packet.Link) packet.Link {
					return fault.New(l, fault.Config{Delay: 10 * time.Microsecond})
				})
				defer closeAll(t, a, b)
				wr := a.write(b, 1, 0, len(a.buf))
				wr.Opcode = c.op
				a.post(wr)
				time.Sleep(100 * time.Microsecond)
				gone := c.at(a, b)
				if err := gone.dev.Deregister(gone.mem); err != nil {
					t.Fatal(err)
				}
				fill(gone.buf, 9)
				kept := bytes.Clone(gone.buf)
				if wc := a.wait(1)[0]; wc.Status != c.want {
					t.Errorf("ended with %s, want %s", wc.Status.Name(), c.want.Name())
				}
				if !bytes.Equal(gone.buf, kept) {
					t.Error("the memory was written to after Deregister")
				}
			})
		})
	}
}
