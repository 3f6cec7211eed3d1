package bench

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// gorxe run precedes the program, and arguments of gorxe alone precede "--".
func TestProgramsAreStartedUnderGorxeRun(t *testing.T) {
	ends := [2]End{{"198.18.0.1", "none", 7, "/s0"}, {"198.18.0.2", "none", 7, "/s1"}}
	bw, start := &Contest{Metric: Bandwidth}, &Contest{Metric: StartUp}
	perftest := "ib_write_bw -s 64 -F -d rxe0 -x 0 -p 20000 -D 5 -f 1"
	write := []string{"write_bw", "-s", "64"}
	for _, tt := range []struct {
		contest *Contest
		who     Contender
		end     int
		want    string
	}{
		{bw, Contender{Tool: "run", Args: write, Gorxe: []string{"--link", "raw"}}, Server,
			"gorxe run --no-daemon -d 198.18.0.1 --link raw -- " + perftest},
		{bw, Contender{Tool: "run", Args: write, Build: "/old/gorxe"}, Client,
			"/old/gorxe run --no-daemon -d 198.18.0.2 -- " + perftest + " 198.18.0.1"},
		{bw, Contender{Tool: "run-nice", Args: write}, Client,
			"gorxe run --no-daemon -d 198.18.0.2 -- nice -n 19 " + perftest + " 198.18.0.1"},
		{bw, Contender{Tool: "run-daemon", Args: write}, Server, "gorxe run --socket /s0 -- " + perftest},
		{bw, Contender{Tool: "run-daemon", Args: write}, Client,
			"gorxe run --socket /s1 -- " + perftest + " 198.18.0.1"},
		{start, Contender{Tool: "start", Args: []string{"true"}}, Client,
			"bench starts -time 3s -any-status=true -- true"},
		{start, Contender{Tool: "start-run", Args: []string{"true"}}, Client,
			"bench starts -time 3s -any-status=false -- gorxe run --no-daemon -d 198.18.0.2 -- true"},
		{start, Contender{Tool: "start-run-daemon", Args: []string{"true"}}, Client,
			"bench starts -time 3s -any-status=false -- gorxe run --socket /s1 -- true"},
	} {
		j := &Job{Contest: tt.contest, Who: &tt.who, Seconds: 3, Port: 20000, Ends: ends, gorxe: "gorxe",
			bench: "bench"}
		if got := strings.Join(j.Argv(tt.end), " "); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
}

// Programs that wait for events, and those that poll, are compared with the corresponding bare
// loop.
func TestProgramsAreComparedWithTheBareLoop(t *testing.T) {
	c := programLatency(nil)
	ways := BareWays()
	if names := []string{BareEvents, BarePolling}; ways[3].Name != names[0] || ways[4].Name != names[1] {
		t.Errorf("%+v, want %q", ways, names)
	}
	for _, w := range ways {
		if d := c.contender(w.Name); d == nil || d.Tool != "bounce" {
			t.Errorf("%s: %+v", w.Name, d)
		}
	}
	for of, to := range map[string]string{
		"gorxe run: ib_send_lat, events": BareEvents, "gorxe run: ib_send_lat, polling": BarePolling,
		"gorxe run, daemon: ib_send_lat, events": BareEvents, "gorxe run, daemon: ib_send_lat, polling": BarePolling,
	} {
		if !slices.Contains(c.Ratios, Ratio{Of: of, To: to}) {
			t.Errorf("%s is not compared with %s", of, to)
		}
	}
}

func TestOneHostHasOneAddressAndOneDaemon(t *testing.T) {
	for _, oneHost := range []bool{false, true} {
		j := &Job{Contest: &Contest{OneHost: oneHost}, Who: &Contender{Tool: "run-daemon"}, gorxe: "gorxe"}
		if err := (namespaces{&ground{dir: "/d"}}).Prepare(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		s, c := j.Ends[Server], j.Ends[Client]
		if (s.Address == c.Address) != (oneHost || mtu == 0) || (s.Socket == c.Socket) != oneHost {
			t.Errorf("one host %v: %+v", oneHost, j.Ends)
		}
		if argv := j.daemonArgv(Server); !slices.Contains(argv, s.Socket) || !slices.Contains(argv, s.Address) {
			t.Errorf("its daemon: %q", argv)
		}
	}
}

// oneHostReport has a contest on one host, and differences.
func oneHostReport() *Report {
	contest := Contest{
		Name: "x", Title: "X", Metric: StartUp, OneHost: true,
		Contenders: []Contender{
			{Name: "rival", Tool: "iperf3"}, {Name: "gorxe", Tool: "run-daemon", Args: []string{"write_bw"}},
		},
		Ratios: []Ratio{{Of: "gorxe", To: "rival", Difference: true, MaxTarget: 20}},
	}
	sample := func(who string, round int, v, shared float64) Sample {
		return Sample{
			Contest: "x", Contender: who, Round: round, Measured: Measured{Value: v}, CPU: [2]float64{0.25, 1},
			Shared: shared,
		}
	}
	return &Report{Contests: []Contest{contest}, Samples: []Sample{
		sample("rival", 1, 1, 0), sample("gorxe", 1, 12, 0.75), sample("rival", 2, 2, 0), sample("gorxe", 2, 17, 0.75),
	}}
}

func TestThePageShowsTheSharedDaemonAndDifferences(t *testing.T) {
	var b bytes.Buffer
	if err := oneHostReport().Markdown(&b, ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| cores: server | client | daemon | per core | sent again: median | most | disturbed |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
		"| rival | **1.5** | 1.25 – 1.75 | 1 – 2 | 0.25 | 1.00 |  |  | 0 | 0 | 0 of 2 |\n",
		"| gorxe | **14.5** | 13.2 – 15.8 | 12 – 17 | 0.25 | 1.00 | 0.75 |  |  |  | 0 of 2 |\n",
		"| gorxe − rival, ms | **13** | 11 – 15 | ≤ 20 | yes |\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, &b)
		}
	}
}
