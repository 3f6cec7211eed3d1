package cli

import (
	"context"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
)

const (
	fullDisk = "gorxe: --trace: write /dev/full: no space left on device: packets are no longer recorded\n"
	notWhole = "gorxe: --trace: /dev/full is incomplete: write /dev/full: no space left on device\n"
)

// A command whose trace cannot be written reports that immediately and fails, whether it
// completes or is interrupted.
func TestACommandFailsWithItsTrace(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	for _, line := range []string{"demo --link pipe write", "pingpong rc -d 127.66.0.1",
		"perf write_bw -d 127.66.0.1"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			r := newWorld().Start(ctx, line+" --trace /dev/full")
			synctest.Wait()
			cancel()
			<-r.Done
			if text := r.Stderr.String(); r.Code != app.ExitFailure || !strings.HasPrefix(text, fullDisk) ||
				!strings.HasSuffix(text, notWhole) {
				t.Errorf("%s: %v", line, r)
			}
		})
	}
}

// A daemon that is stopped exits with 0, unless its trace has failed.
func TestADaemonFailsWithItsTrace(t *testing.T) {
	for args, want := range map[string]int{"daemon": 0, "daemon --trace /dev/full": app.ExitFailure} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			ready := make(chan string, 2)
			socket := clitest.NewMemorySocket()
			r := newWorld().StartWith(ctx, socket, func(s string) error { ready <- s; return nil },
				strings.Fields(args)...)
			<-ready
			cancel()
			<-r.Done
			if r.Code != want || strings.Contains(r.Stderr.String(), "interrupted") {
				t.Errorf("%s: %v", args, r)
			}
			if want != 0 && !strings.HasSuffix(r.Stderr.String(),
				"gorxe: trace: write /dev/full: no space left on device: 0 packets are not in it\n") {
				t.Errorf("%s: %v", args, r)
			}
		})
	}
}
