package bench

import (
	"slices"
	"strconv"
	"time"
)

// startPackages are the Debian packages of the programs whose start is measured.
const startPackages = "coreutils ibverbs-utils"

// runDevice is the name of the device that programs under gorxe run see, and runGID the index of
// the end's address: the only one, because gorxe is given an address, not an interface.
const (
	runDevice = "rxe0"
	runGID    = 0
)

// owner is the process that owns the device of a program.
type owner uint8

const (
	noDevice     owner = iota // the program does not run under gorxe run
	ownDevice                 // gorxe run --no-daemon
	daemonDevice              // a daemon
)

// underRun returns the command line that runs a program of an end on the device of an owner.
func (j *Job) underRun(end int, on owner, program []string) []string {
	if on == noDevice {
		return program
	}
	argv := []string{j.program(), "run"}
	if on == daemonDevice {
		argv = append(argv, "--socket", j.Ends[end].Socket)
	} else {
		argv = append(argv, "--no-daemon", "-d", j.Ends[end].Address)
		argv = append(argv, j.seeded(slices.Clone(j.Who.Gorxe))...)
	}
	return append(append(argv, "--"), program...)
}

// daemonArgv returns the command line of the daemon that owns the device of an end. Like the
// daemons that gorxe run starts, it serves only programs.
func (j *Job) daemonArgv(end int) []string {
	socket := j.Ends[end].Socket
	return []string{
		j.program(), "daemon", "--device", j.Ends[end].Address, "--control-socket", socket + ".control",
		"--programs-socket", socket, "--rping=false", "--perftest=false", "--pingpong=false",
	}
}

// runPerftest returns a function that builds the command lines of perftest under gorxe run.
// before is a command that starts perftest, such as nice.
func runPerftest(on owner, before ...string) func(j *Job, end int, args []string) []string {
	return func(j *Job, end int, args []string) []string {
		inside := *j
		inside.Ends[end].Device, inside.Ends[end].GID = runDevice, runGID
		return j.underRun(end, on, slices.Concat(before, perftestArgv(&inside, end, args)))
	}
}

// startProgram returns a function that builds command lines that start a program repeatedly.
// Without gorxe a program may fail, as ibv_devices does if there is no device.
func startProgram(on owner) func(j *Job, end int, args []string) []string {
	return func(j *Job, end int, args []string) []string {
		argv := []string{j.bench, "starts", "-time", (time.Duration(j.Seconds) * time.Second).String(),
			"-any-status=" + strconv.FormatBool(on == noDevice), "--"}
		return append(argv, j.underRun(end, on, args)...)
	}
}
