// Package sysmon starts gorxe with a monitor thread of the Go runtime that looks seldom, where the process has one
// processor. Importing it is all that a program does for that. Why: docs/decisions/sysmon.md.
package sysmon

import (
	"math"
	"os"
	"runtime"
	"slices"
	"syscall"
)

// variable is the environment variable that the runtime reads at its start.
const variable = "GODEBUG"

// setting keeps the monitor thread out of the sleep from which system calls wake it: it is to print the state of the
// scheduler from time to time. That time, in milliseconds, is the longest there is, and counts from the start of the
// host.
const (
	tracing = "schedtrace="
	setting = tracing + "2147483647"
)

// longestUptime is how many seconds the host may have run: a day less than setting says. The runtime prints its line at
// once otherwise.
const longestUptime = math.MaxInt32/1000 - 24*60*60

// commands are those with a device, whose threads wait and are woken for each message.
var commands = []string{"run", "daemon", "perf"}

// init comes before those of most packages, which would be done twice. So this package imports little, not even
// strings.
func init() {
	if len(os.Args) < 2 || !slices.Contains(commands, os.Args[1]) {
		return
	}
	value := os.Getenv(variable)
	if before, is := cut(value); is {
		restore(before)
		return
	}
	var info syscall.Sysinfo_t
	if runtime.GOMAXPROCS(0) > 1 || contains(value, tracing) ||
		syscall.Sysinfo(&info) != nil || info.Uptime > longestUptime {
		return
	}
	path, err := os.Executable()
	if err != nil {
		return
	}
	if value != "" {
		value += ","
	}
	// The first one of a name counts. Where this fails, as by a security policy, the process goes on as it is.
	_ = syscall.Exec(path, os.Args, append([]string{variable + "=" + value + setting}, os.Environ()...))
}

// cut returns the value of the variable without setting, false if that is not at its end.
func cut(value string) (before string, is bool) {
	n := len(value) - len(setting)
	if n < 0 || value[n:] != setting {
		return value, false
	}
	return value[:max(n-1, 0)], true
}

// restore gives the process, and so what it starts, the environment that it was started with.
func restore(value string) {
	if value == "" {
		_ = os.Unsetenv(variable)
		return
	}
	_ = os.Setenv(variable, value)
}

func contains(s, part string) bool {
	for i := range len(s) - len(part) + 1 {
		if s[i:i+len(part)] == part {
			return true
		}
	}
	return false
}
