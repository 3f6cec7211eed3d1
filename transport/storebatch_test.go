package transport

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// vectored is memory without a pointer to it that accepts several pieces in one call. It records
// the calls. From limit on, reads and writes fail.
type vectored struct {
	b     []byte
	limit uint64
	calls []string
	reads []string // length and offset
}

func newVectored(b []byte) *vectored { return &vectored{b: b, limit: uint64(len(b))} }

var errBeyond = errors.New("beyond the limit")

func (m *vectored) Size() uint64 { return uint64(len(m.b)) }

func (m *vectored) ReadAt(p []byte, off uint64) error {
	m.reads = append(m.reads, fmt.Sprintf("%d at %d", len(p), off))
	if off+uint64(len(p)) > m.limit {
		return errBeyond
	}
	copy(p, m.b[off:])
	return nil
}

func (m *vectored) WriteAt(p []byte, off uint64) error {
	m.calls = append(m.calls, fmt.Sprint(len(p)))
	return m.write(p, off)
}

// WritePieces records the lengths of contiguous pieces, and the final pieces, of a call.
func (m *vectored) WritePieces(pieces []mr.Piece) (stored int, err error) {
	var parts []string
	for i := 0; i < len(pieces); {
		n, size := 0, 0
		for ; i+n < len(pieces) && !pieces[i+n].Final && pieces[i+n].Off == pieces[i].Off+uint64(size); n++ {
			size += len(pieces[i+n].Data)
		}
		if n == 0 {
			parts = append(parts, fmt.Sprint(len(pieces[i].Data), " final"))
			n = 1
		} else {
			parts = append(parts, fmt.Sprintf("%d in %d", size, n))
		}
		i += n
	}
	m.calls = append(m.calls, strings.Join(parts, " + "))
	for i := range pieces {
		if err := m.write(pieces[i].Data, pieces[i].Off); err != nil {
			return i, err
		}
	}
	return len(pieces), nil
}

func (m *vectored) write(p []byte, off uint64) error {
	if off+uint64(len(p)) > m.limit {
		return errBeyond
	}
	copy(m.b[off:], p)
	return nil
}

// Payloads for vectored memory are stored 64 KiB at a time. The last bytes of a WRITE are a piece
// of their own, after all others.
func TestPacketsAreStoredInLongPieces(t *testing.T) {
	const k = 1 << 10
	for name, c := range map[string]struct {
		op     qp.WROpcode
		length int
		calls  []string
	}{
		"a WRITE of one packet":   {qp.WRWrite, 100, []string{"92 in 1 + 8 final"}},
		"a WRITE of 8 bytes":      {qp.WRWrite, 8, []string{"8 final"}},
		"a WRITE of 64 KiB":       {qp.WRWrite, 64 * k, []string{"65528 in 64 + 8 final"}},
		"a SEND of 64 KiB":        {qp.WRSend, 64 * k, []string{"65536 in 64"}},
		"a READ of 64 KiB":        {qp.WRRead, 64 * k, []string{"65536 in 64"}},
		"a WRITE with an odd end": {qp.WRWrite, 32*k + 3, []string{"32768 in 32 + 3 final"}},
	} {
		t.Run(name, func(t *testing.T) {
			mem := [2][]byte{make([]byte, 1<<20), make([]byte, 1<<20)}
			far := [2]*vectored{newVectored(mem[0]), newVectored(mem[1])}
			w := newPumpOver(1024, far[0], far[1])
			for i := range w.rc {
				w.storeBatch[i] = &StoreBatch{}
				w.rc[i].ShareStoreBatch(w.storeBatch[i])
			}
			from, to := 0, 1
			if c.op == qp.WRRead {
				from, to = 1, 0
			}
			for i := range mem[from][:c.length] {
				mem[from][i] = byte(i * 7)
			}
			wr, rr := &qp.SendWR{}, &qp.RecvWR{}
			if n := w.message(c.op, c.length, wr, rr, make([]qp.WC, 4)); n == 0 {
				t.Fatal("no completion")
			}
			if !bytes.Equal(mem[0][:c.length], mem[1][:c.length]) {
				t.Error("other bytes arrived")
			}
			if !slices.Equal(far[to].calls, c.calls) || len(far[from].calls) > 0 {
				t.Errorf("the calls were %q, want %q", far[to].calls, c.calls)
			}
		})
	}
}

func TestAtMost64KiBAreHeldBack(t *testing.T) {
	const k = 1 << 10
	far := [2]*vectored{newVectored(make([]byte, 1<<20)), newVectored(make([]byte, 1<<20))}
	w := newPumpOver(4096, far[0], far[1])
	w.storeBatch[1] = &StoreBatch{}
	w.rc[1].ShareStoreBatch(w.storeBatch[1])
	if n := w.message(qp.WRSend, 160*k, &qp.SendWR{}, &qp.RecvWR{}, make([]qp.WC, 4)); n == 0 {
		t.Fatal("no completion")
	}
	if want := []string{"65536 in 16", "65536 in 16", "32768 in 8"}; !slices.Equal(far[1].calls, want) {
		t.Errorf("the calls were %q, want %q", far[1].calls, want)
	}
}

// vectoredAt600000 gives a script the region "far": 1 KiB of which the first half can be written.
func vectoredAt600000(t *testing.T, s *script) *vectored {
	t.Helper()
	m := newVectored(make([]byte, 1024))
	m.limit = 512
	r, err := s.keys.Register(s.qp.PD, m, 0x600000, m.Size(), mr.LocalWrite|mr.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	s.regions["far"] = r
	return m
}

// If the held-back payload of accepted packets cannot be stored, the first of these packets is
// refused. None of them has been acknowledged.
func TestFailedGatherRefusesFirstHeldPacket(t *testing.T) {
	s := newScript(t, nil)
	m := vectoredAt600000(t, s)
	s.run(`
		<+ RDMA_WRITE_FIRST psn=100 len=256 va=0x600080 dma=800 rkey=far ack
		<+ RDMA_WRITE_MIDDLE psn=101 len=256 ack
		verdict accepted
		< RDMA_WRITE_MIDDLE psn=102 len=256
		event QP_FATAL
		> ACKNOWLEDGE psn=100 syn=op msn=0
		counts sent_error_naks=1
		state ERR`)
	if !slices.Equal(m.calls, []string{"768 in 3"}) {
		t.Errorf("the calls were %q", m.calls)
	}
}

// A complete message can still be refused, with those behind it; those before it are executed.
func TestAMessageThatCannotBeStoredIsRefusedAfterItsEnd(t *testing.T) {
	s := newScript(t, nil)
	vectoredAt600000(t, s)
	s.run(`
		<+ RDMA_WRITE_ONLY psn=100 len=16 va=0x600000 dma=16 rkey=far
		<+ RDMA_WRITE_FIRST psn=101 len=256 va=0x600000 dma=513 rkey=far
		<+ RDMA_WRITE_MIDDLE psn=102 len=256
		<+ RDMA_WRITE_LAST psn=103 len=1 ack
		verdict accepted
		< RDMA_WRITE_ONLY psn=104 len=16 va=0x600000 dma=16 rkey=far
		event QP_FATAL
		> ACKNOWLEDGE psn=101 syn=op msn=1
		counts sent_error_naks=1
		state ERR`)
}

// When a request or a receive has completed, with any status, the program owns its memory.
func TestFailedMessageIsNotStored(t *testing.T) {
	for _, c := range []scenario{
		{"the queue pair fails", nil, `
			<+ RDMA_WRITE_FIRST psn=100 len=256 va=0x600000 dma=512 rkey=far
			modify ERR`},
		{"the message is broken off by another", nil, `
			<+ RDMA_WRITE_FIRST psn=100 len=256 va=0x600000 dma=512 rkey=far
			< SEND_ONLY psn=101 len=4 ack
			verdict invalid_request
			event QP_REQ_ERR
			> ACKNOWLEDGE psn=101 syn=inv msn=0
			counts sent_error_naks=1
			state ERR`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := newScript(t, c.adjust)
			m := vectoredAt600000(t, s)
			s.run(c.script)
			if len(m.calls) > 0 {
				t.Errorf("the calls were %q", m.calls)
			}
		})
	}
}

// The payload of kept early packets is stored before their memory is lent again.
func TestEarlyPayloadIsStoredBeforeReuse(t *testing.T) {
	s := newScript(t, nil)
	m := vectoredAt600000(t, s)
	m.limit = 1024
	s.run(`
		<+ RDMA_WRITE_FIRST psn=100 len=256 va=0x600000 dma=800 rkey=far
		<+ RDMA_WRITE_MIDDLE psn=102 len=256
		verdict out_of_sequence
		<+ RDMA_WRITE_MIDDLE psn=101 len=256
		verdict accepted`)
	if !slices.Equal(m.calls, []string{"768 in 3"}) {
		t.Errorf("the calls were %q", m.calls)
	}
	s.run(`
		< RDMA_WRITE_LAST psn=103 len=32 ack
		> ACKNOWLEDGE psn=103 syn=ack msn=1`)
}

// READ data that is held back and cannot be stored fails the queue pair before the next request
// of the peer is processed, not in the middle of it.
func TestWhatIsHeldBackOfOneHalfIsStoredBeforeAPacketForTheOther(t *testing.T) {
	s := newScript(t, nil)
	m := newVectored(make([]byte, 1024))
	m.limit = 0
	var err error
	if s.regions["sink"], err = s.keys.Register(s.qp.PD, m, 0x300000, m.Size(), mr.LocalWrite); err != nil {
		t.Fatal(err)
	}
	s.run(`
		recv id=2 len=10
		post read id=1 len=600 lkey=sink
		> RDMA_READ_REQUEST psn=100 va=0x40000 dma=600 ack
		<+ RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
		verdict accepted
		< SEND_ONLY psn=100 len=4 ack
		verdict wrong_state
		wc 1 LOC_PROT_ERR
		wc 2 WR_FLUSH_ERR
		state ERR`)
	if !slices.Equal(m.calls, []string{"256 in 1"}) {
		t.Errorf("the calls were %q", m.calls)
	}
}

// A UC drops a message that cannot be stored, as if one of its packets had been lost.
func TestUnreliableMessageThatCannotBeStoredLaterIsDropped(t *testing.T) {
	s := newScriptOf(t, qp.UC, nil)
	vectoredAt600000(t, s)
	s.run(`
		<+ UC_RDMA_WRITE_FIRST psn=100 len=256 va=0x600100 dma=600 rkey=far
		< UC_RDMA_WRITE_MIDDLE psn=101 len=256
		verdict accepted
		< UC_RDMA_WRITE_LAST psn=102 len=88
		verdict out_of_sequence
		< UC_RDMA_WRITE_ONLY psn=103 len=4 va=0x600000 dma=4 rkey=far
		verdict accepted
		state RTS`)
}

// holder is a queue pair whose payloads are held back. It records calls of storeFailed.
type holder struct {
	core
	failed []bth.PSN
}

func (h *holder) completions() qp.CompletionSink { return nil }

func (h *holder) storeFailed(psn bth.PSN, _ []heldMessage) { h.failed = append(h.failed, psn) }

// holding returns a StoreBatch, two adjacent regions of vectored memory, and two queue pairs.
func holding(t *testing.T) (g *StoreBatch, regions [2]*mr.Region, mem [2]*vectored, owners [2]*holder) {
	t.Helper()
	keys, pd := mr.NewTable([32]byte{1}, 4), &mr.PD{}
	for i := range regions {
		mem[i], owners[i] = newVectored(make([]byte, 1024)), new(holder)
		var err error
		if regions[i], err = keys.Register(pd, mem[i], 0x1000+uint64(i)*1024, 1024, mr.LocalWrite); err != nil {
			t.Fatal(err)
		}
	}
	return &StoreBatch{}, regions, mem, owners
}

// One call stores pieces of one queue pair and one region only.
func TestOneCallStoresPiecesOfOneRegionForOneQueuePair(t *testing.T) {
	type piece struct {
		owner, region int
		addr          uint64
	}
	for _, c := range []struct {
		name   string
		pieces [2]piece
		calls  []string
	}{
		{"one behind the other", [2]piece{{0, 0, 0x1000}, {0, 0, 0x1004}}, []string{"8 in 2"}},
		{"with a gap", [2]piece{{0, 0, 0x1000}, {0, 0, 0x1008}}, []string{"4 in 1 + 4 in 1"}},
		{"in two regions", [2]piece{{0, 0, 0x13fc}, {0, 1, 0x1400}}, []string{"4 in 1", "4 in 1"}},
		{"of two queue pairs", [2]piece{{0, 0, 0x1000}, {1, 0, 0x1004}}, []string{"4 in 1", "4 in 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, regions, mem, owners := holding(t)
			for _, p := range c.pieces {
				if err := g.put(owners[p.owner], 0, regions[p.region], p.addr, make([]byte, 4), false); err != nil {
					t.Fatal(err)
				}
			}
			g.Settle()
			if calls := slices.Concat(mem[0].calls, mem[1].calls); !slices.Equal(calls, c.calls) {
				t.Errorf("the calls were %q, want %q", calls, c.calls)
			}
		})
	}
}

// If storing to make room fails, the queue pair whose packets were accepted fails; the current
// packet fails too if it belongs to the same one.
func TestWhatCannotBeStoredToMakeRoomFailsItsOwnQueuePair(t *testing.T) {
	for next, want := range [2]struct {
		err    error
		failed []bth.PSN
	}{{errBeyond, []bth.PSN{7}}, {nil, []bth.PSN{7}}} {
		g, regions, mem, owners := holding(t)
		mem[0].limit = 0
		if err := g.put(owners[0], 7, regions[0], 0x1000, make([]byte, 4), false); err != nil {
			t.Fatal(err)
		}
		err := g.put(owners[next], 8, regions[1], 0x1400, make([]byte, 4), false)
		if !errors.Is(err, want.err) || !slices.Equal(owners[0].failed, want.failed) || owners[1].failed != nil {
			t.Errorf("the packet of queue pair %d: %v; queue pair 0 is told of %d, queue pair 1 of %d", next, err,
				owners[0].failed, owners[1].failed)
		}
	}
}

// orderly is memory that orders the end of a message itself. It records the calls.
type orderly struct {
	mr.AtomicMemory
	calls []string
}

func (m *orderly) Size() uint64 { return 1024 }

func (m *orderly) WriteAt(p []byte, _ uint64) error {
	m.calls = append(m.calls, fmt.Sprint(len(p)))
	return nil
}

func (m *orderly) WriteFinalAt(p []byte, _ uint64) error {
	m.calls = append(m.calls, fmt.Sprint("final ", len(p)))
	return nil
}

// Only for vectored memory is the end of a WRITE split in two.
func TestMemoryThatOrdersTheEndOfAMessageTakesAllOfItsLastPacket(t *testing.T) {
	var m orderly
	r, err := mr.NewTable([32]byte{1}, 4).Register(&mr.PD{}, &m, 0x1000, m.Size(), mr.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := new(StoreBatch).store(new(holder), 0, r, 0x1000, make([]byte, 100), true); err != nil {
		t.Fatal(err)
	}
	if want := []string{"final 100"}; !slices.Equal(m.calls, want) {
		t.Errorf("the calls were %q, want %q", m.calls, want)
	}
}

// What is held back of an incomplete UC message is never stored.
func TestIncompleteUCMessageIsNotStored(t *testing.T) {
	const first = "<+ UC_RDMA_WRITE_FIRST psn=100 len=256 va=0x600000 dma=600 rkey=far\n"
	for _, c := range []struct {
		rule, script string
		calls        []string
	}{
		{"a message that is complete", first + `
			<+ UC_RDMA_WRITE_MIDDLE psn=101 len=256
			< UC_RDMA_WRITE_LAST psn=102 len=88
			verdict accepted`, []string{"592 in 3 + 8 final"}},
		{"a packet is lost", first + `
			< UC_RDMA_WRITE_LAST psn=102 len=88
			verdict out_of_sequence`, nil},
		{"the next message begins too soon", first + `
			< UC_RDMA_WRITE_ONLY psn=101 len=4 va=0x600200 dma=4 rkey=far
			verdict accepted`, []string{"4 final"}},
		{"the rest is lost, and the next message begins", first + `
			< UC_RDMA_WRITE_ONLY psn=103 len=4 va=0x600200 dma=4 rkey=far
			verdict accepted`, []string{"4 final"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := newScriptOf(t, qp.UC, nil)
			m := vectoredAt600000(t, s)
			m.limit = m.Size()
			s.run(c.script)
			if !slices.Equal(m.calls, c.calls) {
				t.Errorf("the calls were %q, want %q", m.calls, c.calls)
			}
		})
	}
}
