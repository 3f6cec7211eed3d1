// Package sysmon makes the monitor thread of the Go runtime (sysmon) wake up rarely if the process
// has one P (GOMAXPROCS is 1). A program only has to import the package: when the program starts,
// the package's init function executes it again with the necessary GODEBUG setting. See
// docs/decisions/sysmon.md for the reasons.
package sysmon

import (
	"math"
	"os"
	"runtime"
	"slices"
	"syscall"
)

// variable is the environment variable that the runtime reads when it starts.
const variable = "GODEBUG"

// setting makes the monitor thread print the state of the scheduler at an interval, here the
// longest possible one, in milliseconds, counted from the start of the host. A monitor thread with
// this task never enters the sleep from which system calls wake it.
const (
	tracing = "schedtrace="
	setting = tracing + "2147483647"
)

// longestUptime is the maximum uptime of the host in seconds, one day less than the interval of
// setting: on a host with a longer uptime, the runtime would print the state immediately.
const longestUptime = math.MaxInt32/1000 - 24*60*60

// commands are the subcommands that run a device: its threads sleep and wake up for each message.
var commands = []string{"run", "daemon", "perf"}

// init runs before the init functions of most packages, which would otherwise run twice. So this
// package imports little, not even strings.
func init() {
	if len(os.Args) < 2 || !slices.Contains(commands, os.Args[1]) {
		return
	}
	value := os.Getenv(variable)
	if before, found := cut(value); found {
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
	// The first entry of a name takes effect. If the exec fails, for example because of a
	// security policy, the process continues unchanged.
	_ = syscall.Exec(path, os.Args, append([]string{variable + "=" + value + setting}, os.Environ()...))
}

// cut returns value without setting at its end. found is false if value does not end with setting.
func cut(value string) (before string, found bool) {
	n := len(value) - len(setting)
	if n < 0 || value[n:] != setting {
		return value, false
	}
	return value[:max(n-1, 0)], true
}

// restore restores the original environment of the process, which its children inherit.
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
