package procmem

import (
	"errors"
	"testing"
)

func TestAccessesOfAnAddressSpaceThatAreNotWholeFail(t *testing.T) {
	p := start(t)
	s := p.space()
	addr := p.mapped(2*page, protWrite)
	p.unmap(addr+page, page)
	if err := s.Write([]byte("text"), addr+page-4); err != nil || p.peek(addr+page-4, 4) != "text" {
		t.Errorf("write: %v, %q", err, p.peek(addr+page-4, 4))
	}
	b := make([]byte, 4)
	if err := s.Read(b, addr+page-4); err != nil || string(b) != "text" {
		t.Errorf("read: %v, %q", err, b)
	}
	access := func(addr uint64, want Kind) {
		t.Helper()
		for name, err := range map[string]error{"read": s.Read(b, addr), "write": s.Write(b, addr)} {
			if !errors.Is(err, want) {
				t.Errorf("%s at %#x: %v, want %v", name, addr, err, want)
			}
		}
	}
	access(addr+page-3, Inaccessible)
	access(0, Inaccessible)
	access(maxAddress-3, BadRange)
	access(maxAddress, BadRange)
	access(1<<64-2, BadRange)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	access(addr, Closed)
}
