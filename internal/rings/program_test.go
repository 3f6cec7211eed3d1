package rings_test

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"

	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/qp"
)

const page = 4096

var (
	host = binary.NativeEndian
	big  = binary.BigEndian
)

// tb is the part of a test, a benchmark or a rapid check that helpers need.
type tb interface {
	Helper()
	Fatal(...any)
}

// newBuffer returns an aligned buffer of n bytes.
func newBuffer(n int) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// shape is NewGeometry for arguments known to be valid.
func shape(t tb, depth, elemSize int) rings.Geometry {
	t.Helper()
	g, err := rings.NewGeometry(depth, elemSize, page)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// program is the librxe side of a ring: it knows only the buffer, and uses the geometry in its
// header. Offsets are numbers here, because they are under test.
type program struct{ buf []byte }

func (p program) mask() uint32         { return host.Uint32(p.buf[4:]) }
func (p program) elem(i uint32) []byte { return p.buf[384+int(i)<<host.Uint32(p.buf[0:]):] }
func (p program) index(at int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&p.buf[at]))
}
func (p program) producer() uint32 { return p.index(128).Load() }
func (p program) consumer() uint32 { return p.index(256).Load() }

// post stores an element, which fill writes, unless the ring is full.
func (p program) post(fill func(e []byte)) bool {
	at := p.producer()
	next := (at + 1) & p.mask()
	if next == p.consumer() {
		return false
	}
	e := p.elem(at)[:1<<host.Uint32(p.buf[0:])]
	clear(e)
	fill(e)
	p.index(128).Store(next)
	return true
}

// poll polls a completion.
func (p program) poll() (wc []byte, ok bool) {
	at := p.consumer()
	if at == p.producer() {
		return nil, false
	}
	wc = append(wc, p.elem(at)[:48]...)
	p.index(256).Store((at + 1) & p.mask())
	return wc, true
}

// sge writes the SGEs of a request, with their number and length, to the struct rxe_dma_info at
// dma.
func sge(dma []byte, pieces ...qp.SGE) {
	var length uint32
	for i, s := range pieces {
		b := dma[24+16*i:]
		host.PutUint64(b, s.Addr)
		host.PutUint32(b[8:], s.Length)
		host.PutUint32(b[12:], s.LKey)
		length += s.Length
	}
	host.PutUint32(dma, length)
	host.PutUint32(dma[4:], length)
	host.PutUint32(dma[12:], uint32(len(pieces)))
}

// sendHead writes the fields that all send requests have.
func sendHead(e []byte, id uint64, opcode, flags uint32) {
	host.PutUint64(e, id)
	host.PutUint32(e[12:], opcode)
	host.PutUint32(e[16:], flags)
}

// send writes a SEND of these SGEs.
func send(id uint64, pieces ...qp.SGE) func([]byte) {
	return func(e []byte) {
		sendHead(e, id, 2, 0)
		sge(e[184:], pieces...)
	}
}

// recv writes a receive of these SGEs.
func recv(id uint64, pieces ...qp.SGE) func([]byte) {
	return func(e []byte) {
		host.PutUint64(e, id)
		sge(e[16:], pieces...)
	}
}

func newSendRing(t tb, depth int, cfg rings.SendConfig) (*rings.SendRing, program) {
	t.Helper()
	g := shape(t, depth, rings.SendElemSize(cfg.MaxSGE, cfg.MaxInline))
	p := program{newBuffer(g.Size())}
	r, err := rings.NewSendRing(g, p.buf, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r, p
}

func newRecvRing(t tb, depth int, cfg rings.RecvConfig) (*rings.RecvRing, program) {
	t.Helper()
	g := shape(t, depth, rings.RecvElemSize(cfg.MaxSGE))
	p := program{newBuffer(g.Size())}
	r, err := rings.NewRecvRing(g, p.buf, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r, p
}

func newCompletionRing(t tb, depth int, next rings.NewBuffer) (*rings.CompletionRing, program) {
	t.Helper()
	g := shape(t, depth, rings.CompletionElemSize)
	p := program{newBuffer(g.Size())}
	r, err := rings.NewCompletionRing(g, p.buf, next)
	if err != nil {
		t.Fatal(err)
	}
	return r, p
}

// buffers provides the buffers of resized rings to the program p, which maps each.
func buffers(p *program) rings.NewBuffer {
	return func(g rings.Geometry) ([]byte, error) {
		p.buf = newBuffer(g.Size())
		return p.buf, nil
	}
}
