package cell

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testLink returns a link whose ends have addresses and GIDs.
func testLink() *Link {
	addr := func(host string) map[Family]netip.Addr {
		return map[Family]netip.Addr{IPv4: netip.MustParseAddr("198.18.2." + host),
			IPv6: netip.MustParseAddr("fd00:18:0:2::" + host)}
	}
	return &Link{
		Rxe:   End{Device: "rxe2", GID: map[Family]int{IPv4: 1, IPv6: 3}, Addr: addr("1")},
		Gorxe: End{Device: "g2", GID: map[Family]int{IPv4: 0, IPv6: 2}, Addr: addr("2")},
		Dead:  addr("3"),
	}
}

// commandLines returns the command lines of a cell's ends.
func commandLines(c Cell) (server, client string) {
	stock, gorxe := c.Commands(testLink(), 20001)
	server, client = strings.Join(stock, " "), strings.Join(gorxe, " ")
	if c.Role == Server {
		server, client = client, server
	}
	return server, client
}

func TestCommandLines(t *testing.T) {
	tool := func(name string) *Tool {
		for i := range Core.Tools() {
			if Core.Tools()[i].Name == name {
				return &Core.Tools()[i]
			}
		}
		t.Fatalf("no tool %s", name)
		return nil
	}
	for _, c := range []struct {
		name           string
		cell           Cell
		server, client string
	}{
		{"gorxe is the client, IPv4",
			Cell{Workload: Workload{tool("ibv_rc_pingpong"), Params{Size: 8193, MTU: 256, Iters: 20}}, Role: Client,
				Family: IPv4},
			"ibv_rc_pingpong -d rxe2 -g 1 -p 20001 -c -n 20 -s 8193 -m 256",
			"/run/rxelab/gorxe pingpong rc -d g2 -g 0 -p 20001 -c -n 20 -s 8193 -m 256 198.18.2.1"},
		{"ibv_rc_pingpong reaches a server over IPv6",
			Cell{Workload: Workload{tool("ibv_rc_pingpong"), Params{Size: 1, MTU: 1024, Iters: 5}}, Role: Server,
				Family: IPv6},
			"/run/rxelab/gorxe pingpong rc -d g2 -g 2 -p 20001 -c -n 5 -s 1 -m 1024",
			"ibv_rc_pingpong -d rxe2 -g 3 -p 20001 -c -n 5 -s 1 -m 1024 fd00:18:0:2::2"},
		{"its server listens on IPv4 only",
			Cell{Workload: Workload{tool("ibv_rc_pingpong"), Params{Size: 1, MTU: 1024, Iters: 5}}, Role: Client,
				Family: IPv6},
			"ibv_rc_pingpong -d rxe2 -g 3 -p 20001 -c -n 5 -s 1 -m 1024",
			"/run/rxelab/gorxe pingpong rc -d g2 -g 2 -p 20001 -c -n 5 -s 1 -m 1024 198.18.2.1 --foreign-gids fd00:18:0:2::1"},
		{"perftest exchanges over IPv4 only",
			Cell{Workload: Workload{tool("ib_read_bw"), Params{Size: 65536, QPs: 4, Both: true, Iters: 10}},
				Role: Server, Family: IPv6},
			"/run/rxelab/gorxe perf read_bw -d g2 -x 2 -p 20001 -F -n 10 -s 65536 -q 4 -b --foreign-gids fd00:18:0:2::1",
			"ib_read_bw -d rxe2 -x 3 -p 20001 -F -n 10 -s 65536 -q 4 -b 198.18.2.2"},
		{"all sizes",
			Cell{Workload: Workload{tool("ib_send_lat"), Params{All: true, Iters: 5}}, Role: Client, Family: IPv4},
			"ib_send_lat -d rxe2 -x 1 -p 20001 -F -n 5 -a",
			"/run/rxelab/gorxe perf send_lat -d g2 -x 0 -p 20001 -F -n 5 -a 198.18.2.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, client := commandLines(c.cell)
			if d := cmp.Diff([]string{c.server, c.client}, []string{server, client}); d != "" {
				t.Error(d)
			}
		})
	}
}
