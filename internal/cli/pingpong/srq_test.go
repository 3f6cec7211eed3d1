package pingpong

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/packet/fault"
)

var srqLines = regexp.MustCompile(`(?m)^(\d+) bytes in \d+\.\d\d seconds = \S+ Mbit/sec
(\d+) iters in \d+\.\d\d seconds = \S+ usec/iter
(the first byte of every page of \d+ received messages is correct
)?\z`)

func TestPingpongOverASharedReceiveQueue(t *testing.T) {
	for _, flags := range []string{"", "-q 1", "-q 255", "-q 3 -r 3", "-q 16 -r 17 -s 5000", "-s 1 -m 256",
		"-s 65536 -m 4096 -q 5"} {
		for _, chk := range [][2]string{{"", ""}, {" -c", " -c"}, {" -c", ""}} {
			line := "pingpong srq -n 300 " + flags
			server, client := clitest.Ends(line)
			s, c := clitest.Pair(t, func() *clitest.World { w := newWorld(); w.MTU = 9000; return w }, server+chk[0],
				client+chk[1])
			clitest.MustSucceed(t, line, s, c)
			for i, r := range []*clitest.Run{s, c} {
				m := srqLines.FindStringSubmatch(r.Stdout.String())
				if m == nil || m[2] != "300" || (m[3] != "") != (chk[i] != "") {
					t.Fatalf("%s%s: %v", line, chk[i], r)
				}
			}
		}
	}
}

func TestPingpongOverASharedReceiveQueueOnABadNetwork(t *testing.T) {
	for _, f := range []fault.Config{{Seed: 1, Drop: 0.05}, {Seed: 2, Duplicate: 0.2}, {Seed: 3, Reorder: 0.1}} {
		server, client := clitest.Ends("pingpong srq -n 200 -s 9000 -c")
		s, c := clitest.Pair(t, func() *clitest.World { w := newWorld(); w.Fault = f; return w }, server, client)
		clitest.MustSucceed(t, fmt.Sprintf("%+v", f), s, c)
	}
}

func TestPingpongNeedsTheSameNumberOfQueuePairs(t *testing.T) {
	server, client := clitest.Ends("pingpong srq -n 5")
	s, c := clitest.Pair(t, newWorld, server+" -q 4", client+" -q 3")
	want := "the peer has 3 queue pairs, want 4: give both ends the same number with -q"
	if s.Code != app.ExitFailure || !strings.Contains(s.Stderr.String(), want) || c.Code != app.ExitFailure {
		t.Error(s, c)
	}
}
