//go:build linux && (amd64 || arm64)

package programs

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/race"
)

// Iterations of two runs of a program: the additional calls of the second one belong to the
// steady state.
const fewIterations, manyIterations, moreIterations = 1000, 2000, manyIterations - fewIterations

// traps returns the numbers of trapped calls of a server and a client.
func traps(t *testing.T, h server, port int, line string) (n [2]int) {
	t.Helper()
	s, c := ends(t, h, port, [2]string{line, line})
	for i, r := range []*running{s, c} {
		<-r.srv.Done()
		n[i] = int(r.srv.Received())
	}
	return n
}

// eachWayNotRaced is eachWay for tests that count what programs do, which is the same with the
// race detector but takes minutes.
func eachWayNotRaced(t *testing.T, test func(t *testing.T, w way)) {
	if race.Enabled {
		t.Skip("it counts what programs do, which go test without -race shows")
	}
	eachWay(t, test)
}

func TestPostingAndPollingAreNotTrapped(t *testing.T) {
	eachWayNotRaced(t, func(t *testing.T, w way) {
		h := w.hostOn(t, "127.55.15.50")
		for i, line := range []string{
			"ib_write_bw -s 64", "ib_write_bw -s 64 -l 10",
			"ib_read_bw -s 64", "ib_send_bw -s 64", "ib_send_bw -s 64 -c UC",
			"ib_send_bw -s 64 -c UD", "ib_atomic_bw",
		} {
			t.Run(line, func(t *testing.T) {
				at := func(n int) [2]int { return traps(t, h, 21900+i, fmt.Sprintf("%s -F -x 0 -n %d", line, n)) }
				if few, many := at(fewIterations), at(manyIterations); few != many {
					t.Errorf("server and client: %d traps with %d iterations, %d with %d",
						few, fewIterations, many, manyIterations)
				}
			})
		}
	})
}

// systemCalls runs a server and a client under strace and returns the number of their system
// calls by name.
func systemCalls(t *testing.T, h server, port int, line string) (counts [2]map[string]int) {
	t.Helper()
	var files, lines [2]string
	for i := range lines {
		files[i] = filepath.Join(t.TempDir(), "calls")
		lines[i] = "strace -f -c -o " + files[i] + " " + line
	}
	ends(t, h, port, lines)
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if counts[i], err = countsOf(string(text)); err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
	}
	return counts
}

// countsOf parses the table of strace -c: share of the time, seconds, microseconds per call,
// calls, errors if there are any, name. Its last row is the total.
func countsOf(table string) (map[string]int, error) {
	counts := map[string]int{}
	for row := range strings.Lines(table) {
		f := strings.Fields(row)
		if len(f) < 5 || strings.HasPrefix(f[0], "%") || strings.HasPrefix(f[0], "-") {
			continue
		}
		n, err := strconv.Atoi(f[3])
		if err != nil {
			return nil, fmt.Errorf("the row %q has no count: %w", row, err)
		}
		counts[f[len(f)-1]] = n
	}
	if counts["total"] == 0 {
		return nil, fmt.Errorf("no total")
	}
	return counts, nil
}

// callsMore holds the additional system calls of each end with moreIterations, by name.
type callsMore [2]map[string]int

func (m callsMore) of(name string) [2]int { return [2]int{m[0][name], m[1][name]} }

// calledMore returns the system calls of the steady state.
func calledMore(t *testing.T, h server, port int, line string) callsMore {
	t.Helper()
	at := func(n int) [2]map[string]int {
		return systemCalls(t, h, port, fmt.Sprintf("%s -F -x 0 -n %d", line, n))
	}
	few, many := at(fewIterations), at(manyIterations)
	for i := range many {
		for name, n := range few[i] {
			many[i][name] -= n
		}
	}
	return many
}

// maxTries is the maximum number of comparisons of two runs. One may make an additional call
// outside of the steady state; calls in the steady state occur each time.
const maxTries = 3

// checkCallsMore checks the system calls of the steady state, and retries after an error.
func checkCallsMore(t *testing.T, h server, port int, line string, check func(more callsMore) error) {
	t.Helper()
	for range maxTries {
		err := check(calledMore(t, h, port, line))
		if err == nil {
			return
		}
		t.Log(err)
	}
	t.Fail()
}

func needStrace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
}

// A doorbell is a write. Polling and posting receives make no system call.
func TestAPostIsAtMostOneSystemCall(t *testing.T) {
	needStrace(t)
	eachWayNotRaced(t, func(t *testing.T, w way) {
		h := w.hostOn(t, "127.55.15.51")
		for i, tt := range []struct {
			line  string
			posts int // of the client: lists of work requests
		}{
			{"ib_write_bw -s 64", moreIterations},
			{"ib_write_bw -s 64 -l 10", moreIterations / 10},
			{"ib_read_bw -s 64", moreIterations},
			{"ib_send_bw -s 64", moreIterations},
		} {
			t.Run(tt.line, func(t *testing.T) {
				checkCallsMore(t, h, 21920+i, tt.line, func(more callsMore) error {
					if n := more.of("total"); n[0] != 0 || n[1] == 0 || n[1] > tt.posts || more.of("write")[1] != n[1] {
						return fmt.Errorf("for %d more posts the server makes %v more calls, the client %v", tt.posts,
							more[0], more[1])
					}
					return nil
				})
			})
		}
	})
}

// A program that waits for events reads each one and requests the next one, which is trapped.
func TestAnEventIsAtMostOneTrap(t *testing.T) {
	needStrace(t)
	eachWayNotRaced(t, func(t *testing.T, w way) {
		h := w.hostOn(t, "127.55.15.52")
		for i, tt := range []struct {
			line string
			// least is the minimum number of events. One may stand for any number of completions,
			// so bandwidth tests have no minimum.
			least int
		}{{"ib_send_lat -s 8 -e", moreIterations}, {"ib_send_bw -s 64 -e", math.MinInt}} {
			t.Run(tt.line, func(t *testing.T) {
				checkCallsMore(t, h, 21940+i, tt.line, func(more callsMore) error {
					for end, events := range more.of("read") {
						n := more.of("ioctl")[end]
						if events < tt.least || n > events || more[end]["total"] > n+events+moreIterations {
							return fmt.Errorf("end %d: %d traps for %d events: %v", end, n, events, more[end])
						}
					}
					return nil
				})
			})
		}
	})
}
