package bench

import (
	"fmt"
	"strconv"
)

// tool is a program that measures, run at both ends. Its server listens on a TCP port once it is
// ready.
type tool struct {
	program            string // empty: this program
	prefix             bool   // program is a prefix of the names of several programs; the first argument is the rest
	gorxe              bool   // gorxe is measured
	runsInside         bool   // gorxe runs the program; Contender.Gorxe goes before the program
	daemon             bool   // a gorxe daemon owns the device of each end
	noServer           bool   // there is no server
	profiled           bool   // each end can write a profile
	from               string // Debian package that contains it
	version            []string
	reportsRetransmits bool                                          // it reports retransmissions
	notPausable        bool                                          // stops distort its result, which is not a median
	persistent         bool                                          // the server does not end by itself
	argv               func(j *Job, end int, args []string) []string // args are those of the contender
	parse              func(m Metric, client []byte) (Measured, error)
}

// tools has the tools by name.
var tools = map[string]*tool{
	"perf":   {gorxe: true, reportsRetransmits: true, profiled: true, argv: perfArgv, parse: parsePerf},
	"blast":  {argv: blastArgv, parse: parseBlast},
	"bounce": {reportsRetransmits: true, argv: bounceArgv, parse: parseBounce},
	"iperf3": {program: "iperf3", from: "iperf3", version: []string{"--version"}, reportsRetransmits: true,
		argv: iperfArgv, parse: parseIperf},
	"qperf": {program: "qperf", from: "qperf", version: []string{"--version"}, persistent: true, notPausable: true,
		argv: qperfArgv, parse: parseQperf},
	"perftest": {program: perftestPrograms, prefix: true, from: "perftest", version: []string{"--version"},
		argv: perftestArgv, parse: parsePerftest},

	// Unmodified programs under gorxe run, with their own device or a daemon's.
	"run": {
		program: perftestPrograms, prefix: true, gorxe: true,
		runsInside: true, from: "perftest", version: []string{"--version"},
		argv: runPerftest(ownDevice), parse: parsePerftest,
	},
	// With its own device, and lower priority for the program: a program that polls takes half of
	// a processor that it shares with the device.
	"run-nice": {
		program: perftestPrograms, prefix: true, gorxe: true,
		runsInside: true, from: "perftest", version: []string{"--version"},
		argv: runPerftest(ownDevice, "nice", "-n", "19"), parse: parsePerftest,
	},
	"run-daemon": {
		program: perftestPrograms, prefix: true, gorxe: true, runsInside: true, daemon: true, from: "perftest",
		version: []string{"--version"}, argv: runPerftest(daemonDevice), parse: parsePerftest,
	},

	// Programs that start and end, without gorxe or under gorxe run as above.
	"start": {prefix: true, noServer: true, from: startPackages, argv: startProgram(noDevice), parse: parseStarts},
	"start-run": {
		prefix: true, noServer: true, gorxe: true, runsInside: true, from: startPackages, argv: startProgram(ownDevice),
		parse: parseStarts,
	},
	"start-run-daemon": {
		prefix: true, noServer: true, gorxe: true, runsInside: true, daemon: true, from: startPackages,
		argv:  startProgram(daemonDevice),
		parse: parseStarts,
	},
}

// file returns the program that the tool runs with a contender's arguments; empty: this program.
func (t *tool) file(args []string) string {
	if t.prefix && len(args) > 0 {
		return t.program + args[0]
	}
	return t.program
}

// perfMargin is the time, in seconds, that gorxe perf and perftest do not count at either end of
// a run. Other tools get it as warm-up time.
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

// perftestPrograms is the prefix of the names of perftest's programs.
const perftestPrograms = "ib_"

// perftestArgv is the argv function of perftest with the kernel's devices. perftest reports two
// decimals, which are more significant digits in MiB/s than in Gbit/s.
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
	argv := []string{"iperf3", "-c", j.Ends[Server].Address, "-p", strconv.Itoa(j.Port), "-J", "-O",
		strconv.Itoa(perfMargin), "-t", strconv.Itoa(j.Seconds)}
	return append(argv, args...)
}

func qperfArgv(j *Job, end int, args []string) []string {
	if end == Server {
		return []string{"qperf", "-lp", strconv.Itoa(j.Port)}
	}
	// Six significant digits, and no tests except those in args.
	argv := []string{"qperf", j.Ends[Server].Address, "-lp", strconv.Itoa(j.Port), "-t",
		strconv.Itoa(j.Seconds), "-e", "6"}
	return append(argv, args...)
}
