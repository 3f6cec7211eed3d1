package uverbs

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
	"golang.org/x/sys/unix"
)

// space is a program's memory: bytes at addresses from base on. Memory up to readOnly cannot be
// written.
type space struct {
	mu       sync.Mutex
	bytes    []byte // guarded by mu
	next     uint64
	readOnly uint64
	closed   int // calls of Close; guarded by mu

	program, user any
}

func (s *space) Account() (program, user any) { return s.program, s.user }

func (s *space) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return nil
}

const base = 0x7f0000000000

var errFault = errors.New("not mapped")

func (s *space) at(addr, n uint64) ([]byte, error) {
	if addr < base || addr-base > uint64(len(s.bytes)) || n > uint64(len(s.bytes))-(addr-base) {
		return nil, errFault
	}
	return s.bytes[addr-base:][:n], nil
}

func (s *space) Read(p []byte, addr uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.at(addr, uint64(len(p)))
	copy(p, b)
	return err
}

func (s *space) Write(p []byte, addr uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.at(addr, uint64(len(p)))
	copy(b, p)
	return err
}

func (s *space) Register(addr, length uint64, access mr.Access) (mr.Memory, error) {
	if _, err := s.at(addr, length); err != nil || access&mr.LocalWrite != 0 && addr < base+s.readOnly {
		return nil, errFault
	}
	return &part{s, addr, length}, nil
}

// part is registered memory.
type part struct {
	space        *space
	addr, length uint64
}

func (m *part) Size() uint64                       { return m.length }
func (m *part) ReadAt(p []byte, off uint64) error  { return m.space.Read(p, m.addr+off) }
func (m *part) WriteAt(p []byte, off uint64) error { return m.space.Write(p, m.addr+off) }

// put stores b in new memory and returns its address.
func (s *space) put(b []byte) uint64 {
	addr := s.next
	s.next += (uint64(len(b)) + 15) &^ 15
	if s.next-base > uint64(len(s.bytes)) {
		panic("the program's memory is full")
	}
	_ = s.Write(b, addr) // it fits
	return addr
}

// program is a program that makes calls as libibverbs does, with its memory and descriptors in
// this process.
type program struct {
	testing.TB
	*space
	ctx     *Context
	cmd     int // descriptor of the device file
	objects map[int32]any
	maps    [][]byte // each also keeps the device file open
	calls   []ioctl
}

// ioctl is the argument of a call.
type ioctl struct {
	addr  uint64
	bytes []byte
}

func (p *program) Install(f *os.File, o any) (int, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		p.objects[int32(fd)] = o
	}
	return fd, err
}

func (p *program) Object(fd int32) any { return p.objects[fd] }

// devices opens two devices on a network in memory.
func devices(t testing.TB) (out [2]*verbs.Device) {
	t.Helper()
	n := pipe.NewNet()
	for i, a := range []string{"192.0.2.1", "192.0.2.2"} {
		l, err := n.Open(netip.MustParseAddr(a), 9000)
		if err != nil {
			t.Fatal(err)
		}
		if out[i], err = verbs.Open(verbs.Config{Links: []packet.Link{l}}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { out[i].Close() })
	}
	return out
}

func serverOn(t testing.TB, d *verbs.Device) *Server {
	t.Helper()
	s, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start opens the device for a new program.
func start(t testing.TB, s *Server) *program {
	t.Helper()
	return startFor(t, s, nil)
}

// startFor is start for a program of a user.
func startFor(t testing.TB, s *Server, user any) *program {
	t.Helper()
	p := &program{TB: t, space: &space{bytes: make([]byte, 1<<22), next: base, user: user}, objects: map[int32]any{}}
	var err error
	if p.ctx, err = s.Open(p.space); err != nil {
		t.Fatal(err)
	}
	err = p.ctx.File().Program(func(fd int) (err error) {
		p.cmd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.exit() })
	return p
}

// exit closes everything that the program has open, as the end of its process does.
func (p *program) exit() {
	if p.cmd < 0 {
		return
	}
	for fd := range p.objects {
		unix.Close(int(fd))
	}
	for _, b := range p.maps {
		unix.Munmap(b)
	}
	unix.Close(p.cmd)
	p.cmd = -1
}

// closeFD closes an installed descriptor.
func (p *program) closeFD(fd int) {
	delete(p.objects, int32(fd))
	unix.Close(fd)
}

// attr is an attribute of a call: an input, or space for an output.
type attr struct {
	id   uapi.AttrID
	in   any // a number is passed in the attribute itself, a structure at an address
	room int
}

// out returns space for an output.
func out(id uapi.AttrID, room int) attr { return attr{id: id, room: room} }

// fresh returns the attribute for a new handle or descriptor.
func fresh(id uapi.AttrID) attr { return attr{id: id, room: -1} }

// try makes a call and returns its outputs, by attribute.
func (p *program) try(m uapi.Method, attrs ...attr) (map[uapi.AttrID][]byte, error) {
	c := &uapi.Call{Method: m, DriverID: uapi.DriverRXE}
	for _, a := range attrs {
		x := uapi.Attr{AttrID: uint16(a.id), Flags: uapi.AttrMandatory}
		switch v := a.in.(type) {
		case nil:
			if a.room >= 0 {
				x.Len, x.Data = uint16(a.room), p.put(make([]byte, a.room))
			}
		case handle:
			x.Data = uint64(v)
		case uint64:
			x.Len, x.Data = 8, v
		case uint32:
			x.Len, x.Data = 4, uint64(v)
		default:
			b := uapi.Encode(v)
			x.Len, x.Data = uint16(len(b)), p.put(b)
			if len(b) <= 8 {
				x.Data = binary.LittleEndian.Uint64(append(b[:len(b):len(b)], make([]byte, 8)...))
			}
		}
		c.Attrs = append(c.Attrs, x)
	}
	b := c.Bytes()
	addr := p.put(b)
	p.calls = append(p.calls, ioctl{addr, slices.Clone(b)})
	if err := p.ctx.Ioctl(p, addr); err != nil {
		return nil, err
	}
	if err := p.Read(b, addr); err != nil {
		p.Fatal(err)
	}
	done, err := uapi.ParseCall(b)
	if err != nil {
		p.Fatal(err)
	}
	result := map[uapi.AttrID][]byte{}
	for i, a := range attrs {
		x := done.Attrs[i]
		switch {
		case a.room < 0:
			result[a.id] = binary.LittleEndian.AppendUint64(nil, x.Data)
		case a.in == nil && x.Flags&uapi.AttrValidOutput != 0:
			result[a.id] = make([]byte, x.Len)
			if err := p.Read(result[a.id], x.Data); err != nil {
				p.Fatal(err)
			}
		}
	}
	return result, nil
}

// handle is a handle that is passed in an attribute.
type handle uint32

func (p *program) call(m uapi.Method, attrs ...attr) map[uapi.AttrID][]byte {
	p.Helper()
	r, err := p.try(m, attrs...)
	if err != nil {
		p.Fatalf("%v: %v", m, err)
	}
	return r
}

// tryCommand makes a legacy command.
func (p *program) tryCommand(cmd uapi.Command, req any, room int, more ...attr) ([]byte,
	map[uapi.AttrID][]byte, error) {
	attrs := append([]attr{{id: uapi.AttrWriteCmd, in: uint64(cmd)}, {id: uapi.AttrCoreIn, in: req}}, more...)
	if room > 0 {
		attrs = append(attrs, out(uapi.AttrCoreOut, room))
	}
	r, err := p.try(uapi.MethodInvokeWrite, attrs...)
	return r[uapi.AttrCoreOut], r, err
}

func run[T any](p *program, cmd uapi.Command, req any, more ...attr) T {
	p.Helper()
	var v T
	b, _, err := p.tryCommand(cmd, req, uapi.SizeOf(v), more...)
	if err != nil {
		p.Fatalf("%v: %v", cmd, err)
	}
	return decode[T](p, b)
}

func decode[T any](p *program, b []byte) T {
	p.Helper()
	v, err := uapi.DecodeAs[T](b)
	if err != nil {
		p.Fatal(err)
	}
	return v
}

// u32 returns the number in the first 4 bytes of b, 0 if there is none.
func u32(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// queue is a ring that the program has mapped.
type queue struct {
	b     []byte
	elem  int
	mask  uint32
	index uint32 // its own
}

func (p *program) mapQueue(m uapi.MMInfo) *queue {
	p.Helper()
	b, err := unix.Mmap(p.cmd, int64(m.Offset), int(m.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		p.Fatal(err)
	}
	p.maps = append(p.maps, b)
	return &queue{b: b, elem: 1 << u32(b[0:4]), mask: u32(b[4:8])}
}

func (q *queue) word(off int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&q.b[off]))
}

// post stores an element of a queue that the program fills.
func (q *queue) post(e []byte) {
	copy(q.b[384+int(q.index)*q.elem:][:q.elem], append(e, make([]byte, q.elem-len(e))...))
	q.index = (q.index + 1) & q.mask
	q.word(128).Store(q.index)
}

// until polls for an action of the server on shared memory that no event reports.
func (p *program) until(what string, is func() bool) {
	p.Helper()
	for late := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Microsecond) {
		if time.Now().After(late) {
			p.Fatalf("a minute has passed before %s", what)
		}
	}
}

// poll waits for a completion and takes it.
func (p *program) poll(q *queue) uapi.WC {
	p.Helper()
	p.until("there is a completion", func() bool { return q.word(128).Load() != q.index })
	wc := decode[uapi.WC](p, q.b[384+int(q.index)*q.elem:][:48])
	q.index = (q.index + 1) & q.mask
	q.word(256).Store(q.index)
	return wc
}

// ring writes the doorbell of a queue pair, or any other data.
func (p *program) ring(doorbell []byte) {
	p.Helper()
	if _, err := unix.Write(p.cmd, doorbell); err != nil {
		p.Fatal(err)
	}
}

// doorbell returns what librxe writes.
func doorbell(qp uint32) []byte {
	return append(uapi.Encode(uapi.CmdHdr{Command: uint32(uapi.CmdPostSend), InWords: 8, OutWords: 1}),
		uapi.Encode(uapi.PostSend{QPHandle: qp, WQESize: 144})...)
}

// sendWQE returns a SEND of one piece of memory.
func sendWQE(id uint64, addr uint64, length, lkey uint32) []byte {
	b := make([]byte, 208+16)
	le := binary.LittleEndian
	le.PutUint64(b, id)
	le.PutUint32(b[12:], uint32(uapi.WRSend))
	le.PutUint32(b[16:], uint32(uapi.SendSignaled))
	le.PutUint32(b[184:], length)
	le.PutUint32(b[196:], 1)
	le.PutUint64(b[208:], addr)
	le.PutUint32(b[216:], length)
	le.PutUint32(b[220:], lkey)
	return b
}

func recvWQE(id uint64, addr uint64, length, lkey uint32) []byte {
	b := make([]byte, 40+16)
	le := binary.LittleEndian
	le.PutUint64(b, id)
	le.PutUint32(b[16:], length)
	le.PutUint32(b[28:], 1)
	le.PutUint64(b[40:], addr)
	le.PutUint32(b[48:], length)
	le.PutUint32(b[52:], lkey)
	return b
}
