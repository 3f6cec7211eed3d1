package capability

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCapabilitiesAreThoseThatTheKernelLists(t *testing.T) {
	text, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Skip(err)
	}
	_, after, _ := strings.Cut(string(text), "CapEff:\t")
	line, _, _ := strings.Cut(after, "\n")
	all, err := strconv.ParseUint(line, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []int{unix.CAP_CHOWN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_SYS_PTRACE,
		unix.CAP_BPF, 63} {
		if got, want := Effective(c), all&(1<<c) != 0; got != want {
			t.Errorf("capability %d: %v, want %v", c, got, want)
		}
	}
}
