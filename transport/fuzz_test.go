package transport

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// The input of the fuzzers is a program: each step is one byte for the kind of step, followed by
// bytes that choose field values, mostly near the limits of the rules. After every step, the
// bench checks what must hold whatever a peer does.

const (
	benchMTU  = 256
	benchPage = 4096
	secret    = 0xee // content of all memory without a key for the peer
)

// Regions of the bench, by their place in memory. Between them lies memory without a key.
const (
	benchRW    = iota // remote WRITE and READ
	benchRO           // remote READ
	benchAt           // remote atomics
	benchOwn          // no remote right, for receives
	benchOther        // every right, in another protection domain
	benchPlaces
)

var benchAccess = [benchPlaces]mr.Access{
	mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead, mr.RemoteRead, mr.LocalWrite | mr.RemoteAtomic, mr.LocalWrite,
	mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic,
}

// benchPayload is the payload of all requests and READ responses.
var benchPayload = bytes.Repeat([]byte{0x33}, 5000)

type bench struct {
	m       scripted
	c       *RC // m, if it is an RC
	uc      *UC
	q       *qp.QP
	keys    *mr.Table
	mem     []byte
	regions [benchPlaces]*mr.Region
	stale   uint32
	batch   *packet.Batch
	now     Time
	program []byte
	sends   uint64 // sends posted
	recvs   uint64
	done    [2]uint64 // completions of sends and receives
	answers int       // maximum number of packets in answer to the requests so far
	spoken  bool      // an error NAK was sent
	err     error
	raw     []byte
}

var benchBatches = sync.Pool{New: func() any { return packet.NewBatch(16) }}

func newBench(service qp.Type, program []byte) *bench {
	b := &bench{mem: bytes.Repeat([]byte{secret}, (2*benchPlaces+1)*benchPage), now: 1, program: program}
	b.batch = benchBatches.Get().(*packet.Batch)
	pd, otherPD := &mr.PD{ID: 1}, &mr.PD{ID: 2}
	b.keys = mr.NewTable([32]byte{1}, 100)
	for i, access := range benchAccess {
		owner := pd
		if i == benchOther {
			owner = otherPD
		}
		b.regions[i], _ = b.keys.Register(owner, mr.Bytes(b.place(i)), b.iova(i), benchPage, access)
	}
	copy(b.place(benchRW), benchPayload)
	copy(b.place(benchRO), benchPayload)
	gone, _ := b.keys.Register(pd, mr.Bytes(b.mem[:benchPage]), 0, benchPage, benchAccess[benchOther])
	b.stale = gone.RKey()
	if err := b.keys.Deregister(gone); err != nil {
		b.fail("%v", err)
	}
	b.q = &qp.QP{
		Num: 0x11, Type: service, PD: pd, SigAll: true,
		SQ: qp.NewSendQueue(16, 2, true), Recv: qp.NewRecvQueue(pd, 16, 2), SendCQ: b, RecvCQ: b,
	}
	if service == qp.UC {
		b.uc = NewUC(b.q, b.keys)
		b.m = b.uc
	} else {
		b.c = NewRC(b.q, b.keys, &Config{Window: 16, AckEvery: 4})
		b.m = b.c
	}
	for _, st := range []qp.State{qp.INIT, qp.RTR, qp.RTS} {
		b.q.Attr = qp.Attr{
			State: st, PathMTU: benchMTU, DestQPN: 0x22, RQPSN: 0xfffff0, SQPSN: 0xfffff8,
			Access: mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic, MaxRdAtomic: 3, MaxDestRdAtomic: 3,
			MinRNRTimer: 1, Timeout: 8, RetryCnt: 3, RNRRetry: 3,
		}
		b.m.Modified(b.now)
	}
	return b
}

// place returns the memory of region i, iova its address.
func (b *bench) place(i int) []byte { return b.mem[(2*i+1)*benchPage:][:benchPage] }
func (b *bench) iova(i int) uint64  { return uint64(0x10000 * (i + 1)) }

func (b *bench) fail(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// Complete counts a completion and checks that the work requests of each queue complete once and
// in order.
func (b *bench) Complete(wc *qp.WC) {
	queue, posted := wc.WRID>>32, b.sends
	if queue == 1 {
		posted = b.recvs
	}
	if id := wc.WRID & 0xffffffff; id != b.done[queue] || id >= posted {
		b.fail("work request %d of queue %d completes as %s; %d completed before it, %d are posted", id, queue,
			wc.Status.Name(), b.done[queue], posted)
	}
	b.done[queue]++
}

// byte returns the next byte of the program, 0 after its end.
func (b *bench) byte() byte {
	if len(b.program) == 0 {
		return 0
	}
	v := b.program[0]
	b.program = b.program[1:]
	return v
}

// pick returns one of the choices.
func pick[T any](b interface{ byte() byte }, choices ...T) T {
	return choices[int(b.byte())%len(choices)]
}

func (b *bench) postRecv() {
	wr := qp.RecvWR{ID: 1<<32 | b.recvs}
	if n := pick[uint32](b, 512, 256, 0, 255, 257, 4096, 8); n > 0 {
		wr.SGList = []qp.SGE{
			{Addr: b.iova(benchOwn), Length: n / 2, LKey: b.regions[benchOwn].LKey()},
			{Addr: b.iova(benchOwn) + uint64(n/2), Length: n - n/2, LKey: b.regions[benchOwn].LKey()},
		}
	}
	if b.q.CheckPostRecv() == nil && b.q.Recv.(*qp.RecvQueue).Push(&wr) == nil {
		b.recvs++
		b.m.Posted()
	}
}

// postSend posts one of the operations that all machines support, mostly with the right local
// key.
func (b *bench) postSend() {
	wr := qp.SendWR{
		ID: b.sends, RemoteAddr: 0x40000, RKey: 0x1234,
		Opcode: pick(b, qp.WRSend, qp.WRWrite, qp.WRRead, qp.WRFetchAdd, qp.WRCmpSwap, qp.WRWriteImm, qp.WRSendImm),
		Flags:  pick(b, 0, qp.Fence, qp.Solicited),
	}
	n := pick[uint32](b, 1, 256, 512, 257, 0, 3000, 8)
	if wr.Opcode == qp.WRFetchAdd || wr.Opcode == qp.WRCmpSwap {
		n = 8
	}
	if n > 0 {
		from := pick(b, benchRW, benchRW, benchRW, benchRO, benchOther)
		wr.SGList = []qp.SGE{{Addr: b.iova(from), Length: n, LKey: b.regions[from].LKey()}}
	}
	if b.q.CheckPost(&wr) == nil && b.q.SQ.Push(&wr) == nil {
		b.sends++
		b.m.Posted()
	}
}

// transmit lets the machine send at most n packets and checks that they decode, have the right
// destination, respect the path MTU, and disclose no memory without a key.
func (b *bench) transmit(n int) (more bool) {
	before := b.q.State()
	stays := b.refusedAndStays()
	more = b.m.Transmit(b.now, nil, b.batch, n)
	if b.batch.Len() > n {
		b.fail("%d packets where %d may leave", b.batch.Len(), n)
	}
	for i := range b.batch.Len() {
		b.raw = append(b.batch.At(i).AppendTo(b.raw[:0]), 0, 0, 0, 0)
		var p bth.Packet
		if err := p.Decode(b.raw); err != nil {
			b.fail("the machine sent a packet that does not decode: %v", err)
			continue
		}
		if p.DestQP != 0x22 || len(p.Payload) > benchMTU {
			b.fail("%v to %#x with %d bytes", p.Opcode, uint32(p.DestQP), len(p.Payload))
		}
		if bytes.IndexByte(p.Payload, secret) >= 0 {
			b.fail("%v shows memory that no key opens", p.Opcode)
		}
		if p.Opcode.Info().Response() {
			if b.answers--; b.answers < 0 {
				b.fail("%v is one answer more than the requests could ask for", p.Opcode)
			}
		}
		// An error NAK is the last packet of a queue pair, even if it has entered ERR for another
		// reason before the NAK was sent.
		last := p.Opcode == bth.RCAck && p.AETH.Syndrome.IsNak() && p.AETH.Syndrome != bth.NakPSNSequence &&
			!stays[p.PSN]
		if b.spoken || before == qp.ERR && !last {
			b.fail("a queue pair in ERR sent %v", p.Opcode)
		}
		b.spoken = last
	}
	b.batch.Reset()
	if b.uc != nil {
		more = b.uc.Sent(b.now) || more
	}
	return more
}

// refusedAndStays returns the PSNs at which a NAK does not end the connection: those of duplicate
// READs whose memory is gone.
func (b *bench) refusedAndStays() map[bth.PSN]bool {
	if b.c == nil {
		return nil
	}
	rs, psns := &b.c.rsp.resources, map[bth.PSN]bool{}
	for i := range rs.len {
		if j := rs.job(i); j.replay && j.res.invalidated() {
			psns[j.next] = true
		}
	}
	return psns
}

// request delivers a request, which permits the machine one NAK and the packets of a READ of a
// page.
func (b *bench) request(op bth.Opcode) {
	b.answers += 1 + benchPage/benchMTU
	b.m.Receive(b.now, b.requestPacket(op))
}

// common performs a step other than the delivery of a packet.
func (b *bench) common(kind byte) {
	switch kind % 8 {
	case 0, 1:
		b.transmit(1 + int(b.byte())%16)
	case 2:
		b.postRecv()
	case 3:
		b.postSend()
	case 4:
		if at, ok := b.m.NextTimeout(); ok {
			b.now = max(b.now, at)
			b.m.Timeout(b.now)
		}
	case 5:
		b.now += Time(b.byte()) * 1000
		b.m.Timeout(b.now)
	case 6:
		if r := b.regions[int(b.byte())%benchPlaces]; r.Valid() {
			if err := b.keys.Deregister(r); err != nil {
				b.fail("%v", err)
			}
		}
	case 7:
		switch s := b.q.State(); {
		case s == qp.RTS:
			b.q.Attr.State = pick(b, qp.SQD, qp.RTS, qp.ERR)
		case s == qp.SQD:
			b.q.Attr.State = pick(b, qp.RTS, qp.SQD)
		}
		b.m.Modified(b.now)
	}
}

// check checks the state of both halves against their bounds.
func (b *bench) check() {
	if b.c == nil {
		return
	}
	r, rs := &b.c.req, &b.c.rsp.resources
	if r.started && distance(r.una, r.send) > distance(r.una, r.next) {
		b.fail("una %d, send %d, next %d", r.una, r.send, r.next)
	}
	if d := distance(r.una, r.next); r.started && d > 2*b.c.window {
		b.fail("%d PSNs are outstanding, the window has %d", d, b.c.window)
	}
	if r.started && (r.window < 1 || r.window > b.c.window) {
		b.fail("%d PSNs may be outstanding, the window has %d", r.window, b.c.window)
	}
	if r.started && !r.repair.empty() && r.una == r.send {
		b.fail("a repair is due where nothing is outstanding")
	}
	if e := &b.c.rsp.early; e.pool != nil && (e.pool.lent > int(2*b.c.window) || (e.pool.lent == 0) != (e.kept == 0)) {
		b.fail("%d packets are kept, at most %d may be", e.pool.lent, 2*b.c.window)
	}
	if r.reads < 0 || r.reads > 3 {
		b.fail("%d READs and atomics are outstanding, max_rd_atomic is 3", r.reads)
	}
	if rs.len > len(rs.jobs) || len(rs.ring.slots) > 3 {
		b.fail("%d answers for %d resources, max_dest_rd_atomic is 3", rs.len, len(rs.ring.slots))
	}
}

// run executes the program and checks the final state.
func (b *bench) run(t *testing.T, step func(*bench)) {
	for steps := 0; len(b.program) > 0 && b.err == nil && steps < 400; steps++ {
		step(b)
		b.check()
	}
	for turns := 0; b.transmit(16) && b.err == nil; turns++ {
		if turns > 100 {
			b.fail("the machine goes on sending where nothing arrives")
		}
	}
	b.q.Attr.State = qp.ERR
	b.m.Modified(b.now)
	b.transmit(16)
	b.batch.Reset()
	benchBatches.Put(b.batch)
	if b.err != nil {
		t.Fatal(b.err)
	}
	if b.done != [2]uint64{b.sends, b.recvs} {
		t.Fatalf("%v of %d sends and %d receives completed", b.done, b.sends, b.recvs)
	}
	if b.c != nil && b.c.rsp.early.kept > 0 {
		t.Fatal("packets are kept in ERR")
	}
	if n := b.q.SQ.Len() + b.q.Recv.Len(); n != 0 {
		t.Fatalf("%d work requests are left in the queues", n)
	}
	for i := range 2*benchPlaces + 1 {
		closed := i%2 == 0 || i/2 == benchOther
		if closed && bytes.Count(b.mem[i*benchPage:][:benchPage], []byte{secret}) != benchPage {
			t.Fatalf("memory that no key opens was written to, in page %d", i)
		}
	}
	if !bytes.Equal(b.place(benchRO), benchPayload[:benchPage]) {
		t.Fatal("memory that is open to READs was written to")
	}
}
