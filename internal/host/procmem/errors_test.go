package procmem

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

func TestErrorsAreOfTheirKindAndErrno(t *testing.T) {
	for k, errno := range map[Kind]error{
		BadRange: syscall.EINVAL, Unmapped: syscall.EFAULT, NotReadable: syscall.EFAULT, NotWritable: syscall.EFAULT,
		Inaccessible: syscall.EFAULT, OutOfBounds: syscall.EINVAL, WriteToReadOnly: syscall.EACCES,
		Gone: syscall.ESRCH, Closed: fs.ErrClosed, System: syscall.ENOMEM,
	} {
		e := &Error{Op: "write", PID: 4711, Addr: 0x7f0000001ff8, Length: 16, At: 0x7f0000002000, Kind: k}
		if k == System {
			e.Err = syscall.ENOMEM
		}
		if !errors.Is(e, k) || !errors.Is(e, errno) {
			t.Errorf("%v is not %v and %v", e, k, errno)
		}
		for other := System; other < numKinds; other++ {
			if other != k && errors.Is(e, other) {
				t.Errorf("%v is also %v", e, other)
			}
		}
		for _, word := range []string{"write", "16 bytes", "0x7f0000001ff8", "4711", k.Error()} {
			if !strings.Contains(e.Error(), word) {
				t.Errorf("%v does not say %q", e, word)
			}
		}
		switch k {
		case Unmapped, NotReadable, NotWritable, Inaccessible, System:
			if !strings.Contains(e.Error(), "0x7f0000002000") {
				t.Errorf("%v does not say where", e)
			}
		}
	}
	if got := numKinds.Error(); got == "" {
		t.Error("a kind that is none has no text")
	}
}

func TestStatesHaveTextsOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for s := Alive; s <= numStates; s++ {
		if text := s.String(); text == "" || seen[text] {
			t.Errorf("state %d: %q", s, text)
		} else {
			seen[text] = true
		}
	}
}
