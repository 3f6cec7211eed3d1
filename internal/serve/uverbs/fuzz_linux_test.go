package uverbs

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
	"golang.org/x/sys/unix"
)

// Steps of a hostile program, by their first byte, and their parameters.
const (
	stepWrite    = iota // offset in memory in units of 16 bytes, length, bytes
	stepIoctl           // offset of the argument
	stepDoorbell        // length, bytes
	stepRing            // offset in the device file in units of 4 bytes, length, bytes
	stepTruncate        // length of the device file in pages
	stepPunch           // first page, pages
	stepClose           // index of an installed descriptor
	numSteps
)

// hostile is a program whose steps are those of an input.
type hostile struct {
	*program
	input     []byte
	installed []any
	open      []int // duplicates of the descriptors
}

func (h *hostile) byte() int {
	if len(h.input) == 0 {
		return 0
	}
	b := h.input[0]
	h.input = h.input[1:]
	return int(b)
}

func (h *hostile) word() int { return h.byte() | h.byte()<<8 }

func (h *hostile) bytes() []byte {
	b := h.input[:min(h.byte(), len(h.input))]
	h.input = h.input[len(b):]
	return b
}

func (h *hostile) address() uint64 { return base + 16*uint64(h.word()) }

// Install returns numbers that do not depend on other open descriptors.
func (h *hostile) Install(f *os.File, o any) (int, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	h.installed, h.open = append(h.installed, o), append(h.open, fd)
	return len(h.installed) - 1, nil
}

// Object returns one of the installed objects for any number.
func (h *hostile) Object(fd int32) any {
	if len(h.installed) == 0 {
		return nil
	}
	return h.installed[uint32(fd)%uint32(len(h.installed))]
}

func (h *hostile) step(t *testing.T) {
	switch h.byte() % numSteps {
	case stepWrite:
		addr := h.address()
		_ = h.Write(h.bytes(), addr) // it may not fit
	case stepIoctl:
		if err := h.ctx.Ioctl(h, h.address()); uapi.ErrnoOf(err) == uapi.EIO {
			t.Fatalf("an ioctl without an error number of its own: %v", err)
		}
	case stepDoorbell:
		_, _ = unix.Write(h.cmd, h.bytes())
	case stepRing:
		at := 4 * int64(h.word())
		_, _ = unix.Pwrite(h.cmd, h.bytes(), at)
	case stepTruncate:
		_ = unix.Ftruncate(h.cmd, 4096*int64(h.byte()))
	case stepPunch:
		const hole = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
		first := int64(h.byte())
		_ = unix.Fallocate(h.cmd, hole, 4096*first, 4096*int64(1+h.byte()))
	case stepClose:
		if i := h.byte(); i < len(h.open) && h.open[i] >= 0 {
			unix.Close(h.open[i])
			h.open[i] = -1
		}
	}
}

// FuzzHostileProgram runs a program that makes arbitrary ioctls, writes arbitrary data to its
// rings and to the device file, and truncates it. The server must answer with an error number,
// and nothing of the program may remain when it has ended.
func FuzzHostileProgram(f *testing.F) {
	for _, seed := range hostileSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		d := devices(t)[0]
		s := serverOn(t, d)
		h := &hostile{program: start(t, s), input: input}
		for steps := 0; len(h.input) > 0 && steps < 1000; steps++ {
			h.step(t)
		}
		for _, fd := range h.open {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
		h.exit()
		_ = h.ctx.File().Drop() // as at the end of the process
		<-h.ctx.done
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		left(t, d)
	})
}

// left fails if a device still has objects of programs.
func left(t *testing.T, d *verbs.Device) {
	t.Helper()
	for range d.QPs() {
		t.Error("a queue pair is left")
	}
	for range d.MRs() {
		t.Error("a key is left")
	}
	for range d.CQs() {
		t.Error("a completion queue is left")
	}
	for range d.SRQs() {
		t.Error("a shared receive queue is left")
	}
}

// hostileSeeds returns the steps of valid programs, alone and followed by invalid steps.
func hostileSeeds(f *testing.F) (seeds [][]byte) {
	d := devices(f)
	for _, typ := range []uapi.QPType{uapi.QPTypeRC, uapi.QPTypeUD} {
		e, peer := newEnd(f, serverOn(f, d[0]), typ), newEnd(f, serverOn(f, d[1]), typ)
		if typ == uapi.QPTypeRC {
			e.connect(peer)
		}
		good := e.recorded()
		post := step(stepDoorbell, doorbell(e.qp))
		send := place(stepRing, 4096+384, sendWQE(1, e.addr, 64, e.mr.LKey))
		wrong := place(stepRing, 4096+128, []byte{0xff, 0xff, 0xff, 0xff})
		index := place(stepRing, 4096+128, []byte{1, 0, 0, 0})
		seeds = append(seeds, good,
			bytes.Join([][]byte{good, send, index, post, post}, nil),
			bytes.Join([][]byte{good, wrong, post, {stepClose, 0}, post}, nil),
			bytes.Join([][]byte{good, {stepTruncate, 1}, post, {stepTruncate, 0}, post,
				{stepPunch, 0, 255}, post}, nil),
			bytes.Join([][]byte{good, good}, nil),
			bytes.Join([][]byte{good, step(stepDoorbell, []byte("anything else"))}, nil))
		e.exit()
		<-e.ctx.done
		peer.exit()
		<-peer.ctx.done
	}
	return seeds
}

func step(kind byte, b []byte) []byte { return append([]byte{kind, byte(len(b))}, b...) }

// place returns a step whose offset is in units of 4 bytes.
func place(kind byte, at int, b []byte) []byte {
	at /= 4
	return append([]byte{kind, byte(at), byte(at >> 8), byte(len(b))}, b...)
}

// recorded returns the calls of the program, and the other contents of its memory, as steps. Its
// completion channel is the second installed descriptor.
func (e *end) recorded() (out []byte) {
	write := func(at uint64, b []byte) {
		for len(b) > 0 {
			n := min(len(b), 240)
			if at-base < 16<<16 && bytes.Count(b[:n], []byte{0}) < n {
				out = binary.LittleEndian.AppendUint16(append(out, stepWrite), uint16((at-base)/16))
				out = append(append(out, byte(n)), b[:n]...)
			}
			at, b = at+uint64(n), b[n:]
		}
	}
	write(base, e.space.bytes[:e.next-base])
	for _, c := range e.calls {
		call, err := uapi.ParseCall(c.bytes)
		if err != nil {
			e.Fatal(err)
		}
		for i := range call.Attrs {
			a := &call.Attrs[i]
			if call.Method == uapi.MethodCQCreate && uapi.AttrID(a.AttrID) == uapi.AttrCreateCQCompChannel&0xffff {
				a.Data = 1
			}
		}
		write(c.addr, call.Bytes())
		out = binary.LittleEndian.AppendUint16(append(out, stepIoctl), uint16((c.addr-base)/16))
	}
	return out
}
