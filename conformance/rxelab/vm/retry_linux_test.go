package vm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAMachineThatStandsStillIsStartedOnceMore(t *testing.T) {
	dir := t.TempDir()
	starts, guest := filepath.Join(dir, "starts"), filepath.Join(dir, "guest")
	emulator := "#!/bin/sh\necho start >> " + starts + "\nexec sleep 1000\n"
	for file, text := range map[string]string{filepath.Join(dir, Emulator): emulator, guest: "", starts: ""} {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	began := func() int {
		b, err := os.ReadFile(starts)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), "start")
	}
	// A start that times out may not have reached the emulator's first line. In this case the
	// limit is doubled.
	for limit := 100 * time.Millisecond; ; limit *= 2 {
		before := began()
		v, err := Boot(t.Context(), Config{Kernel: &Kernel{Release: "6.x"}, Guest: guest, Boot: limit})
		if v != nil || err == nil || !strings.Contains(err.Error(), "boot of 6.x: not ready after "+limit.String()) {
			t.Fatalf("%v, %v", v, err)
		}
		switch n := began() - before; {
		case n == 2:
			return
		case n > 2:
			t.Fatalf("it was started %d times", n)
		}
	}
}

func TestAMachineThatPanicsIsStartedOnceMore(t *testing.T) {
	dir := t.TempDir()
	starts, guest := filepath.Join(dir, "starts"), filepath.Join(dir, "guest")
	emulator := "#!/bin/sh\necho start >> " + starts + `
while [ "$1" != -serial ]; do shift; done
echo "Kernel panic - not syncing: Fatal exception in interrupt" > "${2#file:}"
`
	for file, text := range map[string]string{filepath.Join(dir, Emulator): emulator, guest: "", starts: ""} {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	v, err := Boot(t.Context(), Config{Kernel: &Kernel{Release: "6.x"}, Guest: guest})
	if v != nil || err == nil || !strings.Contains(err.Error(), "boot of 6.x: kernel panic: ") {
		t.Fatalf("%v, %v", v, err)
	}
	if b, err := os.ReadFile(starts); err != nil || strings.Count(string(b), "start") != 2 {
		t.Errorf("started %q, %v", b, err)
	}
}
