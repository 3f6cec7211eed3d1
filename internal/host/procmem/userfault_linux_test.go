package procmem

import (
	"errors"
	"testing"
)

// Any user can create such a userfaultfd: see "Faults" in the package comment.
func TestPagesOfAUserfaultfdForFaultsInUserModeAreInaccessible(t *testing.T) {
	for name, open := range map[string]func(testing.TB, uint64) (*program, *AddressSpace, *Region){
		"by /proc/PID/mem": memoryOf, "by direct copies": directMemory,
	} {
		t.Run(name, func(t *testing.T) {
			p, _, r := open(t, 4*page)
			p.must("userfault %d %d %d", r.Addr()+page, 3*page, userModeOnly)
			b := make([]byte, 2*page)
			for name, err := range map[string]error{"read": r.ReadAt(b, page), "write": r.WriteAt(b, page)} {
				var e *Error
				if !errors.As(err, &e) || e.Kind != Inaccessible {
					t.Errorf("%s: %v", name, err)
				}
			}
			if err := r.ReadAt(b[:page], 0); err != nil {
				t.Errorf("another page: %v", err)
			}
		})
	}
}

// Such a userfaultfd handles faults of process_vm_readv, but not those of /proc/PID/mem.
func TestPagesOfAUserfaultfdAreInaccessibleByProcMem(t *testing.T) {
	p, _, r := memoryOf(t, 4*page)
	if got := p.do("userfault %d %d 0", r.Addr()+page, 3*page); got != "ok" {
		t.Skipf("a userfaultfd for faults of the kernel: %s; root or vm.unprivileged_userfaultfd=1 is required", got)
	}
	b := make([]byte, 2*page)
	for name, err := range map[string]error{"read": r.ReadAt(b, page), "write": r.WriteAt(b, page)} {
		var e *Error
		if !errors.As(err, &e) || e.Kind != Inaccessible {
			t.Errorf("%s: %v", name, err)
		}
	}
}
