package rxelab

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testLane() *lane {
	l := newLane(nil, 2)
	l.rxe.gid = map[Family]int{IPv4: 1, IPv6: 3}
	l.gorxe.gid = map[Family]int{IPv4: 0, IPv6: 2}
	return l
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
			Cell{Workload: Workload{tool("ibv_rc_pingpong"), Params{Size: 8193, MTU: 256, Iters: 20}}, Role: Client, Family: IPv4},
			"ibv_rc_pingpong -d rxe2 -g 1 -p 20001 -c -n 20 -s 8193 -m 256",
			"ip netns exec peer2 /run/rxelab/gorxe pingpong rc -d g2 -g 0 -p 20001 -c -n 20 -s 8193 -m 256 198.18.2.1"},
		{"ibv_rc_pingpong reaches a server over IPv6",
			Cell{Workload: Workload{tool("ibv_rc_pingpong"), Params{Size: 1, MTU: 1024, Iters: 5}}, Role: Server, Family: IPv6},
			"ip netns exec peer2 /run/rxelab/gorxe pingpong rc -d g2 -g 2 -p 20001 -c -n 5 -s 1 -m 1024",
			"ibv_rc_pingpong -d rxe2 -g 3 -p 20001 -c -n 5 -s 1 -m 1024 fd00:18:0:2::2"},
		{"its server listens on IPv4 only",
			Cell{Workload: Workload{tool("ibv_rc_pingpong"), Params{Size: 1, MTU: 1024, Iters: 5}}, Role: Client, Family: IPv6},
			"ibv_rc_pingpong -d rxe2 -g 3 -p 20001 -c -n 5 -s 1 -m 1024",
			"ip netns exec peer2 /run/rxelab/gorxe pingpong rc -d g2 -g 2 -p 20001 -c -n 5 -s 1 -m 1024 198.18.2.1 --foreign-gids fd00:18:0:2::1"},
		{"perftest exchanges over IPv4 only",
			Cell{Workload: Workload{tool("ib_read_bw"), Params{Size: 65536, QPs: 4, Both: true, Iters: 10}}, Role: Server, Family: IPv6},
			"ip netns exec peer2 /run/rxelab/gorxe perf read_bw -d g2 -x 2 -p 20001 -F -n 10 -s 65536 -q 4 -b --foreign-gids fd00:18:0:2::1",
			"ib_read_bw -d rxe2 -x 3 -p 20001 -F -n 10 -s 65536 -q 4 -b 198.18.2.2"},
		{"all sizes",
			Cell{Workload: Workload{tool("ib_send_lat"), Params{All: true, Iters: 5}}, Role: Client, Family: IPv4},
			"ib_send_lat -d rxe2 -x 1 -p 20001 -F -n 5 -a",
			"ip netns exec peer2 /run/rxelab/gorxe perf send_lat -d g2 -x 0 -p 20001 -F -n 5 -a 198.18.2.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, client := testLane().programs(c.cell, 20001)
			if d := cmp.Diff([]string{c.server, c.client}, []string{server.command(), client.command()}); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDisturbanceCommands(t *testing.T) {
	l := testLane()
	var got []string
	for _, c := range Conditions() {
		got = append(got, "# "+c.String())
		got = append(got, l.disturbance(c)...)
		l.condition = c
	}
	want := strings.Split(strings.TrimSpace(`
# clean
# loss 1 % to rxe
qdisc add dev d2 root netem limit 20000 loss 1%
qdisc add dev v2 ingress
filter add dev v2 ingress protocol all prio 1 matchall action mirred egress redirect dev d2
# loss 1 % to gorxe
qdisc del dev v2 ingress
qdisc del dev d2 root
qdisc add dev v2 root netem limit 20000 loss 1%
# loss 5 % to rxe
qdisc del dev v2 root
qdisc add dev d2 root netem limit 20000 loss 5%
qdisc add dev v2 ingress
filter add dev v2 ingress protocol all prio 1 matchall action mirred egress redirect dev d2
# loss 5 % to gorxe
qdisc del dev v2 ingress
qdisc del dev d2 root
qdisc add dev v2 root netem limit 20000 loss 5%
# reorder 5 % to rxe
qdisc del dev v2 root
qdisc add dev d2 root netem limit 20000 delay 2ms reorder 95%
qdisc add dev v2 ingress
filter add dev v2 ingress protocol all prio 1 matchall action mirred egress redirect dev d2
# reorder 5 % to gorxe
qdisc del dev v2 ingress
qdisc del dev d2 root
qdisc add dev v2 root netem limit 20000 delay 2ms reorder 95%
# duplicate 5 % to rxe
qdisc del dev v2 root
qdisc add dev d2 root netem limit 20000 duplicate 5%
qdisc add dev v2 ingress
filter add dev v2 ingress protocol all prio 1 matchall action mirred egress redirect dev d2
# duplicate 5 % to gorxe
qdisc del dev v2 ingress
qdisc del dev d2 root
qdisc add dev v2 root netem limit 20000 duplicate 5%`), "\n")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestEveryPortIsUsedOnce(t *testing.T) {
	q := &queue{cells: make([]Cell, 500)}
	seen := map[int]bool{}
	for {
		_, port, ok := q.next()
		if !ok {
			break
		}
		if seen[port] || port < firstPort || port >= lastPort {
			t.Fatalf("port %d", port)
		}
		seen[port] = true
	}
	if len(seen) != 500 || !q.empty() {
		t.Errorf("%d ports, empty %v", len(seen), q.empty())
	}
}

func TestComplaints(t *testing.T) {
	for line, want := range map[string]bool{
		"[   12.3] BUG: unable to handle page fault for address: ffffa":        true,
		"[   12.3] general protection fault, probably for non-canonical":       true,
		"[   12.3] WARNING: CPU: 1 PID: 77 at drivers/infiniband/sw/rxe/x.c:1": true,
		"[   12.3] Kernel panic - not syncing: Fatal exception":                true,
		"[   12.3] refcount_t: underflow; use-after-free.":                     true,
		"[   12.3] watchdog: BUG: soft lockup - CPU#0 stuck for 23s!":          false,
		"[   12.3] rdma_rxe: loaded":                                           false,
	} {
		if got := complaint.MatchString(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
