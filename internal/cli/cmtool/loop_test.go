package cmtool

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/packet/fault"
)

// With a delay of a millisecond in each direction, time passes in the bubble: REQ and REP take
// two, DREQ and DREP two more.
func TestConnectionsComeAndGoForAsLongAsTheClientIsTold(t *testing.T) {
	for flags, want := range map[string]string{
		"-C 0":          `^1000 connections made and ended in 2s, 500/s; setup time min 2ms, median 2ms, p99 2ms, max 2ms\n`,
		"-C 2 -S 10000": `^\d{3} connections made and ended in 2(\.\d+)?s, `,
	} {
		t.Run(flags, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.Fault = fault.Config{Delay: time.Millisecond}
				ctx, stop := context.WithCancel(t.Context())
				s := w.Start(ctx, "cm -s -b 127.66.0.1 -n 0 "+flags)
				synctest.Wait()
				c := w.Run(t.Context(), "cm -c 127.66.0.1 -b 127.66.0.2 -D 2 -j 2 "+flags)
				if c.Code != 0 || !regexp.MustCompile(want+`(?s).*memory: `).MatchString(c.Stdout.String()) {
					t.Errorf("want %s: %v", want, c)
				}
				time.Sleep(time.Second)
				stop()
				if <-s.Done; s.Code != app.ExitInterrupted ||
					!regexp.MustCompile(`^\d+ connections made and ended in `).MatchString(s.Stdout.String()) {
					t.Error(s)
				}
			})
		})
	}
}

func TestLoopsOfTheConnectionManagerAreForClientsOfConnections(t *testing.T) {
	for line, want := range map[string]string{
		"cm -s -D 1":                   "-n 0",
		"cm -c 127.66.0.1 -D 1 -P udp": "-n 0",
		"cm -c 127.66.0.1 -D 1 -n 5":   "omit -n",
		"cm -s -n 0 -P udp":            "-P udp",
		"cm -c 127.66.0.1 -n 0":        "-n 0: must be 1 to",
	} {
		r := newWorld().Run(t.Context(), line)
		if r.Code != app.ExitUsage || !regexp.MustCompile(regexp.QuoteMeta(want)).MatchString(r.Stderr.String()) {
			t.Errorf("%s: %v", line, r)
		}
	}
}

func TestAClientSelectsItsDeviceOnce(t *testing.T) {
	r := newWorld().Run(t.Context(), "cm -c 127.66.0.1 -b 127.66.0.2 --ib-dev 127.66.0.3")
	want := "--ib-dev 127.66.0.3 and -b 127.66.0.2 both select the device: omit one of them"
	if r.Code != app.ExitUsage || !strings.Contains(r.Stderr.String(), want) {
		t.Errorf("want %q: %v", want, r)
	}
}
