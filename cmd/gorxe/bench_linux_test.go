package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("gorxe bench makes network namespaces, which takes root")
	}
}

// One short measurement of gorxe and one of its rival, from the namespaces to the report, and the report again.
func TestBenchMeasuresAndReports(t *testing.T) {
	needRoot(t)
	p := newPlace(t)
	c := p.command(`gorxe bench --links udp --rounds 1 --time 1 --run 'rate/(bare|.*: 1 QP$)' --json r.json --doc report.md`)
	if out, err := c.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("making a network namespace")) {
			t.Skipf("no network namespaces here: %s", out)
		}
		t.Fatalf("%v: %s", err, out)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(p.dir, name))
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
	if !strings.Contains(page, "| gorxe udp: 1 QP : bare UDP, 96-byte segments | **") || !strings.Contains(page, "](report.svg)") {
		t.Error(page)
	}
	chart := read("report.svg")
	if out, err := p.command("gorxe bench --render r.json --doc again.md").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if read("again.md") != strings.ReplaceAll(page, "report.svg", "again.svg") || read("again.svg") != chart {
		t.Error("the report of what was kept is another one")
	}
}

// However gorxe bench ends, what it has started ends, too.
func TestBenchLeavesNothingBehind(t *testing.T) {
	needRoot(t)
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			endBench(t, sig)
		})
	}
}

func endBench(t *testing.T, sig os.Signal) {
	p := newPlace(t)
	c := p.command(`gorxe bench --rounds 100 --time 1 --run 'rate/bare'`)
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
		if strings.Contains(line, "making a network namespace") {
			t.Skipf("no network namespaces here: %s", line)
		}
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
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
		if n != 1 {
			t.Errorf("a process goes on: %v", err)
		}
		unix.Close(fd)
	}
}

// childrenOf returns descriptors of the processes that a process has started and that go on, of which there is one at least.
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
