package bench

import (
	"cmp"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The ends of a path, as indexes.
const (
	Server = iota
	Client
)

// Job is one measurement, with the parameters of the tools at its ends.
type Job struct {
	Contest *Contest
	Who     *Contender
	Round   int // from 0
	Seconds int // counted part of the measurement
	// Messages is the number of messages of a latency test per second of Seconds.
	Messages int
	Profile  string // prefix of the names of profiles; empty: none
	Port     int    // TCP port of the tools
	Ends     [2]End // set by the ground

	// started, if not nil, is called with each process and its end as soon as the process runs.
	started func(end int, c *exec.Cmd)

	gorxe string // file of gorxe, unless the contender has its own build
	bench string // file of the program that has the commands blast, bounce, starts and busy
}

// End is an end of the path as the tools see it.
type End struct {
	Address string
	Device  string // kernel RDMA device, for perftest
	GID     int    // index of the address in the device's GID table
	// Socket is the programs socket of the gorxe daemon that owns the device of the end, if the
	// job has daemons.
	Socket string
}

// start calls started.
func (j *Job) start(end int, c *exec.Cmd) {
	if j.started != nil {
		j.started(end, c)
	}
}

// Argv returns the command line of an end.
func (j *Job) Argv(end int) []string {
	t := j.Who.tool(end)
	return t.argv(j, end, j.args(t))
}

// Stays reports whether the server serves more than one client and must be stopped.
func (j *Job) Stays() bool { return j.Who.tool(Server).persistent }

// Alone reports whether there is no server: the client measures by itself.
func (j *Job) Alone() bool { return j.Who.tool(Client).noServer }

// Gorxe reports whether gorxe runs at an end.
func (j *Job) Gorxe(end int) bool { return j.Who.tool(end).gorxe }

// Daemons reports whether gorxe daemons own the devices of the ends. A job on one host has one
// daemon, the server's.
func (j *Job) Daemons() bool { return j.Who.tool(Client).daemon }

// Profiled reports whether an end writes a profile to ProfileOf.
func (j *Job) Profiled(end int) bool { return j.Profile != "" && j.Who.tool(end).profiled }

// ProfileOf returns the file of an end's profile.
func (j *Job) ProfileOf(end int) string {
	return fmt.Sprintf("%s-%s.prof", j.Profile, [...]string{"server", "client"}[end])
}

// overLimit is the time that a client may take in addition to the counted time.
const overLimit = 45 * time.Second

// Limit returns the time after which a client is killed.
func (j *Job) Limit() time.Duration { return time.Duration(j.Seconds)*time.Second + overLimit }

// args returns the contender's own arguments for a tool.
func (j *Job) args(t *tool) []string {
	out := slices.Clone(j.Who.Args)
	if t.gorxe && !t.runsInside {
		out = append(out, j.Who.Gorxe...)
	}
	return j.seeded(out)
}

// seeded replaces {seed} in arguments by a number that differs for every round.
func (j *Job) seeded(out []string) []string {
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], "{seed}", strconv.Itoa(j.Round+1))
	}
	return out
}

// program returns the file of the gorxe that is measured.
func (j *Job) program() string { return cmp.Or(j.Who.Build, j.gorxe) }

// length returns the arguments of gorxe perf and perftest that set the length of the measurement.
func (j *Job) length() []string {
	if j.Contest.Metric == Latency {
		return []string{"-H", "-n", strconv.Itoa(j.Messages * j.Seconds)}
	}
	return []string{"-D", strconv.Itoa(j.Seconds + 2*perfMargin), "-f", strconv.Itoa(perfMargin)}
}

// toServer appends the server's address to the arguments of a client.
func (j *Job) toServer(end int, argv []string) []string {
	if end == Client {
		argv = append(argv, j.Ends[Server].Address)
	}
	return argv
}
