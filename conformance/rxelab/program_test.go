package rxelab

import (
	"strings"
	"testing"
)

// A person finds in a log what can be typed again in the machine.
func TestCommandOfAProgramNamesItsNamespace(t *testing.T) {
	c := Cell{Workload: Core.Workloads()[0], Role: Client}
	server, client := newLane(nil, 2).programs(c, 20001)
	if got := server.command(); !strings.HasPrefix(got, "ibv_rc_pingpong -d rxe2 ") {
		t.Errorf("the server: %q", got)
	}
	if got := client.command(); !strings.HasPrefix(got, "ip netns exec peer2 /run/rxelab/gorxe pingpong rc -d g2 ") {
		t.Errorf("the client: %q", got)
	}
}
