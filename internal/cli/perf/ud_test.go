package perf

import (
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/packet/fault"
)

func TestPerfWithDatagrams(t *testing.T) {
	for line, want := range map[string]int{
		"perf send_bw -c UD -n 20": 1, "perf send_bw -c ud -n 300 -s 64 -q 4": 1,
		"perf send_bw -c UD -n 20 -b -s 4096": 1,
		"perf send_bw -c UD -n 5 -a":          12, "perf send_bw -c UD -n 5 -a -m 1024": 10,
		"perf send_bw -c UD -n 50 -s 100 -I 100": 1,
		"perf send_bw -c UD -n 100 -l 20":        1, "perf send_lat -c UD -n 20 -s 4096": 1,
		"perf send_lat -c UD -n 5 -a":     12,
		"perf send_lat -c UD -n 20 -I 64": 1,
	} {
		server, client := clitest.Ends(line)
		s, c := clitest.Pair(t, func() *clitest.World { w := newWorld(); w.MTU = 9000; return w }, server, client)
		clitest.MustSucceed(t, line, s, c)
		for _, r := range []*clitest.Run{s, c} {
			if !strings.Contains(r.Stdout.String(), "\n Connection type : UD              Using SRQ      : OFF\n") ||
				len(rows(r)) != want {
				t.Errorf("%s: %d rows, want %d: %v", line, len(rows(r)), want, r)
			}
		}
	}
}

func TestPerfDatagramsLargerThanThePathAreRefused(t *testing.T) {
	const line, want = "perf send_bw -c UD -n 5 -s 2048", "-s 2048: a datagram carries at most 1024 bytes on this path"
	server, client := clitest.Ends(line)
	s, c := clitest.Pair(t, newWorld, server, client)
	for _, r := range []*clitest.Run{s, c} {
		if r.Code == 0 || !strings.Contains(r.Stderr.String(), want) {
			t.Errorf("%s: %v", line, r)
		}
	}
}

func TestPerfEndsWhenADatagramIsLost(t *testing.T) {
	for line, peer := range map[string]string{
		"perf send_lat -c UD -n 5 -s 64": "ib_send_lat -c UD -s 64 -n 5",
		"perf send_bw -c UD -n 5 -s 64":  "ib_send_bw -c UD -s 64 -n 5",
	} {
		server, client := clitest.Ends(line)
		s, c := clitest.Pair(t, func() *clitest.World {
			w := newWorld()
			w.Fault = fault.Config{Seed: 1, Drop: 1}
			return w
		}, server, client)
		want := "a message was lost, which UD does not send again, or the peer is not " + peer +
			" with the same parameters"
		if texts := s.Stderr.String() + c.Stderr.String(); s.Code != app.ExitFailure || c.Code != app.ExitFailure ||
			!strings.Contains(texts, want) {
			t.Error(s, c)
		}
	}
}
