package transport

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// The model: two machines, a wire that loses, duplicates, reorders and delays packets, and random
// work requests on both ends. Whatever the wire does, each request must complete once, in order
// and with success, and memory must have the contents that a perfect wire would leave.

// faults are probabilities per packet.
type faults struct{ drop, dup, reorder float64 }

const (
	modelBuf   = 64 << 10 // bytes of each area
	modelLocal = 0x10000  // data that the end sends
	modelMine  = 0x40000  // buffers of its READs and receives
	modelYours = 0x80000  // target of WRITEs of the peer
	modelCount = 0xc0000  // counters for atomics, each changed by the peer only
	modelOld   = 0xc1000  // original values returned by atomics
	modelWin   = 0xc2000  // range of the window: a page that the peer writes, a page that it reads
	modelEnd   = 0xc4000
)

type modelNode struct {
	rc        *RC
	qp        *qp.QP
	mem       []byte
	want      []byte // final contents of mem
	region    *mr.Region
	cq        *qp.CQ
	sent      uint64 // requests posted
	done      uint64
	recvs     uint64
	recvDone  uint64
	ready     bool
	wantRecvs []uint32 // lengths of the messages the peer will send
	modelWindow
}

type arrival struct {
	at  Time
	seq int
	to  int
	raw []byte
}

type model struct {
	rng   *rand.Rand
	now   Time
	seq   int
	f     faults
	ends  [2]*modelNode
	wire  []arrival
	batch *packet.Batch
}

func newModel(seed uint64, f faults) *model {
	m := &model{rng: rand.New(rand.NewPCG(seed, 1)), now: 1, f: f, batch: packet.NewBatch(64)}
	mtu := qp.MTU(256 << m.rng.IntN(3))
	psn := [2]bth.PSN{bth.PSN(m.rng.Uint32() & 0xffffff), 0xfffff0}
	rd := uint8(1 + m.rng.IntN(4))
	for i := range m.ends {
		e := &modelNode{mem: make([]byte, modelEnd), cq: qp.NewCQ(1 << 14)}
		for j := range e.mem[:modelMine] {
			e.mem[j] = byte(m.rng.Uint32())
		}
		for j := modelWin + 4096; j < modelEnd; j++ {
			e.mem[j] = byte(m.rng.Uint32())
		}
		e.want = bytes.Clone(e.mem)
		pd := &mr.PD{}
		keys := mr.NewTable([32]byte{byte(i)}, 10)
		all := mr.LocalWrite | mr.RemoteRead | mr.RemoteWrite | mr.RemoteAtomic | mr.FlushGlobal | mr.MWBind
		e.flushed.Addressable = mr.Bytes(e.mem).(mr.Addressable)
		e.region, _ = keys.Register(pd, &e.flushed, 0, modelEnd, all)
		e.window, _ = keys.AllocWindow(pd, mr.WindowType2)
		e.qp = &qp.QP{Num: bth.QPN(16 + i), Type: qp.RC, PD: pd, SigAll: true,
			SQ: qp.NewSendQueue(512, 4, true), Recv: qp.NewRecvQueue(pd, 512, 4), SendCQ: e.cq, RecvCQ: e.cq}
		cfg := Config{Window: 1 + m.rng.IntN(64), AckEvery: 1 + m.rng.IntN(16)}
		e.rc = NewRC(e.qp, keys, &cfg)
		m.ends[i] = e
		for _, st := range []qp.State{qp.INIT, qp.RTR, qp.RTS} {
			e.qp.Attr = qp.Attr{State: st, PathMTU: mtu, DestQPN: bth.QPN(17 - i), RQPSN: psn[1-i],
				SQPSN: psn[i], Access: all,
				MaxRdAtomic: rd, MaxDestRdAtomic: rd, MinRNRTimer: 1, Timeout: 8, RetryCnt: 7, RNRRetry: 7}
			e.rc.Modified(m.now)
		}
	}
	return m
}

// post posts a random request on end i and records its effect on both memories.
func (m *model) post(i int) error {
	e, peer := m.ends[i], m.ends[1-i]
	// Each request has its own slot, so the order in which the requests of the two ends are
	// executed does not matter.
	slot := e.sent % 16 * 4096
	n := []int{0, 1, 3, 255, 256, 257, 1024, 1025, 3000, 4096}[m.rng.IntN(10)]
	wr := qp.SendWR{ID: e.sent, RKey: peer.region.RKey(), Imm: uint32(e.sent)}
	src := uint64(modelLocal + m.rng.IntN(modelBuf))
	sge := func(addr uint64, n int) []qp.SGE {
		if n == 0 {
			return nil
		}
		cut := m.rng.IntN(n + 1)
		return []qp.SGE{{Addr: addr, Length: uint32(cut), LKey: e.region.LKey()},
			{Addr: addr + uint64(cut), Length: uint32(n - cut), LKey: e.region.LKey()}}
	}
	if m.rng.IntN(8) == 0 {
		wr.Flags |= qp.Fence
	}
	switch wr.Opcode = m.opcode(e, peer); wr.Opcode {
	case qp.WRSend, qp.WRSendImm, qp.WRSendInv:
		wr.SGList = sge(src, n)
		dst := modelMine + modelBuf*2 + peer.recvs%16*4096
		copy(peer.want[dst:], e.want[src:src+uint64(n)])
		m.expectReceive(peer, uint32(n))
		if wr.Opcode == qp.WRSendInv {
			m.invalidate(peer, &wr)
		}
	case qp.WRWrite, qp.WRWriteImm:
		wr.SGList = sge(src, n)
		wr.RemoteAddr = modelYours + slot
		if m.through(peer, &wr) {
			wr.RemoteAddr = modelWin
		}
		copy(peer.want[wr.RemoteAddr:], e.want[src:src+uint64(n)])
		if wr.Opcode == qp.WRWriteImm {
			m.expectReceive(peer, uint32(n))
		}
	case qp.WRRead:
		wr.RemoteAddr = src
		if m.through(peer, &wr) {
			wr.RemoteAddr = modelWin + 4096
		}
		wr.SGList = sge(modelMine+slot, n)
		copy(e.want[modelMine+slot:], peer.want[wr.RemoteAddr:wr.RemoteAddr+uint64(n)])
	case qp.WRAtomicWrite:
		wr.RemoteAddr = modelCount + uint64(m.rng.IntN(4)*8)
		wr.SGList = sge(src, 8)
		copy(peer.want[wr.RemoteAddr:], e.want[src:src+8])
	case qp.WRFlush:
		wr.Flush = qp.Flush{Length: uint32(n), Type: qp.FlushToGlobal, Level: qp.FlushLevel(m.rng.IntN(2))}
		if n > 0 || wr.Flush.Level == qp.FlushRegion {
			peer.wantFlushes++
		}
	case qp.WRBindMW:
		e.bind(&wr)
	case qp.WRLocalInv:
		wr.Imm, e.winState = e.window.RKey(), winShutting
	case qp.WRFetchAdd, qp.WRCmpSwap:
		wr.RemoteAddr = modelCount + uint64(m.rng.IntN(4)*8)
		old := modelOld + e.sent%512*8
		wr.SGList = sge(old, 8)
		was := binary.NativeEndian.Uint64(peer.want[wr.RemoteAddr:])
		next := was
		if wr.CompareAdd = m.rng.Uint64(); wr.Opcode == qp.WRFetchAdd {
			next += wr.CompareAdd
		} else if wr.Swap = m.rng.Uint64(); m.rng.IntN(2) == 0 {
			wr.CompareAdd, next = was, wr.Swap
		}
		binary.NativeEndian.PutUint64(peer.want[wr.RemoteAddr:], next)
		binary.NativeEndian.PutUint64(e.want[old:], was)
	}
	if err := e.qp.SQ.Push(&wr); err != nil {
		return err
	}
	e.sent++
	e.rc.Posted()
	m.transmit(i)
	return nil
}

// expectReceive records that end e will complete a receive of n bytes. Its buffer is posted
// later, so that the sender finds a receiver that is not ready.
func (m *model) expectReceive(e *modelNode, n uint32) {
	e.wantRecvs = append(e.wantRecvs, n)
	e.recvs++
}

// postReceives posts outstanding receives of end i.
func (m *model) postReceives(i int, posted *uint64) {
	e := m.ends[i]
	for *posted < e.recvs {
		dst := modelMine + modelBuf*2 + *posted%16*4096
		e.qp.Recv.(*qp.RecvQueue).Push(&qp.RecvWR{ID: 1<<32 + *posted,
			SGList: []qp.SGE{{Addr: dst, Length: 4096, LKey: e.region.LKey()}}})
		*posted++
	}
	e.rc.Posted()
}

// transmit marks end i as ready to send. It sends in next, so that several packets may arrive
// before it sends, and a burst may be interrupted anywhere.
func (m *model) transmit(i int) { m.ends[i].ready = true }

// turn lets a ready end send one burst. It returns false if none is ready.
func (m *model) turn() bool {
	i := m.rng.IntN(2)
	if !m.ends[i].ready {
		i = 1 - i
	}
	e := m.ends[i]
	if !e.ready {
		return false
	}
	e.ready = e.rc.Transmit(m.now, nil, m.batch, 1+m.rng.IntN(40))
	for k := range m.batch.Len() {
		m.put(1-i, append(m.batch.At(k).AppendTo(nil), 0, 0, 0, 0))
	}
	m.batch.Reset()
	return true
}

// put gives a packet to the wire, which may lose, duplicate or reorder it.
func (m *model) put(to int, raw []byte) {
	if m.rng.Float64() < m.f.drop {
		return
	}
	at := m.now + 5000
	if m.rng.Float64() < m.f.reorder {
		at += Time(m.rng.IntN(200_000))
	}
	m.seq++
	m.wire = append(m.wire, arrival{at, m.seq, to, raw})
	if m.rng.Float64() < m.f.dup {
		m.seq++
		m.wire = append(m.wire, arrival{at + Time(m.rng.IntN(300_000)), m.seq, to, raw})
	}
}

// next performs one event: a burst, or the earliest arrival or timer. It returns false if no
// event is left.
func (m *model) next() (bool, error) {
	if m.rng.IntN(3) > 0 && m.turn() {
		return true, m.check()
	}
	best := -1
	for i := range m.wire {
		a, b := &m.wire[i], &m.wire[max(best, 0)]
		if best < 0 || a.at < b.at || a.at == b.at && a.seq < b.seq {
			best = i
		}
	}
	timer, who := Time(1<<62), -1
	for i, e := range m.ends {
		if at, ok := e.rc.NextTimeout(); ok && at < timer {
			timer, who = at, i
		}
	}
	switch {
	case best >= 0 && (who < 0 || m.wire[best].at <= timer):
		a := m.wire[best]
		m.wire[best] = m.wire[len(m.wire)-1]
		m.wire = m.wire[:len(m.wire)-1]
		m.now = max(m.now, a.at)
		var p bth.Packet
		if err := p.Decode(a.raw); err != nil {
			return false, err
		}
		m.ends[a.to].rc.Receive(m.now, &p)
		m.transmit(a.to)
	case who >= 0:
		m.now = max(m.now, timer)
		m.ends[who].rc.Timeout(m.now)
		m.transmit(who)
	default:
		return m.turn(), m.check()
	}
	return true, m.check()
}

// check polls both CQs and verifies the order and the contents of completions.
func (m *model) check() error {
	var wcs [16]qp.WC
	for i, e := range m.ends {
		for {
			n := e.cq.Poll(wcs[:])
			if n == 0 {
				break
			}
			for _, wc := range wcs[:n] {
				if wc.Status != qp.WCSuccess {
					return fmt.Errorf("end %d: request %d: %s", i, wc.WRID, wc.Status.Name())
				}
				if wc.WRID < 1<<32 {
					if wc.WRID != e.done {
						return fmt.Errorf("end %d: completion of request %d, want %d", i, wc.WRID, e.done)
					}
					e.done++
					e.completed(&wc)
					continue
				}
				if wc.WRID != 1<<32+e.recvDone || wc.ByteLen != e.wantRecvs[e.recvDone] {
					return fmt.Errorf("end %d: receive %d of %d bytes, want %d of %d", i, wc.WRID-1<<32, wc.ByteLen,
						e.recvDone, e.wantRecvs[e.recvDone])
				}
				if err := e.received(&wc); err != nil {
					return fmt.Errorf("end %d: receive %d: %w", i, e.recvDone, err)
				}
				e.recvDone++
			}
		}
	}
	return nil
}

// run posts requests while packets are in flight, then waits until both ends are idle.
func (m *model) run(requests int) error {
	var posted [2]uint64
	left := [2]int{requests, requests}
	// Slots are reused after 16 requests. With more outstanding requests, memory would show their
	// order on the wire.
	for left[0]+left[1] > 0 || m.ends[0].done+m.ends[1].done < uint64(2*requests) {
		i := m.rng.IntN(2)
		e, peer := m.ends[i], m.ends[1-i]
		if left[i] > 0 && e.sent-e.done < 8 && peer.recvs-peer.recvDone < 8 && m.rng.IntN(3) == 0 {
			if err := m.post(i); err != nil {
				return err
			}
			left[i]--
		}
		if m.rng.IntN(4) == 0 {
			for i := range m.ends {
				m.postReceives(i, &posted[i])
				m.transmit(i)
			}
		}
		if _, err := m.next(); err != nil {
			return err
		}
	}
	for more := true; more; {
		var err error
		if more, err = m.next(); err != nil {
			return err
		}
	}
	for i, e := range m.ends {
		if e.sent != e.done || e.recvs != e.recvDone {
			return fmt.Errorf("end %d: %d of %d requests and %d of %d receives complete", i, e.done, e.sent,
				e.recvDone, e.recvs)
		}
		if e.flushed.n != e.wantFlushes {
			return fmt.Errorf("end %d: executed %d flushes, want %d", i, e.flushed.n, e.wantFlushes)
		}
		if !bytes.Equal(e.mem, e.want) {
			for j := range e.mem {
				if e.mem[j] != e.want[j] {
					return fmt.Errorf("end %d: memory differs at %#x", i, j)
				}
			}
		}
	}
	return nil
}

func TestModelHoldsUnderAnyFault(t *testing.T) {
	cases := []struct {
		name string
		f    faults
	}{
		{"perfect wire", faults{}},
		{"1 % loss", faults{drop: 0.01}},
		{"5 % loss", faults{drop: 0.05}},
		{"20 % duplicates", faults{dup: 0.2}},
		{"20 % reordered", faults{reorder: 0.2}},
		{"all at once", faults{drop: 0.03, dup: 0.05, reorder: 0.05}},
	}
	seeds := 300
	if testing.Short() || race.Enabled { // a world is one goroutine: the detector has nothing to find in it
		seeds = 30
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for seed := range seeds {
				if err := newModel(uint64(seed), c.f).run(40); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}
