package rival

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/tools/bench"
)

func TestRivalContestsAreWellFormed(t *testing.T) {
	names := map[string]bool{}
	for _, c := range contestsOver(Links()) {
		if err := c.Valid(); err != nil {
			t.Error(err)
		}
		if names[c.Name] {
			t.Errorf("two contests are called %s", c.Name)
		}
		names[c.Name] = true
		rivals := 2 // at most, in addition to the bare loop
		for _, d := range c.Contenders {
			if d.Tool == "bounce" {
				rivals++
			}
		}
		if len(c.Ratios) < len(c.Contenders)-rivals {
			t.Errorf("%s: %d ratios for %d contenders", c.Name, len(c.Ratios), len(c.Contenders))
		}
		for _, q := range c.Ratios {
			if !strings.HasPrefix(q.To, "rxe") && q.To != bench.BareEvents && q.To != bench.BarePolling {
				t.Errorf("%s: %s is compared with %s", c.Name, q.Of, q.To)
			}
		}
	}
}

// gorxe and rxe run the same commands, except for flags that only gorxe has.
func TestRivalsAreToldTheSame(t *testing.T) {
	for _, c := range contestsOver([]string{"udp", "xdp"}) {
		for _, d := range c.Contenders {
			if d.Tool == "bounce" {
				continue
			}
			j := &bench.Job{Contest: &c, Who: &d, Seconds: 3, Messages: messages, Port: 20000, Ends: [2]bench.End{
				{Address: "198.18.0.1", Device: "rxe0", GID: 1}, {Address: "198.18.0.2", Device: "rxe0", GID: 2}}}
			for end := range j.Ends {
				line := strings.Join(j.Argv(end), " ")
				program, device := "ib_"+d.Args[0]+" ", "-d rxe0 -x"
				switch {
				case d.Tool == "run":
					program = " run --no-daemon -d " + j.Ends[end].Address + " -- " + program
				case d.Tool == "run-nice":
					program = " run --no-daemon -d " + j.Ends[end].Address + " --spin 0s -- nice -n 19 " + program
				case j.Gorxe(end):
					program, device = " perf "+d.Args[0]+" ", "-d "+j.Ends[end].Address
				}
				if !strings.HasPrefix(line, program) || !strings.Contains(line, device) ||
					!strings.Contains(line, strings.Join(d.Args[1:], " ")) {
					t.Errorf("%s/%s, end %d: %s", c.Name, d.Name, end, line)
				}
				want := j.Gorxe(end) && slices.Contains(d.Gorxe, "--link")
				if slices.Contains(j.Argv(end), "--link") != want {
					t.Errorf("%s/%s, end %d, has a link: %s", c.Name, d.Name, end, line)
				}
			}
		}
	}
}

// The bare loop takes part with all of its methods on links that rxe supports; rxe and gorxe run
// are compared with two of them.
func TestTheBareLoopIsALimitOfLatency(t *testing.T) {
	contests := contestsOver([]string{udpLink})
	lat := contests[slices.IndexFunc(contests, func(c bench.Contest) bool { return c.Metric == bench.Latency })]
	for _, w := range bench.BareWays() {
		i := slices.IndexFunc(lat.Contenders, func(d bench.Contender) bool { return d.Name == w.Name })
		if i < 0 || (&bench.Job{Who: &lat.Contenders[i]}).Gorxe(bench.Server) {
			t.Errorf("%s: place %d of %+v", w.Name, i, lat.Contenders)
		}
	}
	for of, to := range map[string]string{
		rxeSleeps: bench.BareEvents, rxePolls: bench.BarePolling,
		"gorxe run, sleeping": bench.BareEvents, "gorxe run, polling": bench.BarePolling,
	} {
		if !slices.Contains(lat.Ratios, bench.Ratio{Of: of, To: to}) {
			t.Errorf("%s is not compared with %s", of, to)
		}
	}
}

func TestUnderLossEachStandsAtEitherEnd(t *testing.T) {
	c := lossContest("x", "X", 0.01)
	if c.Loss != 0.01 {
		t.Errorf("it loses %v", c.Loss)
	}
	ends := map[string][2]bool{}
	for _, d := range c.Contenders {
		j := &bench.Job{Who: &d}
		ends[d.Name] = [2]bool{j.Gorxe(bench.Client), j.Gorxe(bench.Server)}
	}
	want := map[string][2]bool{"rxe to rxe": {}, "rxe to gorxe": {false, true}, "gorxe to rxe": {true, false},
		"gorxe to gorxe": {true, true}}
	if d := cmp.Diff(want, ends); d != "" {
		t.Error(d)
	}
}

func TestRivalsThatAreChosen(t *testing.T) {
	r := Options{Links: []string{"udp"}, Only: regexp.MustCompile("^bandwidth/")}
	contests, err := r.Contests()
	if err != nil || len(contests) != 1 || len(contests[0].Contenders) != 4 || len(contests[0].Ratios) != 3 {
		t.Errorf("%+v, %v", contests, err)
	}
	for want, r := range map[string]Options{
		"link":                 {Links: []string{"wire"}},
		"matches no contender": {Links: []string{"udp"}, Only: regexp.MustCompile("^apples/")},
	} {
		if _, err := r.Contests(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// flat returns moves as command lines without addresses.
func flat(moves []commands) (out []string) {
	for _, m := range moves {
		for _, l := range m.lines {
			if !strings.HasPrefix(l, "addr") && !strings.HasPrefix(l, "neigh") {
				out = append(out, strings.Join(m.tool, " ")+" "+l)
			}
		}
	}
	return out
}

func TestInterfacesMove(t *testing.T) {
	up := func(tool string) []string { return []string{tool + " link set wire0 up", tool + " link set wire1 up"} }
	add := []string{"rdma link add rxe0 type rxe netdev wire0", "rdma link add rxe1 type rxe netdev wire1"}
	remove := []string{"rdma link delete rxe0", "rdma link delete rxe1"}
	away := []string{"ip link set wire0 netns gorxe", "ip link set wire1 netns gorxe"}
	back := []string{"ip -n gorxe link set wire0 netns 1", "ip -n gorxe link set wire1 netns 1"}
	for _, c := range []struct {
		from, to user
		want     []string
	}{
		{nobody, byRxe, slices.Concat(up("ip"), add)},
		{nobody, byGorxe, slices.Concat(away, up("ip -n gorxe"))},
		{byRxe, byGorxe, slices.Concat(remove, away, up("ip -n gorxe"))},
		{byGorxe, byRxe, slices.Concat(back, up("ip"), add)},
		{byRxe, byRxe, nil},
		{byGorxe, byGorxe, nil},
	} {
		s := newSide(1)
		s.user = c.from
		if d := cmp.Diff(c.want, flat(s.moves(c.to))); d != "" {
			t.Errorf("from %d to %d: %s", c.from, c.to, d)
		}
	}
}

// After a move, both ends have addresses and neighbour entries for each other, over every cable.
func TestInterfacesThatMovedHaveAddressesAndNeighbours(t *testing.T) {
	for _, to := range []user{byRxe, byGorxe} {
		for i := range 2 {
			s, other := newSide(i), newSide(1-i)
			var lines []string
			for _, m := range s.moves(to) {
				lines = append(lines, m.lines...)
			}
			for w, e := range s.ends {
				o := other.ends[w]
				for _, want := range []string{
					fmt.Sprintf("addr add %s/24 dev %s", e.Addr[cell.IPv4], e.netdev),
					fmt.Sprintf("neigh replace %s lladdr %s dev %s nud permanent", o.Addr[cell.IPv4], o.mac, e.netdev),
					fmt.Sprintf("neigh replace %s lladdr %s dev %s nud permanent", o.Addr[cell.IPv6], o.mac, e.netdev),
				} {
					if !slices.Contains(lines, want) {
						t.Errorf("to %d, side %d: %q lacks %q", to, i, lines, want)
					}
				}
			}
		}
	}
}
