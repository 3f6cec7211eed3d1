package perf

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/packet/fault"
)

func TestEveryPerfTestRunsOverRdmaCM(t *testing.T) {
	for _, flags := range []string{
		"write_bw -n 20", "write_bw -n 10 -q 4", "write_bw -n 10 -b",
		"write_bw -n 5 -a", "read_bw -n 20", "read_bw -n 20 -o 2 -q 2",
		"send_bw -n 20", "send_bw -n 20 -b -q 2", "atomic_bw -n 20", "write_lat -n 20", "read_lat -n 20",
		"send_lat -n 20 -s 3000", "atomic_lat -n 20",
		"write_bw -n 20 --write_with_imm",
	} {
		t.Run(flags, func(t *testing.T) {
			line := "perf " + flags + " -R -d 127.66.0."
			s, c := clitest.ManagedPair(t, newWorld, line+"1", line+"2 127.66.0.1")
			if s.Code != 0 || c.Code != 0 || c.Stderr.Len() > 0 {
				t.Fatalf("%v\n%v", s, c)
			}
			for _, out := range []string{s.Stdout.String(), c.Stdout.String()} {
				for _, want := range []string{" rdma_cm QPs     : ON\n", " Data ex. method : rdma_cm\n",
					" local address: ", " remote address: "} {
					if !strings.Contains(out, want) {
						t.Errorf("no %q in:\n%s", want, out)
					}
				}
			}
			if !strings.Contains(s.Stdout.String(), "Waiting for client") {
				t.Errorf("the server says:\n%s", &s.Stdout)
			}
		})
	}
}

// Any packet may be lost, especially at the end, when one end may have closed before its last
// acknowledgement is found missing.
func TestPerfOverRdmaCMSurvivesLoss(t *testing.T) {
	line := "perf send_bw -n 50 -s 5000 -R -d 127.66.0."
	for seed := range uint64(60) {
		s, c := clitest.ManagedPair(t, func() *clitest.World {
			w := newWorld()
			w.Fault = fault.Config{Seed: seed, Drop: 0.05}
			return w
		}, line+"1", line+"2 127.66.0.1")
		if s.Code != 0 || c.Code != 0 {
			t.Errorf("seed %d: %v\n%v", seed, s, c)
		}
	}
}

func TestPerfOverRdmaCMSaysWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		r := w.Run(t.Context(), "perf write_bw -R -d 127.66.0.2 127.66.0.1")
		if r.Code != app.ExitFailure || !strings.Contains(r.Stderr.String(), "does not answer") {
			t.Errorf("nobody is there: %v", r)
		}
		ctx, stop := context.WithCancel(t.Context())
		s := w.Start(ctx, "perf write_bw -R -d 127.66.0.1 -p 1000")
		synctest.Wait()
		r = w.Run(t.Context(), "perf write_bw -R -d 127.66.0.2 -p 1001 127.66.0.1")
		if r.Code != app.ExitFailure || !strings.Contains(r.Stderr.String(), "no listener") {
			t.Errorf("nobody listens: %v", r)
		}
		r = w.Run(t.Context(), "perf read_bw -R -d 127.66.0.2 -p 1000 -q 2 -n 20 127.66.0.1")
		stop()
		if <-s.Done; r.Code != app.ExitFailure || s.Code == 0 {
			t.Errorf("another number of queue pairs: %v\n%v", r, s)
		}
	})
	r := newWorld().Run(t.Context(), "perf send_bw -R -c UD -d 127.66.0.1")
	if r.Code != app.ExitUsage || !strings.Contains(r.Stderr.String(), "-R supports only RC") {
		t.Errorf("datagrams: %v", r)
	}
}
