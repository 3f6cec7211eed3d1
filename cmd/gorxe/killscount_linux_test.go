package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorxe/gorxe/conformance/leaks"
	"github.com/gorxe/gorxe/internal/race"
	"golang.org/x/sys/unix"
)

type unixStatus = syscall.WaitStatus

// An end is a program with its own gorxe run.
type end struct {
	*exec.Cmd
	t      *testing.T
	line   string
	daemon *counted
	done   chan struct{} // closed when err is set
	err    error

	mu  sync.Mutex
	out bytes.Buffer // guarded by mu
}

func (k *killing) startEnd(d *counted, line string) *end {
	k.t.Helper()
	e := &end{t: k.t, line: line, daemon: d, done: make(chan struct{})}
	e.Cmd = k.command("gorxe run --socket " + d.programs + " -- " + line)
	e.Stdout, e.Stderr = e, e
	e.WaitDelay = 10 * time.Second
	if err := e.Start(); err != nil {
		k.t.Fatal(err)
	}
	k.ends = append(k.ends, e)
	go func() {
		e.err = e.Wait()
		close(e.done)
	}()
	return e
}

// Write stores the output of the program.
func (e *end) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.out.Write(p)
}

// text returns the output of the program so far.
func (e *end) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.out.String()
}

func (e *end) over() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

func (e *end) signal(pid int, sig unix.Signal) {
	e.t.Helper()
	if err := unix.Kill(pid, sig); err != nil {
		e.t.Fatalf("%s: signal %v: %v", e.line, sig, err)
	}
}

// terminate sends SIGTERM to gorxe run, which ends its program. It may have ended already.
func (e *end) terminate() {
	e.t.Helper()
	if err := unix.Kill(e.Process.Pid, unix.SIGTERM); err != nil && err != unix.ESRCH {
		e.t.Fatalf("%s: SIGTERM: %v", e.line, err)
	}
}

// A counted daemon is a daemon whose metrics are read.
type counted struct {
	*daemon
	address, control, programs, metrics string
	idle                                map[string]float64
	first                               leaks.Sample // after the first round, which opens files that remain open
	samples                             []leaks.Sample
}

func (k *killing) startCounted(i int) *counted {
	k.t.Helper()
	c := &counted{
		address: fmt.Sprintf("127.55.14.%d", 1+2*int(k.victim)+i), control: filepath.Join(k.dir, string(rune('a'+i))),
		metrics: freePort(k.t),
	}
	c.programs = c.control + ".programs"
	c.daemon = k.start("gorxe daemon --control-socket " + c.control + " --metrics-listen " + c.metrics +
		" --rping=false --perftest=false --pingpong=false --device " + c.address)
	c.idle = c.gauges(k.t).Held()
	return c
}

func (c *counted) gauges(t *testing.T) leaks.Gauges {
	t.Helper()
	r, err := http.Get("http://" + c.metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	g, err := leaks.Read(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// cmConnections is the gauge of connections, those in TIME-WAIT included.
const cmConnections = "gorxe_cm_connections"

// metricsInterval is the maximum age of metrics, see docs/operations.md.
const metricsInterval = 100 * time.Millisecond

// awaitIdle waits until the daemon holds as much as before the first round. Without connections,
// those of rdma_cm are not compared.
func (c *counted) awaitIdle(t *testing.T, connections bool) (g leaks.Gauges) {
	t.Helper()
	late := time.After(5 * time.Minute)
	for {
		g = c.gauges(t)
		if !connections {
			g[cmConnections] = c.idle[cmConnections]
		}
		rest := g.Beyond(c.idle)
		if rest == "" {
			return g
		}
		select {
		case <-time.After(metricsInterval):
		case <-late:
			t.Fatalf("after 5 minutes the daemon on %s still holds %s", c.address, rest)
		}
	}
}

// surviving returns the daemons that are not killed.
func (k *killing) surviving() []*counted {
	if k.victim == theDaemon {
		return k.daemons[1:]
	}
	return k.daemons[:]
}

// sample records the host resources of the surviving daemons after a number of rounds.
func (k *killing) sample(rounds int) {
	k.t.Helper()
	for _, c := range k.surviving() {
		s := c.gauges(k.t).Sample()
		judged := s
		if race.Enabled {
			judged.Resident = 0 // the race detector's memory grows with the addresses that have been used
		}
		c.samples = append(c.samples, judged)
		if len(c.samples) == 1 {
			c.first = s
		}
		k.t.Logf("%d kills: the daemon on %s has %s", rounds, c.address, describe(s))
	}
}

func describe(s leaks.Sample) string {
	return fmt.Sprintf("%.1f MiB resident, %.1f MiB heap, %.0f goroutines, %.0f threads, %.0f descriptors",
		s.Resident/(1<<20), s.Heap/(1<<20), s.Goroutines, s.Threads, s.Descriptors)
}

// finish waits for the end of all connections, compares the resources with those at the start,
// and ends the daemons.
func (k *killing) finish() {
	k.t.Helper()
	for _, what := range slices.Sorted(maps.Keys(k.killed)) {
		k.t.Logf("killed: %4d × %s", k.killed[what], what)
	}
	for _, what := range slices.Sorted(maps.Keys(k.seen)) {
		k.t.Logf("peers that printed %q: %d", what, k.seen[what])
	}
	for _, c := range k.surviving() {
		g := c.awaitIdle(k.t, true)
		for _, name := range slices.Sorted(maps.Keys(c.idle)) {
			k.t.Logf("the daemon on %s: %s: %v at the start, %v at the end", c.address, name, c.idle[name], g[name])
		}
		var last leaks.Sample
		until(k.t, "descriptors or goroutines are left", func() bool {
			last = c.gauges(k.t).Sample()
			return last.Descriptors <= c.first.Descriptors && last.Goroutines <= c.first.Goroutines
		})
		k.t.Logf("the daemon on %s after the first kill: %s", c.address, describe(c.first))
		k.t.Logf("the daemon on %s after the last kill:  %s", c.address, describe(last))
		for _, r := range leaks.Trends(c.samples) {
			k.t.Logf("the daemon on %s: %s: median %.0f in the middle third, %.0f in the last",
				c.address, r.Name, r.Middle, r.Last)
		}
		if err := leaks.Rising(c.samples); err != nil {
			k.t.Errorf("the daemon on %s: %v", c.address, err)
		}
	}
	// The next gorxe run removes the files of one that was killed.
	if out, err := k.run("gorxe run --socket " + k.daemons[1].programs + " -- true"); err != nil {
		k.t.Errorf("%v\n%s", err, out)
	}
	for _, c := range k.daemons {
		if err := k.stop(c.daemon, unix.SIGTERM); err != nil {
			k.t.Errorf("%v\n%s", err, &c.daemon.log)
		}
	}
	names := k.names()
	k.t.Logf("names of files: %v at the start, %v at the end", k.files, names)
	if names[k.dir] != k.files[k.dir] {
		all, _ := os.ReadDir(k.dir)
		k.t.Errorf("files are left: %v", all)
	}
	reapOrphans(nil)
	if left := k.strays(); len(left) > 0 {
		k.t.Errorf("processes are left: %v", left)
	}
}

// names counts the files in the directories that gorxe uses. Other processes also use the second.
func (k *killing) names() map[string]int {
	out := map[string]int{}
	for _, dir := range []string{k.dir, "/dev/shm"} {
		all, err := os.ReadDir(dir)
		if err != nil {
			k.t.Fatal(err)
		}
		out[dir] = len(all)
	}
	return out
}

// pids returns the processes of the killing that the test waits for.
func (k *killing) pids() (out []int) {
	for _, d := range k.daemons {
		if d != nil {
			out = append(out, d.daemon.Process.Pid)
		}
	}
	for _, e := range k.ends {
		out = append(out, e.Process.Pid)
	}
	return out
}

// strays returns the descendants of the test, except for those of pids. They have the place in
// their environment.
func (k *killing) strays() (out []string) {
	mine := []byte("XDG_RUNTIME_DIR=" + k.dir + "\x00")
	for _, pid := range processes() {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && bytes.Contains(environ, mine) && !slices.Contains(k.pids(), pid) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			out = append(out, fmt.Sprintf("%d %q", pid, line))
		}
	}
	return out
}

func processes() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range all {
		if pid, err := strconv.Atoi(filepath.Base(path)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// parentOf returns the parent of a process, 0 if there is no such process.
func parentOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	parent, _ := strconv.Atoi(f[1])
	return parent
}

func descends(pid, from int) bool {
	for pid > 1 && pid != from {
		pid = parentOf(pid)
	}
	return pid == from
}

// adoptOrphans makes orphaned descendants children of the test, so that it can reap them.
func adoptOrphans(t *testing.T) {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
}

// reapOrphans reaps children that have ended, except for those that other code waits for.
func reapOrphans(others []int) {
	for _, pid := range processes() {
		if parentOf(pid) == os.Getpid() && !slices.Contains(others, pid) {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}
