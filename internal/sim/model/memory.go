package model

import (
	"bytes"
	"fmt"

	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// span is a change of memory: data written at addr.
type span struct {
	addr uint64
	data []byte
}

// memory is the memory of a node, and the reference that it must equal.
type memory struct {
	real, ref []byte
	watch     bool   // machines access real by calls, and log records each write
	log       []span // writes of this step; their data is not copied
}

// watched is memory that is not addressable, so every write is a call to WriteAt.
type watched struct {
	m    *memory
	from uint64
}

func (w watched) Size() uint64 { return scenario.MemSize - w.from }

func (w watched) ReadAt(p []byte, off uint64) error {
	copy(p, w.m.real[w.from+off:])
	return nil
}

func (w watched) WriteAt(p []byte, off uint64) error {
	copy(w.m.real[w.from+off:], p)
	w.m.log = append(w.m.log, span{w.from + off + scenario.MemBase, p})
	return nil
}

// mr returns the memory to register, from offset from to the end.
func (m *memory) mr(from uint64) mr.Memory {
	if m.watch {
		return watched{m, from}
	}
	return mr.Bytes(m.real[from:])
}

// at returns the n reference bytes at addr.
func (m *memory) at(addr, n uint64) []byte { return m.ref[addr-scenario.MemBase:][:n] }

// settle ends a step. It applies want to the reference and checks that memory changed by exactly
// that.
func (m *memory) settle(want []span) error {
	var expected, written uint64
	for _, s := range want {
		copy(m.at(s.addr, uint64(len(s.data))), s.data)
		expected += uint64(len(s.data))
	}
	for _, s := range want {
		n := uint64(len(s.data))
		if real := m.real[s.addr-scenario.MemBase:][:n]; !bytes.Equal(real, m.at(s.addr, n)) {
			return fmt.Errorf("memory at %#x, %d bytes, does not hold what the packet brought", s.addr, n)
		}
	}
	if !m.watch {
		return nil
	}
	for _, l := range m.log {
		n := uint64(len(l.data))
		written += n
		if !within(want, l.addr, n) {
			m.log = m.log[:0]
			return fmt.Errorf("%d bytes written at %#x, where nothing was to be written", n, l.addr)
		}
	}
	m.log = m.log[:0]
	if written != expected {
		return fmt.Errorf("%d bytes written, %d were to be", written, expected)
	}
	return nil
}

func within(spans []span, addr, n uint64) bool {
	for _, s := range spans {
		if addr >= s.addr && addr+n <= s.addr+uint64(len(s.data)) {
			return true
		}
	}
	return false
}

// same compares all of memory with the reference.
func (m *memory) same() error {
	if bytes.Equal(m.real, m.ref) {
		return nil
	}
	for i := range m.real {
		if m.real[i] != m.ref[i] {
			return fmt.Errorf("memory differs from the reference at %#x: %#02x, not %#02x", i+scenario.MemBase,
				m.real[i], m.ref[i])
		}
	}
	return nil
}

// scattered appends to dst the changes of memory when data, the part of a message from offset off
// on, is stored in sg. ok is false if data does not fit.
func scattered(dst []span, sg []qp.SGE, off uint64, data []byte) (out []span, ok bool) {
	for _, s := range sg {
		if len(data) == 0 {
			return dst, true
		}
		if off >= uint64(s.Length) {
			off -= uint64(s.Length)
			continue
		}
		n := min(uint64(s.Length)-off, uint64(len(data)))
		dst = append(dst, span{s.Addr + off, data[:n]})
		data, off = data[n:], 0
	}
	return dst, len(data) == 0
}

// gathered appends to dst the n bytes at offset off of the message that sg describes.
func (m *memory) gathered(dst []byte, sg []qp.SGE, off, n uint64) []byte {
	for _, s := range sg {
		if off >= uint64(s.Length) {
			off -= uint64(s.Length)
			continue
		}
		take := min(uint64(s.Length)-off, n)
		dst = append(dst, m.at(s.Addr+off, take)...)
		n, off = n-take, 0
		if n == 0 {
			break
		}
	}
	return dst
}
