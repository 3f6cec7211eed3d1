package cli

import (
	"context"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// If either end is killed, during the traffic or while it waits, the other reports that within
// three seconds.
func TestAKilledPeerIsMissed(t *testing.T) {
	const at, from = "127.66.0.1", "127.66.0.2"
	meet := func(line string) [2]string { return [2]string{line + " -d " + at, line + " -d " + from + " " + at} }
	cm := func(server, client string) [2]string {
		return [2]string{server + " --ib-dev " + at, client + " --ib-dev " + from}
	}
	managed := func(line string) [2]string {
		return [2]string{line + " -R -d " + at, line + " -R -d " + from + " " + at}
	}
	for name, c := range map[string]struct {
		ends   [2]string
		frames int32 // the end is killed after so many received frames
	}{
		"pingpong rc":  {meet("pingpong rc -n 1000000"), 500},
		"pingpong uc":  {meet("pingpong uc -n 1000000"), 500},
		"pingpong ud":  {meet("pingpong ud -n 1000000"), 500},
		"pingpong srq": {meet("pingpong srq -n 1000000"), 500},
		"write_bw -R":  {managed("perf write_bw -n 1000000"), 500},
		"read_lat -R":  {managed("perf read_lat -n 1000000"), 500},
		"send_lat -R":  {managed("perf send_lat -n 1000000"), 500},
		"write_lat -R": {managed("perf write_lat -n 1000000"), 500},
		"rping":        {cm("rping -s", "rping -c -a "+at), 500},
		"cm":           {cm("cm -s -C 16000", "cm -C 16000 -c "+at), 500},
		"cm, waiting":  {cm("cm -s -n 2", "cm -n 1 -c "+at), 20},
		"cm -P udp":    {cm("cm -s -P udp -C 16000", "cm -P udp -C 16000 -c "+at), 500},
	} {
		for victim, addr := range []string{at, from} {
			t.Run(name+", "+[]string{"the server", "the client"}[victim], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld()
					var runs [2]*clitest.Run
					var stops [2]context.CancelFunc
					killed := make(chan time.Time, 1)
					var killing sync.WaitGroup
					w.AfterFrames, w.Then = c.frames, func() {
						killing.Go(func() {
							w.Kill(addr)
							killed <- time.Now()
						})
					}
					for i, line := range c.ends {
						ctx, stop := context.WithCancel(t.Context())
						runs[i], stops[i] = w.Start(ctx, line), stop
						synctest.Wait()
					}
					at := <-killed
					killing.Wait()
					other := runs[1-victim]
					<-other.Done
					// The clock of the bubble is virtual.
					if took := time.Since(at); took > 3*time.Second || other.Code != app.ExitFailure ||
						strings.Count(other.Stderr.String(), "gorxe: ") != 1 {
						t.Errorf("after %v: %v", took, other)
					}
					for i, stop := range stops {
						stop()
						<-runs[i].Done
					}
				})
			})
		}
	}
}

// Ends with different numbers of messages both fail with a line that says so.
func TestEndsThatWaitForMoreEnd(t *testing.T) {
	for _, c := range []struct {
		server, client         string
		wantServer, wantClient string
	}{
		{"pingpong rc -d 127.66.0.1 -n 10", "pingpong rc -d 127.66.0.2 -n 20 127.66.0.1", "", "it has ended"},
		{"pingpong rc -d 127.66.0.1 -n 20", "pingpong rc -d 127.66.0.2 -n 10 127.66.0.1", "it has ended", ""},
		{"cm -s -n 2 --ib-dev 127.66.0.1", "cm -c 127.66.0.1 -n 1 --ib-dev 127.66.0.2", "1 of 2 connections came",
			"the same number of connections (-n)"},
		{"cm -s -n 2 -C 0 --ib-dev 127.66.0.1", "cm -c 127.66.0.1 -n 1 -C 0 --ib-dev 127.66.0.2",
			"1 of 2 connections came", ""},
	} {
		t.Run(c.server, func(t *testing.T) {
			s, cl := clitest.Pair(t, newWorld, c.server, c.client)
			for r, want := range map[*clitest.Run]string{s: c.wantServer, cl: c.wantClient} {
				if want == "" && r.Code != 0 || want != "" &&
					(r.Code != app.ExitFailure || !strings.Contains(r.Stderr.String(), want)) {
					t.Errorf("want %q: %v", want, r)
				}
			}
		})
	}
}
