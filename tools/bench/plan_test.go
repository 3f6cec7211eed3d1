package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func contestOf(n int) Contest {
	c := Contest{Name: fmt.Sprint(n)}
	for i := range n {
		c.Contenders = append(c.Contenders, Contender{Name: fmt.Sprint(i), Tool: "perf"})
	}
	return c
}

// Every round has every contender once, and over as many rounds as there are contenders each one
// is first once.
func TestRoundsAreFair(t *testing.T) {
	const rounds = 6
	contests := []Contest{contestOf(3), contestOf(1), contestOf(6), contestOf(2)}
	turns := plan(contests, rounds)
	if len(turns) != rounds*(3+1+6+2) {
		t.Fatalf("%d turns", len(turns))
	}
	begins := map[[2]int]int{}
	for round := range rounds {
		for c := range contests {
			n := len(contests[c].Contenders)
			var who []int
			for _, turn := range turns[:n] {
				if turn.round != round || turn.contest != c {
					t.Fatalf("round %d, contest %d: %+v is not in its place", round, c, turns[:n])
				}
				who = append(who, turn.contender)
			}
			turns = turns[n:]
			begins[[2]int{c, who[0]}]++
			if slices.Sort(who); len(slices.Compact(who)) != n || who[0] != 0 || who[n-1] != n-1 {
				t.Errorf("round %d, contest %d: %v takes part", round, c, who)
			}
		}
	}
	for c := range contests {
		n := len(contests[c].Contenders)
		for i := range n {
			if got := begins[[2]int{c, i}]; got != rounds/n {
				t.Errorf("contest %d: contender %d begins %d times, want %d", c, i, got, rounds/n)
			}
		}
	}
}

func TestWhatIsMeasuredIsWellFormed(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Contests([]Link{{Name: "udp"}, {Name: "raw", Args: []string{"--link", "raw"}}},
		Build{"before", "/tmp/gorxe"}) {
		if err := c.Valid(); err != nil {
			t.Error(err)
		}
		if names[c.Name] {
			t.Errorf("two contests are called %s", c.Name)
		}
		names[c.Name] = true
		for _, d := range c.Contenders {
			ends := [2]End{{Address: "198.18.0.1", Socket: "/s0"}, {Address: "198.18.0.2", Socket: "/s1"}}
			j := &Job{Contest: &c, Who: &d, Round: 6, Seconds: 1, Port: 20000, Ends: ends, gorxe: "gorxe",
				bench: "bench"}
			for end := range j.Ends {
				argv := j.Argv(end)
				if slices.Contains(argv, "20000") == j.Alone() ||
					slices.ContainsFunc(argv, func(a string) bool { return a == "" || a == "{seed}" }) {
					t.Errorf("%s/%s: %q", c.Name, d.Name, argv)
				}
			}
		}
	}
	for _, c := range []Contest{
		{Name: "x", Contenders: []Contender{{Name: "a", Tool: "ib_write_bw"}}},
		{Name: "x", Contenders: []Contender{{Name: "a", Tool: "perf"}, {Name: "a", Tool: "qperf"}}},
		{Name: "x", Contenders: []Contender{{Name: "a", Tool: "perf"}}, Ratios: []Ratio{{Of: "a", To: "b"}}},
		{Name: "x", Contenders: []Contender{{Name: "a", Tool: "perf"}}, Ratios: []Ratio{{}}},
		{Name: "x", Contenders: []Contender{{Name: "a", Tool: "perf", Server: "none"}}},
		{Name: "x", Contenders: []Contender{{Name: "a", Tool: "perf", Server: "perftest"}}},
		{Name: "x", Contenders: []Contender{{Name: "a", Tool: "start", Args: []string{"true"}, Busy: true}}},
		{Name: "x", Metric: Bandwidth, Contenders: []Contender{{Name: "a", Tool: "perf"}},
			Ratios: []Ratio{{Of: "a", Tail: true}}},
		{Name: "x", Loss: 1},
	} {
		if c.Valid() == nil {
			t.Errorf("%+v is valid", c)
		}
	}
}

// Another build runs with the same arguments, and this build is compared with it.
func TestOtherBuilds(t *testing.T) {
	for _, c := range Contests([]Link{{Name: "udp"}}, Build{"before", "/tmp/gorxe"}) {
		for _, d := range c.Contenders {
			what, mine := strings.CutPrefix(d.Name, "gorxe ")
			if !mine {
				continue
			}
			i := slices.IndexFunc(c.Contenders, func(o Contender) bool { return o.Name == "before "+what })
			if i < 0 || c.Contenders[i].Build != "/tmp/gorxe" || c.Contenders[i].Busy != d.Busy ||
				!slices.Equal(c.Contenders[i].Args, d.Args) {
				t.Errorf("%s: nobody before does what %s does", c.Name, d.Name)
			}
			if !slices.Contains(c.Ratios, Ratio{Of: d.Name, To: "before " + what}) {
				t.Errorf("%s: %s is not compared", c.Name, d.Name)
			}
		}
	}
}

func TestEveryMeasurementHasASeedOfItsOwn(t *testing.T) {
	j := &Job{Who: &Contender{Tool: "perf", Args: []string{"write_bw", "--fault-in", "drop=1%,seed={seed}"}}, Round: 2}
	if got := j.args(tools["perf"]); got[2] != "drop=1%,seed=3" || j.Who.Args[2] == got[2] {
		t.Errorf("%q of %q", got, j.Who.Args)
	}
}

// The tools of both ends get the same parameters in their own syntax, and only gorxe gets its own
// arguments.
func TestAnotherToolAtEachEnd(t *testing.T) {
	ends := [2]End{{"198.18.0.1", "rxe0", 1, ""}, {"198.18.0.2", "rxe1", 3, ""}}
	args, own := []string{"write_bw", "-s", "65536"}, []string{"--link", "udp"}
	run := []string{"-D", "5", "-f", "1"}
	bw, lat := &Contest{Metric: Bandwidth}, &Contest{Metric: Latency}
	rxe := append([]string{"ib_write_bw", "-s", "65536", "-F", "-d", "rxe1", "-x", "3", "-p", "20000"}, run...)
	gorxe := append([]string{"gorxe", "perf", "write_bw", "-s", "65536", "--link", "udp", "-d", "198.18.0.2", "-p",
		"20000", "--json", "--report_gbits"}, run...)
	for _, tt := range []struct {
		contest *Contest
		who     Contender
		end     int
		want    []string
	}{
		{bw, Contender{Tool: "perftest", Server: "perf", Args: args, Gorxe: own}, Client, append(rxe, "198.18.0.1")},
		{bw, Contender{Tool: "perf", Server: "perftest", Args: args, Gorxe: own}, Client, append(gorxe, "198.18.0.1")},
		{bw, Contender{Tool: "perf", Server: "perftest", Args: args, Gorxe: own}, Server,
			append([]string{"ib_write_bw", "-s", "65536", "-F", "-d", "rxe0", "-x", "1", "-p", "20000"}, run...)},
		{lat, Contender{Tool: "perftest", Args: []string{"send_lat", "-s", "8", "-e"}}, Server,
			[]string{"ib_send_lat", "-s", "8", "-e", "-F", "-d", "rxe0", "-x", "1", "-p", "20000", "-H", "-n", "1500"}},
		{lat, BareWays()[2], Server, []string{"bench", "bounce", "-p", "20000"}},
		{lat, BareWays()[2], Client,
			[]string{"bench", "bounce", "-p", "20000", "-way", "trap", "-n", "1500", "198.18.0.1"}},
	} {
		j := &Job{
			Contest: tt.contest, Who: &tt.who, Seconds: 3, Messages: 500, Port: 20000, Ends: ends,
			gorxe: "gorxe", bench: "bench",
		}
		if got := j.Argv(tt.end); !slices.Equal(got, tt.want) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// With a contender, the ratios to it are left out.
func TestOnly(t *testing.T) {
	c := Contest{Name: "x", Contenders: []Contender{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		Ratios: []Ratio{{Of: "a", To: "b"}, {Of: "c", To: "a"}, {Of: "b", To: "c"}, {Of: "b"}, {Of: "a"}}}
	c.Only(func(contest, contender string) bool { return contest == "x" && contender != "b" })
	if len(c.Contenders) != 2 || !slices.Equal(c.Ratios, []Ratio{{Of: "c", To: "a"}, {Of: "a"}}) {
		t.Errorf("%+v", c)
	}
}
