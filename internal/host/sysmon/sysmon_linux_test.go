package sysmon

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// marker makes the test binary a program that prints the settings that its runtime started with,
// and those that it would pass on.
const marker = "GORXE_SYSMON_PRINT"

func TestMain(m *testing.M) {
	if os.Getenv(marker) == "" {
		os.Exit(m.Run())
	}
	started, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var at []byte
	for v := range bytes.SplitSeq(started, []byte{0}) {
		if value, is := bytes.CutPrefix(v, []byte(variable+"=")); is && at == nil { // the first one counts
			at = value
		}
	}
	value, set := os.LookupEnv(variable)
	fmt.Printf("%s|%s|%v|%s\n", at, value, set, strings.Join(os.Args[1:], " "))
	os.Exit(0)
}

// outputOn runs this binary with arguments on n processors, with GODEBUG set to value unless that
// is empty.
func outputOn(t *testing.T, n int, value string, args ...string) string {
	t.Helper()
	runtime.LockOSThread() // the child has the processors of the thread that starts it
	defer runtime.UnlockOSThread()
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	if before.Count() < n {
		t.Skipf("this test needs %d processors, it may use %d", n, before.Count())
	}
	for i := 0; set.Count() < n; i++ {
		if before.IsSet(i) {
			set.Set(i)
		}
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.SchedSetaffinity(0, &before); err != nil {
			t.Fatal(err)
		}
	}()
	c := exec.Command("/proc/self/exe", args...)
	c.Env = []string{marker + "=1", "GORACE=atexit_sleep_ms=0"} // the race detector would sleep at the end
	if value != "" {
		c.Env = append(c.Env, variable+"="+value)
	}
	var errors strings.Builder
	c.Stderr = &errors
	out, err := c.Output()
	if err != nil || errors.Len() > 0 {
		t.Fatalf("%v, standard error %q", err, errors.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

func TestCommandsWithADeviceStartWithASlowMonitorOnOneProcessor(t *testing.T) {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil || info.Uptime > longestUptime {
		t.Skipf("this host has run for longer than the setting can say: %d s, %v", info.Uptime, err)
	}
	for _, c := range []struct {
		name       string
		processors int
		value      string
		args       []string
		want       string // at the start | now | set | arguments
	}{
		{"run", 1, "", []string{"run", "--", "true"}, setting + "||false|run -- true"},
		{"daemon", 1, "", []string{"daemon"}, setting + "||false|daemon"},
		{"beside a setting of the user", 1, "netdns=go", []string{"perf"},
			"netdns=go," + setting + "|netdns=go|true|perf"},
		{"the user traces the scheduler", 1, "schedtrace=0", []string{"perf"}, "schedtrace=0|schedtrace=0|true|perf"},
		{"other command", 1, "", []string{"devices"}, "||false|devices"},
		{"no command", 1, "", nil, "||false|"},
		{"two processors", 2, "", []string{"run"}, "||false|run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := outputOn(t, c.processors, c.value, c.args...); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
