package procmem

import "syscall"

// State is the state of an address space.
type State uint8

const (
	// Alive: the address space exists.
	Alive State = iota
	// Replaced: the process has executed another program.
	Replaced
	// Ended: the process has ended.
	Ended
	// Lost: the address space is gone; the reason is unknown without a pidfd.
	Lost
	// Unreachable: the AddressSpace and all its regions are closed, or /proc/PID/mem fails.
	Unreachable

	numStates
)

var states = [numStates]string{
	Alive: "alive", Replaced: "executed another program", Ended: "ended", Lost: "gone", Unreachable: "unreachable",
}

// String returns a description of the state.
func (s State) String() string {
	if s < numStates {
		return states[s]
	}
	return "invalid state"
}

// State queries the state from the kernel, with one or two system calls. An address space exists
// until the last process that shares it (CLONE_VM) ends or executes another program.
func (s *AddressSpace) State() State {
	if !s.acquire() {
		return Unreachable
	}
	defer s.release()
	gone, err := s.gone()
	switch {
	case err != nil:
		return Unreachable
	case !gone:
		return Alive
	case s.files.Pidfd == nil:
		return Lost
	case ended(s.files.Pidfd):
		return Ended
	}
	return Replaced
}

// gone reports whether the address space has ended: a read of /proc/PID/mem then returns 0 bytes,
// otherwise a byte or, at an unmapped address, EIO.
func (s *AddressSpace) gone() (bool, error) {
	b := make([]byte, 1)
	for {
		n, err := s.mem.read(b, 0)
		switch err {
		case syscall.EINTR:
		case nil:
			return n == 0, nil
		case syscall.EIO:
			return false, nil
		default:
			return false, err
		}
	}
}
