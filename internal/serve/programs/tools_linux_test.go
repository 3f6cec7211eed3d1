//go:build linux && (amd64 || arm64)

package programs

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestLibibverbsFindsTheDevice(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		findsTheDevice(t, w.hostOn(t, "127.55.15.1"), "127.55.15.1", "")
	})
}

// findsTheDevice runs the tools that print the devices of libibverbs, of the release that in
// selects: see inTrixie.
func findsTheDevice(t *testing.T, h server, addr, in string) {
	t.Helper()
	if out := start(t, h, in+"ibv_devices").wait(); !strings.Contains(out, "rxe0") {
		t.Errorf("ibv_devices:\n%s", out)
	}
	out := start(t, h, in+"ibv_devinfo -v").wait()
	for _, want := range []string{
		"hca_id:\trxe0", "PORT_ACTIVE", "GID[  0]:\t\t::ffff:" + addr + ", RoCE v2", "max_sge:\t\t\t32",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("ibv_devinfo lacks %q:\n%s", want, out)
		}
	}
}

func TestNoDescriptorIsLeftOfProgramsThatEnded(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		count := func() int {
			all, err := os.ReadDir("/proc/self/fd")
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		run := func(times int) {
			t.Run("programs", func(t *testing.T) {
				h := w.hostOn(t, "127.55.15.4")
				for range times {
					start(t, h, "ibv_devinfo").wait()
				}
			})
		}
		run(1) // the first one opens files that stay open
		before := count()
		run(5)
		// Goroutines that no code waits for close the pipes.
		after := count()
		for late := time.Now().Add(time.Minute); after > before && time.Now().Before(late); after = count() {
			runtime.Gosched()
		}
		if after > before {
			t.Errorf("%d descriptors are open, before there were %d", after, before)
		}
	})
}

// exchange runs a server and a client of a tool on one host, and returns what they printed.
func exchange(t *testing.T, h server, port int, line string) (server, client string) {
	t.Helper()
	s, c := ends(t, h, port, [2]string{line, line})
	return s.text(), c.text()
}

// ends runs a server and a client of a tool on one host until both have ended.
func ends(t *testing.T, h server, port int, lines [2]string) (server, client *running) {
	t.Helper()
	at := " -p " + strconv.Itoa(port)
	server = start(t, h, lines[0]+at)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, errors.New("it does not listen"))
	defer cancel()
	if err := awaitTCP(ctx, port); err != nil {
		t.Fatalf("%s: %v\n%s", server.line, err, server.text())
	}
	client = start(t, h, lines[1]+at+" 127.0.0.1")
	client.wait()
	server.wait()
	return server, client
}

func TestToolsExchangeMessagesOnOneHost(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) { runPingpongs(t, w.hostOn(t, "127.55.15.2"), 21500, "") })
}

func TestPerftestRunsOnOneHost(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) { runPerftests(t, w.hostOn(t, "127.55.15.3"), 21600, "") })
}

// runPingpongs runs pingpongs, from a TCP port on, of the release that in selects: see inTrixie.
func runPingpongs(t *testing.T, h server, port int, in string) {
	for i, line := range pingpongs {
		t.Run(line, func(t *testing.T) {
			server, client := exchange(t, h, port+i, in+line)
			for _, out := range []string{server, client} {
				if !strings.Contains(out, "iters in") {
					t.Errorf("%s", out)
				}
			}
		})
	}
}

// runPerftests is runPingpongs for perftests.
func runPerftests(t *testing.T, h server, port int, in string) {
	for i, line := range perftests {
		t.Run(line, func(t *testing.T) {
			// Servers of tests in which they are passive print no result.
			if _, client := exchange(t, h, port+i, in+line); !strings.Contains(client, "#bytes") {
				t.Error(client)
			}
		})
	}
}
