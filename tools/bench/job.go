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

// Job is one measurement, as the tools at its ends are told of it.
type Job struct {
	Contest *Contest
	Who     *Contender
	Round   int // from 0
	Seconds int // that count
	// Messages is how many messages a latency test exchanges for each of the seconds.
	Messages int
	Profile  string // how the names of profiles begin; empty for none
	Port     int    // TCP, on which the ends meet
	Ends     [2]End // filled in by the ground

	// started, if not nil, is called with each process as soon as it runs, and with its end.
	started func(end int, c *exec.Cmd)

	gorxe string // file of the gorxe that takes part unless the contender has a build of its own
	bench string // file of the program whose commands some tools are: bare UDP, the bare loop and starts
}

// End is a host as a tool is told of it.
type End struct {
	Address string
	Device  string // the kernel's RDMA device, for perftest
	GID     int    // the index of the address among the device's
	// Socket is the programs socket of the gorxe daemon that has the device of the end, where the job has daemons.
	Socket string
}

// start calls started.
func (j *Job) start(end int, c *exec.Cmd) {
	if j.started != nil {
		j.started(end, c)
	}
}

// Argv is the command line of an end.
func (j *Job) Argv(end int) []string {
	t := j.Who.tool(end)
	return t.argv(j, end, j.args(t))
}

// Stays reports whether the server serves more than one client, and has to be ended.
func (j *Job) Stays() bool { return j.Who.tool(Server).stays }

// Alone reports whether there is no server: the client measures by itself.
func (j *Job) Alone() bool { return j.Who.tool(Client).alone }

// Gorxe reports whether gorxe is at an end.
func (j *Job) Gorxe(end int) bool { return j.Who.tool(end).gorxe }

// Daemons reports whether gorxe daemons have the devices of the ends. A job on one host has one, which is the server's.
func (j *Job) Daemons() bool { return j.Who.tool(Client).daemon }

// Profiled reports whether an end writes a profile to ProfileOf.
func (j *Job) Profiled(end int) bool { return j.Profile != "" && j.Who.tool(end).profiled }

// ProfileOf is the file with an end's profile.
func (j *Job) ProfileOf(end int) string {
	return fmt.Sprintf("%s-%s.prof", j.Profile, [...]string{"server", "client"}[end])
}

// overLimit is how long a client may take beside the time that counts.
const overLimit = 45 * time.Second

// Limit is when a client is given up.
func (j *Job) Limit() time.Duration { return time.Duration(j.Seconds)*time.Second + overLimit }

// args are the contender's own arguments for a tool.
func (j *Job) args(t *tool) []string {
	out := slices.Clone(j.Who.Args)
	if t.gorxe && !t.wraps {
		out = append(out, j.Who.Gorxe...)
	}
	return j.seeded(out)
}

// seeded replaces {seed} in arguments by a number that every round has of its own.
func (j *Job) seeded(out []string) []string {
	for i := range out {
		out[i] = strings.ReplaceAll(out[i], "{seed}", strconv.Itoa(j.Round+1))
	}
	return out
}

// program is the file of gorxe that takes part.
func (j *Job) program() string { return cmp.Or(j.Who.Build, j.gorxe) }

// length is how long the measurement is, as gorxe perf and perftest are told.
func (j *Job) length() []string {
	if j.Contest.Metric == Latency {
		return []string{"-H", "-n", strconv.Itoa(j.Messages * j.Seconds)}
	}
	return []string{"-D", strconv.Itoa(j.Seconds + 2*perfMargin), "-f", strconv.Itoa(perfMargin)}
}

// toServer is what a client is told behind everything else: where its server is.
func (j *Job) toServer(end int, argv []string) []string {
	if end == Client {
		argv = append(argv, j.Ends[Server].Address)
	}
	return argv
}
