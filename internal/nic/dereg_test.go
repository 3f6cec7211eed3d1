package nic

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/qp"
)

const deregMessage = 2 << 20 // bytes of a message: hundreds of packets

// deregCase is an operation of a on b whose memory is deregistered at one end. After Dereg has
// returned, the test accesses the buffer without synchronization: the race detector finds every
// later access by the device, and the contents show whether one changed it.
type deregCase struct {
	rule     string
	post     func(a, b *end, id uint64) *qp.SendWR
	atA      bool // end whose region is deregistered
	recvs    bool
	requests qp.WCStatus // status of the request that finds no region
	receives qp.WCStatus // status of the receive that finds no region, if there are receives
}

var deregCases = []deregCase{
	{
		"the target of a WRITE, under the responder",
		func(a, b *end, id uint64) *qp.SendWR { return a.write(b, id, 0, deregMessage) },
		false, false, qp.WCRemAccessErr, 0,
	},
	{
		"the source of a READ, while its responses are streamed",
		func(a, b *end, id uint64) *qp.SendWR { return a.read(b, id, 0, deregMessage) },
		false, false, qp.WCRemAccessErr, 0,
	},
	{
		"the source of a WRITE, under the requester",
		func(a, b *end, id uint64) *qp.SendWR { return a.write(b, id, 0, deregMessage) },
		true, false, qp.WCLocProtErr, 0,
	},
	{
		"the sink of a READ, under the requester",
		func(a, b *end, id uint64) *qp.SendWR { return a.read(b, id, 0, deregMessage) },
		true, false, qp.WCLocProtErr, 0,
	},
	{
		"the buffer of a receive, under the responder",
		func(a, b *end, id uint64) *qp.SendWR { return a.send(id, deregMessage)[0] },
		false, true, qp.WCRemOpErr, qp.WCLocProtErr,
	},
}

func TestDeregUnderTraffic(t *testing.T) {
	for _, c := range deregCases {
		t.Run(c.rule, func(t *testing.T) {
			// A round trip takes 2 ms, a message several: the time of Dereg varies over several.
			for at := 200 * time.Microsecond; at < 40*time.Millisecond; at += 3700 * time.Microsecond {
				synctest.Test(t, func(t *testing.T) { c.run(t, at) })
			}
		})
	}
}

func (c *deregCase) run(t *testing.T, at time.Duration) {
	const messages = 12
	a, b := newPair(t, deregMessage, usualRetry, func(l packet.Link) packet.Link {
		return fault.New(l, fault.Config{Delay: time.Millisecond})
	})
	defer closeAll(t, a, b)
	for id := range uint64(messages) {
		if c.recvs {
			b.postRecv(&qp.RecvWR{ID: id, SGList: b.sge(0, deregMessage)})
		}
		a.post(c.post(a, b, id))
	}
	time.Sleep(at)
	owner := b
	if c.atA {
		owner = a
	}
	if err := owner.dev.Deregister(owner.mem); err != nil {
		t.Fatal(err)
	}
	// The buffer now belongs to the program alone.
	mine := bytes.Repeat([]byte{0xa5}, deregMessage)
	copy(owner.buf, mine)

	c.check(t, a.wait(messages), c.requests)
	if c.recvs {
		c.check(t, b.wait(messages), c.receives)
	}
	synctest.Wait()
	if !bytes.Equal(owner.buf, mine) {
		t.Errorf("at %v: the device wrote into memory that was deregistered", at)
	}
	if c.atA && owner.qp.State() != qp.ERR {
		t.Errorf("at %v: the queue pair is in %v", at, owner.qp.State())
	}
}

// check compares completions with the expected ones: successes, the one that found no memory, and
// then flushed ones, each request once and in order.
func (c *deregCase) check(t *testing.T, wcs []qp.WC, met qp.WCStatus) {
	t.Helper()
	failed := false
	for i, wc := range wcs {
		if wc.WRID != uint64(i) {
			t.Fatalf("completion %d is of request %d", i, wc.WRID)
		}
		switch {
		case failed:
			if wc.Status != qp.WCWRFlushErr {
				t.Errorf("request %d after the failed one ended with %v", i, wc.Status)
			}
		case wc.Status != qp.WCSuccess:
			failed = true
			if wc.Status != met {
				t.Errorf("request %d met the missing memory and ended with %v, want %v", i, wc.Status, met)
			}
		}
	}
	if !failed {
		t.Error("no request met the missing memory")
	}
}

// Regions are registered and deregistered in other goroutines, alongside traffic that uses them
// and in real time: the race detector finds accesses after Dereg.
func TestDeregRaces(t *testing.T) {
	a, b := newPair(t, 1<<12, usualRetry, nil)
	defer closeAll(t, a, b)
	const workers, rounds = 3, 60
	var wg sync.WaitGroup
	for w := range workers {
		cq := a.newCQ(64)
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for range rounds {
				q, p := a.newQPOn(cq, cq), b.newQP()
				a.connect(q, addrB, p.Num(), b.psn, usualRetry)
				b.connect(p, addrA, q.Num(), a.psn, usualRetry)
				buf := make([]byte, 1<<16)
				target, err := b.dev.Register(b.pd, mr.Bytes(buf), 0, uint64(len(buf)), allAccess)
				if err != nil {
					t.Error(err)
					return
				}
				own := make([]byte, len(buf))
				source, err := a.dev.Register(a.pd, mr.Bytes(own), 0, uint64(len(own)), allAccess)
				if err != nil {
					t.Error(err)
					return
				}
				var wrs []*qp.SendWR
				for i := range 4 {
					op := []qp.WROpcode{qp.WRWrite, qp.WRRead}[i%2]
					wrs = append(wrs, &qp.SendWR{
						ID: uint64(i), Opcode: op, Flags: qp.Signaled, RKey: target.RKey(),
						SGList: []qp.SGE{{Length: uint32(len(own)), LKey: source.LKey()}},
					})
				}
				var gone sync.WaitGroup
				gone.Go(func() {
					time.Sleep(time.Duration(rng.IntN(400)) * time.Microsecond)
					for _, e := range []struct {
						d   *Device
						r   *mr.Region
						buf []byte
					}{{b.dev, target, buf}, {a.dev, source, own}} {
						if err := e.d.Deregister(e.r); err != nil {
							t.Error(err)
						}
						clear(e.buf)
					}
				})
				if n, err := q.PostSend(wrs); err != nil {
					t.Errorf("post of %d: %v", n, err)
				}
				for got, wc := 0, make([]qp.WC, 8); got < len(wrs); {
					n, err := cq.Wait(t.Context(), wc)
					if err != nil {
						t.Error(err)
						return
					}
					got += n
				}
				gone.Wait()
				q.Close()
				p.Close()
				for _, x := range append(buf, own...) {
					if x != 0 {
						t.Error("the device wrote after Dereg")
						return
					}
				}
			}
		})
	}
	wg.Wait()
}
