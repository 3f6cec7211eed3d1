package rival

import (
	"slices"

	"github.com/gorxe/gorxe/packet/links"
	"github.com/gorxe/gorxe/tools/bench"
)

// Links returns the links of gorxe that can be compared with rxe, each separately.
func Links() []string {
	return slices.DeleteFunc(links.Kinds(), func(kind string) bool { return kind == links.Auto })
}

// udpLink is gorxe's default link, which needs no privileges.
const udpLink = "udp"

// Names of the contenders of rxe.
const (
	rxeAlone  = "rxe"
	rxeSleeps = "rxe, sleeping"
	rxePolls  = "rxe, polling"
	rxeToRxe  = "rxe to rxe"
)

// Arguments of both ends for WRITEs of 64 KiB, and for SENDs of 8 bytes.
var (
	largeWrite = []string{"write_bw", "-s", "65536", "-m", "4096"}
	smallSend  = []string{"send_lat", "-s", "8"}
	sleeping   = []string{"--events"}
)

// contestsOver returns the contests of rxe and gorxe over the given links. Both programs take the
// same arguments.
func contestsOver(links []string) []bench.Contest {
	bw := bench.Contest{
		Name: "bandwidth", Title: "Bandwidth", Metric: bench.Bandwidth,
		About: "WRITEs of 64 KiB on one reliable connection with path MTU 4096, 128 outstanding: `ib_write_bw` with rxe at both ends, `gorxe " +
			"perf write_bw` with gorxe at both ends, and the same `ib_write_bw` under `gorxe run --no-daemon` at both " +
			"ends. There a program that polls takes half of the only processor from gorxe; with nice it is `gorxe run " +
			"--spin 0s -- nice -n 19 ib_write_bw`, with which each leaves it to the other.",
		Contenders: []bench.Contender{{Name: rxeAlone, Tool: "perftest", Args: largeWrite}},
	}
	lat := bench.Contest{
		Name: "latency", Title: "Latency", Metric: bench.Latency,
		About: "Half the round trip of a SEND of 8 bytes, on average: `ib_send_lat` and `gorxe perf send_lat`. Sleeping: both ends wait for " +
			"events of the completion queue. Polling: both ends look for completions without a pause, which is what perftest does unless told " +
			"otherwise. Each machine has one processor, so an end that polls takes it from the kernel's threads. " +
			"Under `gorxe run --no-daemon` it is the same `ib_send_lat` as on rxe; one that polls takes the processor from " +
			"gorxe as well, which is a process of its own. " + bench.AboutBare,
		Contenders: append([]bench.Contender{
			{Name: rxeSleeps, Tool: "perftest", Args: slices.Concat(smallSend, sleeping)},
			{Name: rxePolls, Tool: "perftest", Args: smallSend},
		}, bench.BareWays()...),
		Ratios: []bench.Ratio{{Of: rxeSleeps, To: bench.BareEvents}, {Of: rxePolls, To: bench.BarePolling}},
	}
	for _, link := range links {
		over := []string{"--link", link}
		atLeast := 1.0 // every link must be at least as fast as rxe
		if link == udpLink {
			atLeast = 1.2
		}
		who := bench.Contender{Name: "gorxe " + link, Tool: "perf", Args: largeWrite, Gorxe: over}
		bw.Contenders = append(bw.Contenders, who)
		bw.Ratios = append(bw.Ratios, bench.Ratio{Of: who.Name, To: rxeAlone, MinTarget: atLeast})

		sleeps := bench.Contender{Name: "gorxe " + link + ", sleeping", Tool: "perf",
			Args: slices.Concat(smallSend, sleeping), Gorxe: over}
		polls := bench.Contender{Name: "gorxe " + link + ", polling", Tool: "perf", Args: smallSend,
			Gorxe: slices.Concat([]string{"--busy-poll"}, over)}
		lat.Contenders = append(lat.Contenders, sleeps, polls)
		lat.Ratios = append(lat.Ratios, bench.Ratio{Of: sleeps.Name, To: rxeSleeps, MaxTarget: 1},
			bench.Ratio{Of: polls.Name, To: rxePolls, MaxTarget: 1},
			bench.Ratio{Of: sleeps.Name, To: rxePolls})
	}
	if slices.Contains(links, udpLink) {
		enterPrograms(&bw, &lat)
	}
	return []bench.Contest{bw, lat, lossContest("loss-0.1", "Goodput with 0.1 % lost", 0.001),
		lossContest("loss-1", "Goodput with 1 % lost", 0.01)}
}

// enterPrograms adds contenders that run rxe's programs under gorxe run, with its default link.
func enterPrograms(bw, lat *bench.Contest) {
	who := bench.Contender{Name: "gorxe run", Tool: "run", Args: largeWrite}
	nice := bench.Contender{
		Name: "gorxe run, nice", Tool: "run-nice", Args: largeWrite, Gorxe: []string{"--spin", "0s"},
	}
	bw.Contenders = append(bw.Contenders, who, nice)
	bw.Ratios = append(bw.Ratios, bench.Ratio{Of: who.Name, To: rxeAlone, MinTarget: 1},
		bench.Ratio{Of: nice.Name, To: rxeAlone, MinTarget: 1})

	sleeps := bench.Contender{Name: "gorxe run, sleeping", Tool: "run", Args: slices.Concat(smallSend, sleeping)}
	polls := bench.Contender{Name: "gorxe run, polling", Tool: "run", Args: smallSend}
	lat.Contenders = append(lat.Contenders, sleeps, polls)
	lat.Ratios = append(lat.Ratios, bench.Ratio{Of: sleeps.Name, To: rxeSleeps, MaxTarget: 1.5},
		bench.Ratio{Of: polls.Name, To: rxePolls, MaxTarget: 1.5},
		bench.Ratio{Of: sleeps.Name, To: bench.BareEvents}, bench.Ratio{Of: polls.Name, To: bench.BarePolling})
}

// lossContest returns a contest with rxe and gorxe at either end, in which every frame is lost
// with the same probability.
func lossContest(name, title string, loss float64) bench.Contest {
	c := bench.Contest{
		Name: name, Title: title, Metric: bench.Bandwidth, Loss: loss,
		About: "WRITEs of 64 KiB as above, over a cable between the machines that loses Ethernet frames on either way, acknowledgements like " +
			"data, each with the same probability. The first named is the client, which writes.",
	}
	for _, client := range []string{"rxe", "gorxe"} {
		for _, server := range []string{"rxe", "gorxe"} {
			tool := map[string]string{"rxe": "perftest", "gorxe": "perf"}
			who := bench.Contender{Name: client + " to " + server, Tool: tool[client], Server: tool[server],
				Args: largeWrite}
			c.Contenders = append(c.Contenders, who)
			if who.Name != rxeToRxe {
				c.Ratios = append(c.Ratios, bench.Ratio{Of: who.Name, To: rxeToRxe, MinTarget: 1})
			}
		}
	}
	return c
}
