package pingpong

import (
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/packet/fault"
)

func TestPingpongWithDatagrams(t *testing.T) {
	for _, size := range []int{1, 1024, 3999, 4096} {
		pingpongs(t, "pingpong ud", size)
	}
}

func TestPingpongDatagramsLargerThanThePathAreRefused(t *testing.T) {
	const line, want = "pingpong ud -n 5 -s 1025", "-s 1025: a datagram carries at most 1024 bytes on this path"
	server, client := clitest.Ends(line)
	s, c := clitest.Pair(t, newWorld, server, client)
	for _, r := range []*clitest.Run{s, c} {
		if r.Code == 0 || !strings.Contains(r.Stderr.String(), want) {
			t.Errorf("%s: %v", line, r)
		}
	}
}

func TestPingpongEndsWhenADatagramIsLost(t *testing.T) {
	for line, peer := range map[string]string{
		"pingpong ud -n 5": "ibv_ud_pingpong -s 1024 -n 5",
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
