//go:build linux && (amd64 || arm64)

package programs

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/golden"
)

// rdmaCoreTests is the directory of rdma-core's tests in Debian's python3-pyverbs.
const rdmaCoreTests = "/usr/share/doc/rdma-core/tests"

// pyverbsData contains the tables below; run.py runs the tests, and the lab writes the files
// rxe-*.txt (make interop-rdma-core).
const pyverbsData = "testdata/pyverbs"

// A result is the result of one test of rdma-core.
type result struct{ what, why string }

// Results of a test.
const (
	passed  = "pass"
	skipped = "skip"
	failed  = "fail"
)

// resultsOf reads the lines of run.py.
func resultsOf(output string) map[string]result {
	out := map[string]result{}
	for line := range strings.Lines(output) {
		if f := strings.Split(strings.TrimRight(line, "\n"), "\t"); f[0] == "RESULT" && len(f) == 4 {
			out[f[2]] = result{f[1], f[3]}
		}
	}
	return out
}

// expected holds the expected results of a version of rdma-core's tests.
type expected struct {
	version string
	passes  map[string]result            // on gorxe
	fails   map[string]result            // on gorxe, although they pass on rxe, and why
	rxe     map[string]map[string]result // results on rxe, by kernel version
	reasons []string                     // permitted reasons of skipped tests, or their beginnings
}

// expect reads the tables of a version.
func expect(t *testing.T, version string) *expected {
	t.Helper()
	dir := filepath.Join(pyverbsData, "rdma-core-"+version)
	e := &expected{
		version: version, passes: tableOf(t, dir+"/pass.txt"), fails: tableOf(t, dir+"/fail.txt"),
		rxe:     map[string]map[string]result{},
		reasons: slices.Collect(maps.Keys(tableOf(t, pyverbsData+"/skip.txt"))),
	}
	files, err := filepath.Glob(dir + "/rxe-*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no results on rxe in %s (%v): make interop-rdma-core writes them", dir, err)
	}
	for _, f := range files {
		kernel := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "rxe-"), ".txt")
		e.rxe[kernel] = tableOf(t, f)
	}
	return e
}

// tableOf parses lines of up to three columns separated by tabs: a key, and a result or a reason
// or both. Lines that start with # are comments.
func tableOf(t *testing.T, file string) map[string]result {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]result{}
	for line := range strings.Lines(string(b)) {
		if f := strings.SplitN(strings.TrimRight(line, "\n")+"\t\t", "\t", 4); line[0] != '#' {
			out[f[0]] = result{f[1], f[2]}
		}
	}
	return out
}

// kernels returns the kernels whose rxe was tested.
func (e *expected) kernels() []string {
	// A longer version is a later one: 6.1, 6.12.
	return slices.SortedFunc(maps.Keys(e.rxe), func(a, b string) int { return len(a) - len(b) })
}

// passesOnRxe returns the kernels on whose rxe a test passes.
func (e *expected) passesOnRxe(name string) (kernels []string) {
	for _, k := range e.kernels() {
		if e.rxe[k][name].what == passed {
			kernels = append(kernels, k)
		}
	}
	return kernels
}

// names returns the names of all tests.
func (e *expected) names() []string {
	all := map[string]bool{}
	for _, table := range e.rxe {
		for name := range table {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// problems returns the differences of results on gorxe from the expected ones.
func (e *expected) problems(got map[string]result) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for name, r := range got {
		_, passes := e.passes[name]
		_, fails := e.fails[name]
		onRxe := e.passesOnRxe(name)
		switch {
		case r.what == passed && !passes:
			say("%s passes, and pass.txt does not say so", name)
		case r.what == passed:
		case fails && r.what == failed:
		case len(onRxe) > 0:
			say("%s passes on rxe of Linux %s; here it is %q: %s", name, strings.Join(onRxe, " and "), r.what, r.why)
		case passes || r.what != skipped:
			say("%s must pass or be skipped, and is %q: %s", name, r.what, r.why)
		case !slices.ContainsFunc(e.reasons, func(reason string) bool { return strings.HasPrefix(r.why, reason) }):
			say("%s is skipped for a reason that skip.txt does not have: %s", name, r.why)
		}
	}
	for _, name := range e.names() {
		if _, ran := got[name]; !ran {
			say("%s did not run", name)
		}
	}
	for name := range e.passes {
		if _, ran := got[name]; !ran {
			say("%s of pass.txt did not run", name)
		}
	}
	slices.Sort(all)
	return all
}

// runRDMACoreTests runs the tests of a version on a host whose device has the address, and
// compares the results. The command line starts with python3 and run.py in the directory of the
// tests.
func runRDMACoreTests(t *testing.T, h server, version, addr, command string) {
	t.Helper()
	out := start(t, h, fmt.Sprintf("%s %s rxe0 0 %s", command, rdmaCoreTests, addr)).waitFor(10 * time.Minute)
	problems := expect(t, version).problems(resultsOf(out))
	for _, p := range problems {
		t.Error(p)
	}
	if len(problems) > 0 {
		t.Log(out)
	}
}

// rdmaCoreVersion returns the major version of this host's python3-pyverbs.
func rdmaCoreVersion(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(rdmaCoreTests); err != nil {
		t.Skipf("python3-pyverbs of Debian is not installed: %v", err)
	}
	b, err := exec.Command("dpkg-query", "-W", "-f", "${Version}", "python3-pyverbs").Output()
	if err != nil {
		t.Skipf("the version of python3-pyverbs: %v", err)
	}
	major, _, _ := bytes.Cut(b, []byte("."))
	return string(major)
}

func TestRDMACoreTestsThatPassOnRxePassOnGorxe(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		version := rdmaCoreVersion(t)
		if _, err := os.Stat(filepath.Join(pyverbsData, "rdma-core-"+version)); err != nil {
			t.Skipf("there are no results of rdma-core %s: %v", version, err)
		}
		const addr = "127.55.15.5"
		runRDMACoreTests(t, w.hostOn(t, addr), version, addr, "/usr/bin/python3 "+pyverbsData+"/run.py")
	})
}

func TestResultsOfRDMACoreTestsAreCompared(t *testing.T) {
	yes, eio := result{what: passed}, result{failed, "EIO"}
	xrc, rain := result{skipped, "no XRC"}, result{skipped, "rain"}
	e := &expected{
		passes: map[string]result{"a": {}, "b": {}}, fails: map[string]result{"c": {}}, reasons: []string{"no"},
		rxe: map[string]map[string]result{
			"6.1":  {"a": yes, "b": xrc, "c": yes, "d": xrc},
			"6.12": {"a": yes, "b": yes, "c": yes, "d": xrc},
		},
	}
	good := map[string]result{"a": yes, "b": yes, "c": eio, "d": xrc}
	for name, c := range map[string]struct {
		test string
		got  result
		want string // problem
	}{
		"as expected":                {"a", yes, ""},
		"a pass of one rxe":          {"b", xrc, `b passes on rxe of Linux 6.12; here it is "skip": no XRC`},
		"a pass of both fails":       {"a", eio, `a passes on rxe of Linux 6.1 and 6.12; here it is "fail": EIO`},
		"a known failure is skipped": {"c", xrc, `c passes on rxe of Linux 6.1 and 6.12; here it is "skip": no XRC`},
		"a known failure passes":     {"c", yes, "c passes, and pass.txt does not say so"},
		"a skip without a reason":    {"d", rain, "d is skipped for a reason that skip.txt does not have: rain"},
		"a failure of its own":       {"d", eio, `d must pass or be skipped, and is "fail": EIO`},
		"one that did not run":       {"d", result{}, "d did not run"},
	} {
		got := maps.Clone(good)
		got[c.test] = c.got
		if c.got == (result{}) {
			delete(got, c.test)
		}
		if problems := strings.Join(e.problems(got), "\n"); problems != c.want {
			t.Errorf("%s: %q, want %q", name, problems, c.want)
		}
	}
}

// docs/pyverbs.md must match the tables.
func TestPageOfRDMACoreTestsIsTheTables(t *testing.T) {
	dirs, err := filepath.Glob(pyverbsData + "/rdma-core-*")
	if err != nil || len(dirs) == 0 {
		t.Fatal(dirs, err)
	}
	var all []*expected
	for _, d := range dirs {
		all = append(all, expect(t, strings.TrimPrefix(filepath.Base(d), "rdma-core-")))
	}
	golden.CheckFile(t, "../../../docs/pyverbs.md", pageOf(all))
}
