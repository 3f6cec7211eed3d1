package procmem

import "syscall"

// State says what has become of an address space.
type State uint8

const (
	// Alive: the address space exists.
	Alive State = iota
	// Replaced: the process has executed another program.
	Replaced
	// Ended: the process has ended.
	Ended
	// Lost: the address space is gone; without a pidfd there is no telling why.
	Lost
	// Unreachable: the AddressSpace and all its regions are closed, or /proc/PID/mem fails.
	Unreachable

	numStates
)

var states = [numStates]string{
	Alive: "alive", Replaced: "executed another program", Ended: "ended", Lost: "gone", Unreachable: "unreachable",
}

// String says the state in words.
func (s State) String() string {
	if s < numStates {
		return states[s]
	}
	return "invalid state"
}

// State asks the kernel for the state, with one or two system calls. An address space lives until
// the last process that shares it (CLONE_VM) ends or executes another program.
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

// gone reports whether the address space has ended: a read of /proc/PID/mem gives 0 bytes then, and
// otherwise a byte or, at an address that is not mapped, EIO.
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
