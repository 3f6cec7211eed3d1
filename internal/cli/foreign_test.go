package cli

import (
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"net/netip"
	"strings"
	"testing"
)

// An end whose peer names another address than that of its TCP connection does not send there,
// unless an option allows it.
func TestAPeerOfAnotherAddressIsRefused(t *testing.T) {
	const server, client = "198.51.100.1", "198.51.100.2"
	for _, tool := range []string{"perf write_bw -n 5 -s 64", "perf send_bw -c UD -n 5 -s 64", "pingpong rc -n 3",
		"pingpong ud -n 3", "pingpong srq -n 16"} {
		for _, c := range []struct {
			name                     string
			serverAt, clientAt       string // of TCP
			serverAllows, clientWill string
			refuses                  string // the end that refuses
		}{
			{name: "its own", serverAt: server, clientAt: client},
			{name: "a third host for a client", serverAt: server, clientAt: "198.51.100.7", refuses: "server"},
			{name: "a third host for a server", serverAt: "198.51.100.7", clientAt: client, refuses: "client"},
			{name: "allowed", serverAt: "198.51.100.7", clientAt: "198.51.100.8",
				serverAllows: " --foreign-gids 192.0.2.0/24,198.51.100.2",
				clientWill:   " --foreign-gids 198.51.100.0/24"},
		} {
			world := func() *clitest.World {
				w := newWorld()
				w.ServerAt, w.ClientAt = netip.MustParseAddr(c.serverAt), netip.MustParseAddr(c.clientAt)
				return w
			}
			s, cl := clitest.Pair(t, world, tool+" -d "+server+c.serverAllows,
				tool+" -d "+client+c.clientWill+" "+server)
			refused := map[string]*clitest.Run{"server": s, "client": cl}[c.refuses]
			switch {
			case refused == nil:
				clitest.MustSucceed(t, tool+", "+c.name, s, cl)
			case refused.Code != app.ExitFailure ||
				!strings.Contains(refused.Stderr.String(), "give --foreign-gids 198.51.100."):
				t.Errorf("%s, %s: %v", tool, c.name, refused)
			}
		}
	}
	if r := newWorld().Run(t.Context(), "pingpong rc --foreign-gids all"); r.Code != app.ExitUsage ||
		!strings.Contains(r.Stderr.String(), `"all" is not a network`) {
		t.Error(r)
	}
}
