package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli"
	"golang.org/x/sys/unix"
)

// TestMain makes the test binary the program, or the gorxe that it measures, when the tests start
// it under their names.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("BENCH_IS_MAIN") == "":
		os.Exit(m.Run())
	case filepath.Base(os.Args[0]) == "gorxe":
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	main()
}

// command returns the program with its arguments, in a directory that contains gorxe.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bench", "gorxe"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), filepath.Join(dir, "bench"), append([]string{"-gorxe", "gorxe"}, args...)...)
	c.Dir, c.Env = dir, append(os.Environ(), "BENCH_IS_MAIN=1")
	return c
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
}

// needNamespaces skips the test if the program reports that it cannot create network namespaces.
func needNamespaces(t *testing.T, said string) {
	t.Helper()
	if strings.Contains(said, "making a network namespace") {
		t.Skipf("no network namespaces here: %s", said)
	}
}

// One short measurement of gorxe and one of an alternative, from the namespaces to the report,
// and the report again.
func TestBenchMeasuresAndReports(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	c := command(t, dir, "-links", "udp", "-rounds", "1", "-time", "1", "-run", "rate/(bare UDP|.*: 1 QP$)", "-json",
		"r.json", "-doc", "report.md")
	if out, err := c.CombinedOutput(); err != nil {
		needNamespaces(t, string(out))
		t.Fatalf("%v: %s", err, out)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var r struct {
		Samples []struct {
			Contender string
			Value     float64
			Error     string
		}
	}
	if err := json.Unmarshal([]byte(read("r.json")), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Samples) != 2 {
		t.Fatalf("%d measurements: %+v", len(r.Samples), r)
	}
	for _, s := range r.Samples {
		if s.Value <= 0 || s.Error != "" {
			t.Errorf("%+v", s)
		}
	}
	page := read("report.md")
	if !strings.Contains(page, "| gorxe udp: 1 QP : bare UDP, 96-byte segments | **") ||
		!strings.Contains(page, "](report.svg)") {
		t.Error(page)
	}
	chart := read("report.svg")
	if out, err := command(t, dir, "-render", "r.json", "-doc", "again.md").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if read("again.md") != strings.ReplaceAll(page, "report.svg", "again.svg") || read("again.svg") != chart {
		t.Error("the report of what was kept is another one")
	}
}

// The bare loop between two network namespaces, with its programs.
func TestBenchMeasuresTheBareLoop(t *testing.T) {
	needRoot(t)
	c := command(t, t.TempDir(), "-rounds", "1", "-time", "1", "-run",
		"programs-latency/bare loop: (datagrams|process)$")
	out, err := c.CombinedOutput()
	needNamespaces(t, string(out))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, row := range []string{"\n| bare loop: datagrams | **", "\n| bare loop: process | **"} {
		if !bytes.Contains(out, []byte(row)) {
			t.Errorf("there is no row %q:\n%s", row, out)
		}
	}
}

// A busy neighbour uses a part of the server's core, and does not count as a disturbance.
func TestBenchMeasuresBesideABusyNeighbour(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	c := command(t, dir, "-links", "udp", "-rounds", "1", "-time", "1", "-run", "many/.*: 1 QP", "-json", "r.json")
	if out, err := c.CombinedOutput(); err != nil {
		needNamespaces(t, string(out))
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "r.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Samples []struct {
			Contender string
			Error     string
			CPU       []float64
		}
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Samples) != 2 || r.Samples[1].Contender != "gorxe udp: 1 QP, busy neighbour" {
		t.Fatalf("%+v", r)
	}
	for _, s := range r.Samples {
		if s.Error != "" {
			t.Errorf("%+v", s)
		}
	}
	if alone, beside := r.Samples[0].CPU[0], r.Samples[1].CPU[0]; beside <= 0 || beside > 0.8 {
		t.Errorf("the server has %.2f of its core alone, and %.2f beside a busy neighbour", alone, beside)
	}
}

// A build compared with itself, at the same time.
func TestBenchMeasuresTwoBuildsInSlices(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	c := command(t, dir, "-links", "udp", "-rounds", "1", "-time", "1", "-run", "rate/.*: 1 QP$",
		"-slice", "20ms", "-beside", "same=gorxe", "-doc", "report.md")
	out, err := c.CombinedOutput()
	needNamespaces(t, string(out))
	if err != nil || !bytes.Contains(out, []byte("[4/4]")) {
		t.Fatalf("%v: %s", err, out)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Two builds of gorxe\n", "| gorxe udp: 1 QP : same udp: 1 QP | **"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the report lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(string(page), "failed") {
		t.Errorf("%s", page)
	}
}

// The contenders of a ratio at the same time: gorxe perf and the bare loops.
func TestBenchMeasuresRatiosInSlices(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	c := command(t, dir, "-links", "udp", "-rounds", "1", "-time", "1", "-slice", "20ms", "-doc", "report.md",
		"-run", "bandwidth/(.*SEND$|.*copy$)")
	out, err := c.CombinedOutput()
	needNamespaces(t, string(out))
	if err != nil || !bytes.Contains(out, []byte("[4/4]")) {
		t.Fatalf("%v: %s", err, out)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Contenders in turn\n", "| gorxe udp: SEND : bare loop, ICRC and copy | **",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the report lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(string(page), "failed") {
		t.Errorf("%s", page)
	}
}

// However the program ends, the processes that it has started end too.
func TestBenchLeavesNothingBehind(t *testing.T) {
	needRoot(t)
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			endBench(t, sig, "-rounds", "100", "-time", "1", "-run", "rate/bare UDP")
			endBench(t, sig, "-rounds", "25", "-time", "1", "-run", "rate/.*udp: 1 QP$",
				"-beside", "same=gorxe", "-slice", "20ms")
		})
	}
}

func endBench(t *testing.T, sig os.Signal, args ...string) {
	c := command(t, t.TempDir(), args...)
	said, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "[1/100]") {
		c.Process.Kill()
		c.Wait()
		needNamespaces(t, line)
		t.Fatalf("%q, %v", line, err)
	}
	children := childrenOf(t, c.Process.Pid)
	if err := c.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil {
		t.Error("it ended well")
	}
	for _, fd := range children {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 10_000)
		for err == unix.EINTR { // the runtime's preemption signal
			n, err = unix.Poll(fds, 10_000)
		}
		if n != 1 {
			t.Errorf("a process goes on: %v", err)
		}
		unix.Close(fd)
	}
}

// childrenOf returns pidfds of the running processes that a process has started, at least one.
func childrenOf(t *testing.T, pid int) (fds []int) {
	t.Helper()
	for len(fds) == 0 {
		lists, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
		if err != nil || len(lists) == 0 {
			t.Fatalf("process %d has ended: %v", pid, err)
		}
		for _, name := range lists {
			// A thread may end meanwhile.
			text, _ := os.ReadFile(name)
			for child := range strings.FieldsSeq(string(text)) {
				n, err := strconv.Atoi(child)
				if err != nil {
					t.Fatal(err)
				}
				if fd, err := unix.PidfdOpen(n, 0); err == nil {
					fds = append(fds, fd)
				}
			}
		}
	}
	return fds
}
