package perf

import (
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/packet/fault"
)

func TestPerfOverAnUnreliableConnection(t *testing.T) {
	for _, line := range []string{
		"perf write_bw -c UC -n 20 -s 2", "perf write_bw -c uc -n 20 -s 5000 -q 4",
		"perf write_bw -c UC -n 20 -b", "perf write_bw -c UC -n 5 -a",
		"perf send_bw -c UC -n 20 -s 5000", "perf send_bw -c UC -n 300 -s 64 -q 2",
		"perf send_bw -c UC -n 20 -b", "perf send_bw -c UC -n 5 -a",
		"perf write_lat -c UC -n 20", "perf write_lat -c UC -n 5 -a", "perf send_lat -c UC -n 20 -s 3000",
		"perf send_lat -c UC -n 5 -a",
	} {
		if clitest.TooLong(line) {
			continue
		}
		server, client := clitest.Ends(line)
		s, c := clitest.Pair(t, func() *clitest.World {
			w := newWorld()
			w.MTU = 9000
			// Enough for all of -a: without space at a slow receiver, packets are lost.
			w.Net.Queue = 5 * (8 << 20) / 4096 * 2
			return w
		}, server, client)
		clitest.MustSucceed(t, line, s, c)
		for _, r := range []*clitest.Run{s, c} {
			if !strings.Contains(r.Stdout.String(), "\n Connection type : UC              Using SRQ      : OFF\n") ||
				len(rows(r)) == 0 {
				t.Errorf("%s: %v", line, r)
			}
		}
	}
}

func TestALostMessageEndsAnUnreliablePerf(t *testing.T) {
	for _, test := range []string{"send_lat", "write_lat", "send_bw"} {
		server, client := clitest.Ends("perf " + test + " -c UC -n 5 -s 64")
		s, c := clitest.Pair(t, func() *clitest.World {
			w := newWorld()
			w.Fault = fault.Config{Seed: 1, Drop: 1}
			return w
		}, server, client)
		want := "a message was lost, which UC does not send again, or the peer is not ib_" + test +
			" -c UC -s 64 -n 5 with the same parameters"
		if texts := s.Stderr.String() + c.Stderr.String(); s.Code != app.ExitFailure || c.Code != app.ExitFailure ||
			!strings.Contains(texts, want) {
			t.Error(s, c)
		}
	}
}
