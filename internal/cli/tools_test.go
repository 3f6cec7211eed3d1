package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
)

func TestPingpongAgainstAnotherTool(t *testing.T) {
	s, c := clitest.Pair(t, newWorld, "pingpong rc -d 127.66.0.1", "perf write_bw -d 127.66.0.2 127.66.0.1")
	for _, r := range []*clitest.Run{s, c} {
		if r.Code != app.ExitFailure || !strings.Contains(r.Stderr.String(), "with the same parameters") ||
			strings.Count(r.Stderr.String(), "\n") != 1 {
			t.Error(r)
		}
	}
}

func TestPerfAgainstAnotherTool(t *testing.T) {
	s, c := clitest.Pair(t, newWorld, "perf write_bw -n 10 -d 127.66.0.1", "pingpong rc -n 10 -d 127.66.0.2 127.66.0.1")
	for _, r := range []*clitest.Run{s, c} {
		if r.Code != app.ExitFailure || strings.Count(r.Stderr.String(), "\n") != 1 {
			t.Error(r)
		}
	}
	if !strings.Contains(s.Stderr.String()+c.Stderr.String(), "with the same parameters") {
		t.Error(s, c)
	}
}

// Every command can be interrupted while it waits for a peer and during its traffic, and leaves
// no goroutine (which synctest would report).
func TestInterrupted(t *testing.T) {
	lines := []string{"pingpong rc -n 1000000", "pingpong srq -n 1000000", "pingpong ud -n 1000000",
		"perf send_bw -c UD -n 1000000", "pingpong rc -c -n 1000000"}
	for _, test := range wire.Tests {
		lines = append(lines, fmt.Sprintf("perf %v -n 1000000", test), fmt.Sprintf("perf %v -D 1000", test))
	}
	lines = append(lines, "perf send_bw -b -n 1000000", "perf write_bw -b -q 4 -n 1000000")
	for _, line := range lines {
		for _, traffic := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				ctx, cancel := context.WithCancel(t.Context())
				server, client := clitest.Ends(line)
				runs := []*clitest.Run{w.Start(ctx, server)}
				if traffic {
					w.AfterFrames, w.Then = 500, cancel
					runs = append(runs, w.Start(ctx, client))
				} else {
					synctest.Wait()
					cancel()
				}
				for _, r := range runs {
					<-r.Done
					if r.Code != app.ExitInterrupted || r.Stderr.String() != "gorxe: interrupted\n" {
						t.Errorf("%s: %v", line, r)
					}
				}
			})
		}
	}
}
