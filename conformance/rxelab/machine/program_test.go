package machine

import (
	"strings"
	"testing"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
)

// The command in a log can be typed again in the machine.
func TestCommandOfAProgramNamesItsNamespace(t *testing.T) {
	c := cell.Cell{Workload: cell.Core.Workloads()[0], Role: cell.Client}
	server, client := newLane(nil, 2).Programs(c, 20001)
	if got := server.Command(); !strings.HasPrefix(got, "ibv_rc_pingpong -d rxe2 ") {
		t.Errorf("the server: %q", got)
	}
	if got := client.Command(); !strings.HasPrefix(got, "ip netns exec peer2 /run/rxelab/gorxe pingpong rc -d g2 ") {
		t.Errorf("the client: %q", got)
	}
}
