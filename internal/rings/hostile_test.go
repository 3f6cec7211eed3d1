package rings_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/qp"
)

const (
	hostileSGE    = 3
	hostileInline = 64
	canary        = 0xc5
)

// hostileBuffer returns a buffer for g between two canaries. check fails if a canary has
// changed.
func hostileBuffer(t *testing.T, g rings.Geometry) (buf []byte, check func()) {
	const margin = 512
	around := bytes.Repeat([]byte{canary}, margin)
	all := newBuffer(g.Size() + 2*margin)
	for i := range all {
		all[i] = canary
	}
	buf = all[margin : margin+g.Size()]
	clear(buf)
	return buf, func() {
		for _, side := range [][]byte{all[:margin], all[margin+g.Size():]} {
			if !bytes.Equal(side, around) {
				t.Fatal("bytes outside the buffer have changed")
			}
		}
	}
}

// match is three rings and a program that follows its script.
type match struct {
	t      *testing.T
	script []byte

	sends       *rings.SendRing
	recvs       *rings.RecvRing
	completions *rings.CompletionRing
	bufs        [3][]byte
	checks      [3]func() // of the memory around bufs

	wr   qp.SendWR
	wqe  qp.RecvWQE
	held int // number of fetched requests that were not retired

	depths [3]int // of the rings, as created or resized
}

// Indexes of match.bufs.
const (
	ofSends = iota
	ofRecvs
	ofCompletions
)

func newMatch(t *testing.T, script []byte) *match {
	m := &match{t: t, script: script}
	depth := 1 << (m.byte() % 4)
	provide := func(which int) rings.NewBuffer {
		return func(g rings.Geometry) ([]byte, error) {
			buf, check := hostileBuffer(t, g)
			m.bufs[which], m.checks[which], m.depths[which] = buf, check, g.Depth()
			return buf, nil
		}
	}
	make := func(which, elem int) (rings.Geometry, []byte) {
		g := shape(t, depth, elem)
		buf, _ := provide(which)(g)
		return g, buf
	}
	datagram := m.byte()&1 != 0
	g, buf := make(ofSends, rings.SendElemSize(hostileSGE, hostileInline))
	var err error
	m.sends, err = rings.NewSendRing(g, buf, rings.SendConfig{MaxSGE: hostileSGE, MaxInline: hostileInline,
		Datagram: datagram, AH: func(num uint32) (qp.AH, bool) {
			m.scribble() // while the request is being decoded
			return handle{num}, num&1 != 0
		}})
	m.must(err)
	g, buf = make(ofRecvs, rings.RecvElemSize(hostileSGE))
	m.recvs, err = rings.NewRecvRing(g, buf,
		rings.RecvConfig{MaxSGE: hostileSGE, Shared: true, NewBuffer: provide(ofRecvs)})
	m.must(err)
	g, buf = make(ofCompletions, rings.CompletionElemSize)
	m.completions, err = rings.NewCompletionRing(g, buf, provide(ofCompletions))
	m.must(err)
	return m
}

func (m *match) must(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *match) byte() byte {
	if len(m.script) == 0 {
		return 0
	}
	b := m.script[0]
	m.script = m.script[1:]
	return b
}

// values are stored in fields to confuse a reader.
var values = []uint32{0, 1, 2, 3, 4, 5, 7, 8, 9, 14, 15, 63, 64, 65, 1 << 31, 1<<31 - 1, 1<<32 - 1}

func (m *match) value() uint32 {
	if b := m.byte(); int(b) < len(values) {
		return values[b]
	} else {
		return uint32(b) * 0x01010101
	}
}

// scribble stores a value somewhere in a buffer.
func (m *match) scribble() {
	which := m.byte()
	buf := m.bufs[which%3]
	var at int
	switch which / 3 % 4 {
	case 0: // a field of the header
		at = []int{0, 4, 128, 256}[m.byte()%4]
	case 1: // a field of a slot, by its offset in the slot
		elem := []int{256, 128, 64}[which%3]
		at = 384 + int(m.byte()%16)*elem + int(m.byte())%elem
	default:
		at = (int(m.byte())<<8 | int(m.byte())) % len(buf)
	}
	if at = at &^ 3; at < len(buf) {
		host.PutUint32(buf[at:], m.value())
	}
}

func (m *match) producerOf(which int) uint32 { return host.Uint32(m.bufs[which][128:]) }
func (m *match) consumerOf(which int) uint32 { return host.Uint32(m.bufs[which][256:]) }

func (m *match) step() {
	switch m.byte() % 12 {
	case 0, 1, 2:
		m.scribble()
	case 3, 4:
		m.fetch()
	case 5:
		n := int(m.byte() % 20)
		m.sends.Retire(n)
		m.held -= min(n, m.held)
		if c := m.consumerOf(ofSends); int(c) >= m.sends.Depth()+1 {
			m.t.Fatalf("consumer index %d of %d slots", c, m.sends.Depth()+1)
		}
	case 6:
		m.take()
	case 7:
		m.push()
	case 8:
		n := max(1, int(m.byte()%64))
		if was := m.completions.Len(); (m.completions.Resize(n) == nil) != (n >= was) {
			m.t.Fatalf("resize to %d with %d completions", n, was)
		} else if n >= was && (m.completions.Len() != was || m.completions.Depth() < n) {
			m.t.Fatalf("resize to %d: %d of %d, was %d", n, m.completions.Len(), m.completions.Depth(), was)
		}
	case 9:
		a := qp.SRQAttr{MaxWR: max(1, int(m.byte()%64)), Limit: int(m.byte() % 64)}
		was := m.recvs.Len()
		err := m.recvs.Modify(a, qp.SRQAttrMask(m.byte()%4))
		if err == nil && m.recvs.Len() != was {
			m.t.Fatalf("modify: %d receives, were %d", m.recvs.Len(), was)
		}
	case 10:
		m.sends.Reset()
		m.recvs.Reset()
		if m.held = 0; m.sends.Len() != 0 || m.recvs.Len() != 0 {
			m.t.Fatal("a reset leaves something")
		}
	case 11:
		m.completions.Arm(m.byte()&1 != 0)
	}
	m.check()
}

func (m *match) fetch() {
	waiting := m.sends.Len()
	status := m.sends.Fetch(&m.wr)
	switch {
	case status == qp.FetchNone:
		if waiting > 0 {
			m.t.Fatalf("nothing is fetched of %d", waiting)
		}
		return
	case len(m.wr.SGList) > hostileSGE || len(m.wr.InlineData) > hostileInline ||
		cap(m.wr.InlineData) > 4*hostileInline:
		m.t.Fatalf("%d pieces, %d bytes inline", len(m.wr.SGList), len(m.wr.InlineData))
	case status == qp.FetchGot && (!m.wr.Opcode.Valid() || m.wr.Opcode == qp.WRRegMR):
		m.t.Fatalf("opcode %d", m.wr.Opcode)
	case status == qp.FetchGot && (m.wr.Opcode == qp.WRBindMW) != (m.wr.Bind != nil):
		m.t.Fatalf("%v with %+v", m.wr.Opcode, m.wr.Bind)
	}
	m.held++
	m.aliasesNothing()
}

// aliasesNothing fails if fetched or taken data changes with the buffers.
func (m *match) aliasesNothing() {
	inline, list, sg := bytes.Clone(m.wr.InlineData), slices.Clone(m.wr.SGList), slices.Clone(m.wqe.SG)
	m.scribble()
	if !bytes.Equal(inline, m.wr.InlineData) || !slices.Equal(list, m.wr.SGList) || !slices.Equal(sg, m.wqe.SG) {
		m.t.Fatal("what was copied changes with the buffer")
	}
}

func (m *match) take() {
	if !m.recvs.Take(&m.wqe) {
		return
	}
	var n uint64
	for _, s := range m.wqe.SG {
		n += uint64(s.Length)
	}
	if len(m.wqe.SG) > hostileSGE || n != m.wqe.Length || n > qp.MaxMessage {
		m.t.Fatalf("%+v", m.wqe)
	}
	if c := m.consumerOf(ofRecvs); int(c) > m.recvs.Depth() {
		m.t.Fatalf("consumer index %d of a ring for %d", c, m.recvs.Depth())
	}
	m.aliasesNothing()
}

func (m *match) push() {
	over := m.completions.Overflowed()
	before := m.producerOf(ofCompletions)
	m.completions.Push(&qp.WC{WRID: uint64(m.byte()), Flags: qp.WithImm})
	switch p := m.producerOf(ofCompletions); {
	case over && p != before:
		m.t.Fatal("a ring that overflowed takes a completion")
	case !m.completions.Overflowed() && int(p) > m.completions.Depth():
		m.t.Fatalf("producer index %d of a ring for %d", p, m.completions.Depth())
	}
}

// check fails unless the rings are within their limits.
func (m *match) check() {
	for _, check := range m.checks {
		check()
	}
	n, depth := m.sends.Len()+m.held, m.sends.Depth()
	if n > depth || m.held > depth || m.recvs.Len() > m.recvs.Depth() || m.completions.Len() > m.completions.Depth() {
		m.t.Fatalf("%d sends of %d (%d fetched), %d receives of %d, %d completions of %d",
			n, depth, m.held, m.recvs.Len(), m.recvs.Depth(), m.completions.Len(), m.completions.Depth())
	}
	if got := [3]int{depth, m.recvs.Depth(), m.completions.Depth()}; got != m.depths {
		m.t.Fatalf("the depths are %d, they were %d", got, m.depths)
	}
	if m.sends.Lost() || m.recvs.Lost() || m.completions.Lost() {
		m.t.Fatal("a ring is lost")
	}
}

// FuzzHostileProgram lets a program write anything anywhere in three rings, between the steps
// of the device and, in the look-up of an address handle, during one. The bytes of the script
// select the steps and what they write.
func FuzzHostileProgram(f *testing.F) {
	const producer, consumer = 2, 3
	header := func(which, field, value byte) []byte { return []byte{0, which, field, value} }
	field := func(which, slot, at, value byte) []byte { return []byte{1, which + 3, slot, at, value} }
	fetch, take, push := []byte{3, 2, 1, 16}, []byte{6, 2, 1, 16}, []byte{7, 9}
	for _, seed := range [][]byte{
		// Indexes beyond the ring, and among the fetched slots.
		slices.Concat([]byte{3, 0}, header(ofSends, producer, 16), fetch, fetch, header(ofSends, producer, 1), fetch,
			[]byte{5, 1}, fetch),
		// A geometry that changes.
		slices.Concat([]byte{2, 0}, header(ofSends, 0, 16), header(ofSends, 1, 16), header(ofSends, producer, 3), fetch,
			fetch, fetch),
		// Unlimited SGEs, inline data and opcode; a datagram whose slot changes during
		// decoding.
		slices.Concat([]byte{2, 0}, field(ofSends, 0, 12, 2), field(ofSends, 0, 196, 16), field(ofSends, 1, 16, 7),
			field(ofSends, 1, 184, 16),
			header(ofSends, producer, 3), fetch, fetch, fetch),
		slices.Concat([]byte{2, 1}, field(ofSends, 0, 12, 2), field(ofSends, 0, 36, 1), field(ofSends, 0, 196, 3),
			header(ofSends, producer, 1),
			[]byte{3}, []byte{3, 0, 196, 16}, []byte{10}),
		// Receives of many SGEs; a resize with a false index.
		slices.Concat([]byte{3, 0}, field(ofRecvs, 0, 28, 16), header(ofRecvs, producer, 16), take, take,
			[]byte{9, 20, 3, 3}, take, take),
		// Completions to a program with a false consumer index.
		slices.Concat([]byte{1, 0}, push, push, header(ofCompletions, consumer, 16), push, push, []byte{8, 9}, push,
			header(ofCompletions, producer, 3), push, push),
		slices.Concat([]byte{1, 0}, push, push, []byte{11, 1}, header(ofCompletions, consumer, 1), push,
			header(ofCompletions, consumer, 3), []byte{8, 40}, push),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		m := newMatch(t, script[:min(len(script), 1024)])
		for len(m.script) > 0 {
			m.step()
		}
	})
}
