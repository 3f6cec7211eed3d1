package bench

import (
	"slices"

	"github.com/gorxe/gorxe/tools/bench/bounce"
)

// programContests returns contests of unmodified programs under gorxe run, over its default link.
func programContests(others []Build) []Contest {
	return []Contest{
		programBandwidth(others), programRate(others), programLatency(others), oneHostBandwidth(others),
		startTimes(others),
	}
}

// enter adds gorxe to the contenders, and other builds of it with the same arguments. It returns
// gorxe's name, which ends with what.
func (c *Contest) enter(others []Build, what string, d Contender) string {
	name := "gorxe " + what
	d.Name = name
	c.Contenders = append(c.Contenders, d)
	for _, o := range others {
		d.Name, d.Build = o.Name+" "+what, o.File
		c.Contenders = append(c.Contenders, d)
		c.Ratios = append(c.Ratios, Ratio{Of: name, To: d.Name})
	}
	return name
}

// deviceOwners are the processes that may have the device of a program under gorxe run: one that
// gorxe run starts, or a gorxe daemon. Each has a name for the reports, and the tools of the
// contests with perftest and with starts of programs.
var deviceOwners = []struct{ name, perftest, start string }{
	{"run", "run", "start-run"},
	{"run, daemon", "run-daemon", "start-run-daemon"},
}

// enterWays adds a perftest program under gorxe run, once for each entry of deviceOwners, and
// returns the names.
func (c *Contest) enterWays(others []Build, what string, args ...string) (names []string) {
	for _, w := range deviceOwners {
		name := c.enter(others, w.name+": "+perftestPrograms+args[0]+what, Contender{Tool: w.perftest, Args: args})
		names = append(names, name)
	}
	return names
}

// sharedCores says which processes of an end share its cores.
const sharedCores = "With a device of its own (`gorxe run --no-daemon`) the program and `gorxe run`, which has the " +
	"device, share what their end is bound to. Through a daemon three processes share it: the program, `gorxe " +
	"run` and the daemon, which has the device. "

// sharedCoreMessages is the number of messages per second of a latency test of programs: a
// program that polls on gorxe's core takes milliseconds for a message.
const sharedCoreMessages = 3000

// large64K returns the arguments of a test with messages of 64 KiB.
func large64K(test string) []string { return []string{test, "-s", "65536", "-m", "4096"} }

// largeTests are tests with messages of 64 KiB, and their operations.
var largeTests = []struct{ test, sends string }{{"write_bw", "WRITE"}, {"read_bw", "READ"}, {"send_bw", "SEND"}}

func programBandwidth(others []Build) Contest {
	c := Contest{
		Name: "programs", Title: "Programs under gorxe run", Metric: Bandwidth,
		About: "Unmodified perftest programs under `gorxe run` at both ends, beside `gorxe perf` on the same " +
			"path: 64 KiB messages on one reliable connection with path MTU 4096, 128 outstanding. " +
			sharedCores +
			"The programs poll for completions without a pause.",
	}
	for _, t := range largeTests {
		perf := c.enter(others, "perf: "+t.sends, Contender{Tool: "perf", Args: large64K(t.test)})
		for _, name := range c.enterWays(others, "", large64K(t.test)...) {
			c.Ratios = append(c.Ratios, Ratio{Of: name, To: perf, MinTarget: 0.75})
		}
	}
	return c
}

func programRate(others []Build) Contest {
	c := Contest{
		Name: "programs-rate", Title: "Message rate of programs", Metric: MessageRate,
		About: "WRITEs of 64 bytes, 1,024 outstanding, posted in lists of 64: `ib_write_bw` under `gorxe run` and " +
			"`gorxe perf`, bound to cores as above.",
	}
	args := []string{"write_bw", "-s", "64", "-t", "1024", "-l", "64"}
	perf := c.enter(others, "perf: lists", Contender{Tool: "perf", Args: args})
	for _, name := range c.enterWays(others, ", lists", args...) {
		c.Ratios = append(c.Ratios, Ratio{Of: name, MinTarget: 0.5}, Ratio{Of: name, To: perf})
	}
	return c
}

// Names of the variants of the bare loop that do the same as ib_send_lat under gorxe run, with -e
// and without.
const (
	BareEvents  = "bare loop: events"
	BarePolling = "bare loop: polling"
)

// AboutBare describes the bare loop, for contests that include it.
const AboutBare = "The bare loop is the same exchange of messages between a program and a process that has its " +
	"socket, without an RDMA transport: it shows how fast a device in another process can be that sleeps until " +
	"something comes. Datagrams: the process with the socket answers. Process: a pipe wakes the program, and inotify " +
	"reports its doorbell. Trap: the program also makes one system call for each message that seccomp user " +
	"notification gives to the device. Events: what `ib_send_lat -e` does for each message, with two completions, " +
	"two such calls and an acknowledgement. Polling: the program reads shared memory without a " +
	"pause; nothing is acknowledged."

// BareWays returns the variants of the bare loop, as contenders of a [Latency] contest with
// messages of 8 bytes.
func BareWays() []Contender {
	var out []Contender
	for _, w := range bounce.Ways() {
		out = append(out, Contender{Name: "bare loop: " + string(w), Tool: "bounce", Args: []string{"-way", string(w)}})
	}
	return out
}

func programLatency(others []Build) Contest {
	c := Contest{
		Name: "programs-latency", Title: "Latency of programs", Metric: Latency, Messages: sharedCoreMessages,
		About: "Half the round trip of a SEND of 8 bytes, on average: `ib_send_lat` under `gorxe run` and `gorxe " +
			"perf`, bound to cores as above. Events: the program waits in the kernel for each completion. " +
			"Polling: it polls without a pause. Where an end has one core, gorxe has to produce the completion " +
			"on the same one; `gorxe perf` does both in one thread. " + AboutBare,
		Contenders: BareWays(),
	}
	args := []string{"send_lat", "-s", "8"}
	for _, how := range []struct {
		name, bare     string
		perf, perftest []string
	}{
		{"events", BareEvents, []string{"--events"}, []string{"-e"}},
		{"polling", BarePolling, []string{"--busy-poll"}, nil},
	} {
		perf := c.enter(others, "perf: SEND, "+how.name, Contender{Tool: "perf", Args: slices.Concat(args, how.perf)})
		for _, name := range c.enterWays(others, ", "+how.name, slices.Concat(args, how.perftest)...) {
			c.Ratios = append(c.Ratios, Ratio{Of: name, To: perf}, Ratio{Of: name, To: how.bare})
		}
	}
	return c
}

func oneHostBandwidth(others []Build) Contest {
	c := Contest{
		Name: "one-host", Title: "Programs on one host", Metric: Bandwidth, OneHost: true,
		About: "Both ends on one host with one address: the queue pairs of both programs are those of one daemon. " +
			"The address of iperf3 is the same, so its TCP goes over the loopback interface. The server's " +
			"program and its `gorxe run` are bound as above, and so are those of the client. The daemon may use " +
			"what both ends are bound to, and has a column of its own.",
		Contenders: []Contender{
			{Name: rivalTCP, Tool: "iperf3"}, {Name: rivalCubic, Tool: "iperf3", Args: []string{"-C", "cubic"}},
		},
	}
	for _, t := range largeTests {
		name := c.enter(others, "run, daemon: "+perftestPrograms+t.test,
			Contender{Tool: "run-daemon", Args: large64K(t.test)})
		c.Ratios = append(c.Ratios, Ratio{Of: name, To: rivalTCP, MinTarget: 1},
			Ratio{Of: name, To: rivalCubic, MinTarget: 1})
	}
	return c
}

func startTimes(others []Build) Contest {
	c := Contest{
		Name: "start", Title: "Start of a program", Metric: StartUp,
		About: "Time from the start of a program to its end, the median of its starts one after another on one " +
			"core: of `true`, which does nothing, and of `ibv_devices`, which lists the devices. Through a " +
			"daemon: the daemon runs already. Without gorxe `ibv_devices` fails on a host that has no RDMA " +
			"device, after it has loaded its libraries and looked.",
	}
	for _, program := range []string{"true", "ibv_devices"} {
		c.Contenders = append(c.Contenders, Contender{Name: program, Tool: "start", Args: []string{program}})
		for _, w := range deviceOwners {
			name := c.enter(others, w.name+": "+program, Contender{Tool: w.start, Args: []string{program}})
			c.Ratios = append(c.Ratios, Ratio{Of: name, To: program, Difference: true, MaxTarget: 20})
		}
	}
	return c
}
