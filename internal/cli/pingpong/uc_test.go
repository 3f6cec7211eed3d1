package pingpong

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/packet/fault"
)

func TestPingpongOverAnUnreliableConnection(t *testing.T) {
	for _, size := range []int{1, 4096, 5000, 65536} {
		for _, mtu := range []int{256, 1024, 4096} {
			pingpongs(t, fmt.Sprintf("pingpong uc -m %d", mtu), size)
		}
	}
}

func TestALostMessageEndsAnUnreliablePingpong(t *testing.T) {
	server, client := clitest.Ends("pingpong uc -n 5")
	s, c := clitest.Pair(t, func() *clitest.World {
		w := newWorld()
		w.Fault = fault.Config{Seed: 1, Drop: 1}
		return w
	}, server, client)
	want := "gorxe: the peer is silent: it has ended, or a message was lost, which UC does not send again, " +
		"or the peer is not ibv_uc_pingpong -s 4096 -n 5 -m 1024 with the same parameters\n"
	for _, r := range []*clitest.Run{s, c} {
		if r.Code != app.ExitFailure || r.Stderr.String() != want {
			t.Error(r)
		}
	}
}

// A UC queue pair discards RC packets.
func TestPingpongNeedsTheSameService(t *testing.T) {
	s, c := clitest.Pair(t, newWorld, "pingpong uc -d 127.66.0.1 -n 5", "pingpong rc -d 127.66.0.2 127.66.0.1 -n 5")
	if s.Code != app.ExitFailure || c.Code != app.ExitFailure ||
		!strings.Contains(s.Stderr.String(), "the peer is silent: ") {
		t.Error(s, c)
	}
}
