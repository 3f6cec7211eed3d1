package bench

import (
	"fmt"
	"strconv"
)

// tool is a program that measures, run at both ends. Its server listens on a TCP port when it is ready.
type tool struct {
	program  string // empty: this one
	many     bool   // program is how the names of several begin; the first argument is how they go on
	gorxe    bool   // it is gorxe that is measured
	wraps    bool   // gorxe runs the program: Contender.Gorxe stands before the program, not behind its arguments
	daemon   bool   // a gorxe daemon has the device of each end
	alone    bool   // there is no server
	profiled bool   // each end writes a profile if it is told to
	from     string // the Debian package that has it
	version  []string
	counts   bool                                          // what is sent again
	unsliced bool                                          // what it prints is wrong if it is stopped now and then: it has no median
	stays    bool                                          // the server serves more than one client, and has to be ended
	argv     func(j *Job, end int, args []string) []string // args are the contender's
	parse    func(m Metric, client []byte) (Measured, error)
}

// tools are by name.
var tools = map[string]*tool{
	"perf":     {gorxe: true, counts: true, profiled: true, argv: perfArgv, parse: parsePerf},
	"blast":    {argv: blastArgv, parse: parseBlast},
	"bounce":   {counts: true, argv: bounceArgv, parse: parseBounce},
	"iperf3":   {program: "iperf3", from: "iperf3", version: []string{"--version"}, counts: true, argv: iperfArgv, parse: parseIperf},
	"qperf":    {program: "qperf", from: "qperf", version: []string{"--version"}, stays: true, unsliced: true, argv: qperfArgv, parse: parseQperf},
	"perftest": {program: perftestPrograms, many: true, from: "perftest", version: []string{"--version"}, argv: perftestArgv, parse: parsePerftest},

	// Unmodified programs under gorxe run, with a device of their own and with that of a daemon.
	"run": {
		program: perftestPrograms, many: true, gorxe: true, wraps: true, from: "perftest", version: []string{"--version"},
		argv: runPerftest(ownDevice), parse: parsePerftest,
	},
	// With a device of its own, and less of a processor that device and program share: one that polls takes half of it.
	"run-nice": {
		program: perftestPrograms, many: true, gorxe: true, wraps: true, from: "perftest", version: []string{"--version"},
		argv: runPerftest(ownDevice, "nice", "-n", "19"), parse: parsePerftest,
	},
	"run-daemon": {
		program: perftestPrograms, many: true, gorxe: true, wraps: true, daemon: true, from: "perftest",
		version: []string{"--version"}, argv: runPerftest(daemonDevice), parse: parsePerftest,
	},

	// Programs that start and end, without gorxe, and as above.
	"start": {many: true, alone: true, from: startPackages, argv: startProgram(noDevice), parse: parseStarts},
	"start-run": {
		many: true, alone: true, gorxe: true, wraps: true, from: startPackages, argv: startProgram(ownDevice), parse: parseStarts,
	},
	"start-run-daemon": {
		many: true, alone: true, gorxe: true, wraps: true, daemon: true, from: startPackages, argv: startProgram(daemonDevice),
		parse: parseStarts,
	},
}

// file is the program that a contender's arguments make of the tool; empty: this one.
func (t *tool) file(args []string) string {
	if t.many && len(args) > 0 {
		return t.program + args[0]
	}
	return t.program
}

// perfMargin is what a run of gorxe perf or perftest leaves out at either end, in seconds. Others are given it as time to get going.
const perfMargin = 1

func perfArgv(j *Job, end int, args []string) []string {
	argv := append([]string{j.program(), "perf"}, args...)
	argv = append(argv, "-d", j.Ends[end].Address, "-p", strconv.Itoa(j.Port), "--json")
	if j.Profile != "" {
		argv = append(argv, "--cpuprofile", j.ProfileOf(end))
	}
	if j.Contest.Metric != Latency {
		argv = append(argv, "--report_gbits")
	}
	return j.toServer(end, append(argv, j.length()...))
}

// perftestPrograms is how the names of perftest's programs begin.
const perftestPrograms = "ib_"

// perftestArgv is that of perftest with the kernel's devices. It reports MiB/s with two digits behind the point, of which more
// count than of Gbit/s.
func perftestArgv(j *Job, end int, args []string) []string {
	argv := append([]string{perftestPrograms + args[0]}, args[1:]...)
	argv = append(argv, "-F", "-d", j.Ends[end].Device, "-x", strconv.Itoa(j.Ends[end].GID), "-p", strconv.Itoa(j.Port))
	return j.toServer(end, append(argv, j.length()...))
}

func blastArgv(j *Job, end int, args []string) []string {
	argv := []string{j.bench, "blast", "-p", strconv.Itoa(j.Port)}
	if end == Client {
		argv = append(append(argv, args...), "--time", fmt.Sprintf("%ds", j.Seconds))
	}
	return j.toServer(end, argv)
}

func bounceArgv(j *Job, end int, args []string) []string {
	argv := []string{j.bench, "bounce", "-p", strconv.Itoa(j.Port)}
	if end == Client {
		argv = append(append(argv, args...), "-n", strconv.Itoa(j.Messages*j.Seconds))
	}
	return j.toServer(end, argv)
}

func iperfArgv(j *Job, end int, args []string) []string {
	if end == Server {
		return []string{"iperf3", "-s", "-1", "-p", strconv.Itoa(j.Port)}
	}
	argv := []string{"iperf3", "-c", j.Ends[Server].Address, "-p", strconv.Itoa(j.Port), "-J", "-O", strconv.Itoa(perfMargin), "-t", strconv.Itoa(j.Seconds)}
	return append(argv, args...)
}

func qperfArgv(j *Job, end int, args []string) []string {
	if end == Server {
		return []string{"qperf", "-lp", strconv.Itoa(j.Port)}
	}
	// Six digits, and no test but those that args name.
	argv := []string{"qperf", j.Ends[Server].Address, "-lp", strconv.Itoa(j.Port), "-t", strconv.Itoa(j.Seconds), "-e", "6"}
	return append(argv, args...)
}
