package cmtool

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/packet/fault"
)

// steps holds the bytes of a whole run.
var steps = []byte{0, 12, 14, 0, 12, 14, 0, 12, 14}

// mustTellRounds checks the output of an end after a whole run with n connections.
func mustTellRounds(t *testing.T, r *clitest.Run, n string) {
	t.Helper()
	if r.Code != 0 {
		t.Error(r)
	}
	var got []string
	for line := range strings.Lines(r.Stdout.String()) {
		if head, _, ok := strings.Cut(line, " in "); ok && !strings.HasPrefix(line, "round") {
			line = head
		}
		line, _, _ = strings.Cut(line, ",")
		got = append(got, strings.TrimSpace(line))
	}
	want := []string{
		"round 1 of 3", "1 connection", "1 connection ended",
		"round 2 of 3", n + " connections", n + " connections ended",
		"round 3 of 3", n + " connections", n + " connections ended",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTwoEndsKeepStep(t *testing.T) {
	for name, fault := range map[string]fault.Config{
		"clean":      {},
		"loss":       {Seed: 3, Drop: 0.05},
		"duplicates": {Seed: 3, Duplicate: 0.3},
	} {
		t.Run(name, func(t *testing.T) {
			server, client := endsOf("-n 40 --step")
			s, c := clitest.ManagedPair(t, func() *clitest.World {
				w := newWorld()
				w.Fault = fault
				return w
			}, server, client)
			mustTellRounds(t, s, "40")
			mustTellRounds(t, c, "40")
			if s.Stderr.String() != "listening on port 7471 of 127.66.0.1\n" || c.Stderr.Len() > 0 {
				t.Errorf("%v\n%v", s, c)
			}
		})
	}
}

// mustDiffer checks that each connection has a queue pair of gorxe's, and that no number occurs
// twice in a round.
func mustDiffer(t *testing.T, got []bth.QPN, n int) {
	t.Helper()
	if len(got) != 2*n+1 {
		t.Fatalf("%d connections, want %d", len(got), 2*n+1)
	}
	for _, round := range [][]bth.QPN{got[1 : n+1], got[n+1:]} {
		round = slices.Clone(round)
		slices.Sort(round)
		if len(slices.Compact(round)) != n || slices.Contains(round, 0) {
			t.Errorf("queue pairs of a round: %v", round)
		}
	}
}

func TestAServerKeepsStepWithCmtimeAndEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.Start(t.Context(), "cm -s -b 127.66.0.1 -n 30 --step")
		synctest.Wait()
		c := newCmtime(t, w, "127.66.0.2", 30)
		if err := c.runClient(callCmtime(t, w), "127.66.0.1", "127.66.0.2"); err != nil {
			t.Error(err)
		}
		<-s.Done
		mustTellRounds(t, s, "30")
		if d := cmp.Diff(steps, c.said); d != "" {
			t.Error(d)
		}
		mustDiffer(t, c.qpns, 30)
	})
}

func TestAServerWaitsForAClientThatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.Start(t.Context(), "cm -s -b 127.66.0.1 -n 5 --step")
		synctest.Wait()
		c := newCmtime(t, w, "127.66.0.2", 5)
		c.pause = 20 * time.Second
		if err := c.runClient(callCmtime(t, w), "127.66.0.1", "127.66.0.2"); err != nil {
			t.Error(err)
		}
		<-s.Done
		mustTellRounds(t, s, "5")
	})
}

func TestAClientKeepsStepWithCmtime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := newCmtime(t, w, "127.66.0.1", 30)
		if err := s.listen(); err != nil {
			t.Fatal(err)
		}
		c := w.Start(t.Context(), "cm -c 127.66.0.1 -b 127.66.0.2 -n 30 --step")
		conn, err := w.Accept(t.Context(), defaultPort, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.runServer(conn); err != nil {
			t.Error(err)
		}
		<-c.Done
		mustTellRounds(t, c, "30")
		if d := cmp.Diff(steps, s.said); d != "" {
			t.Error(d)
		}
		mustDiffer(t, s.qpns, 30)
	})
}

// mustEnd waits for the end of a run that must fail with want in its message.
func mustEnd(t *testing.T, r *clitest.Run, want string) {
	t.Helper()
	<-r.Done
	if r.Code != app.ExitFailure || !strings.Contains(r.Stderr.String(), want) {
		t.Errorf("want %q in it: %v", want, r)
	}
}

// A client or server that has opened the TCP connection but deviates from the protocol: the bytes
// that it sends, and the result.
func TestAnEndThatDoesNotKeepStepIsFoundOut(t *testing.T) {
	hangUp := func(c net.Conn) { c.Close() }
	say := func(b ...byte) func(net.Conn) {
		return func(c net.Conn) {
			go c.Write(b)
			var back [1]byte
			for {
				if _, err := c.Read(back[:]); err != nil {
					return
				}
			}
		}
	}
	const servers, clients = "cm -s -b 127.66.0.1 -n 3 --step", "cm -c 127.66.0.1 -b 127.66.0.2 -n 3 --step"
	for _, c := range []struct {
		name, line string
		peer       func(net.Conn)
		want       string
		within     time.Duration
	}{
		{"a client hangs up", servers, hangUp, "peer closed the connection; look at the peer's own output: it must be cmtime of rdma-core 52 to 58 or gorxe cm --step", 0},
		{"a server hangs up", clients, hangUp, "step 0 (begin)", 0},
		{"a client says something else", servers, say(2),
			"in round 1, with 0 of 1 connection: decode step 0 (begin): step 2 came; is the peer cmtime of rdma-core 52 to 58", 0},
		{"a server says something else", clients, say(12), "decode step 0 (begin): step 12 (connected) came", 0},
		{"a client skips a step", servers, say(0, 14), "decode step 12 (connected): step 14 (disconnected) came", 0},
		{"a client says nothing", servers, say(),
			"in round 1, with 0 of 1 connection: the peer is silent: it has ended, or it is not cmtime of",
			time.Minute},
		{"a server says nothing", clients, say(),
			"in round 1, with 0 of 1 connection: the peer is silent: it has ended, or it is not cmtime of",
			time.Minute},
		{"a client that asks for no connections", servers, say(0),
			"in round 1, with 0 of 1 connection: the peer is silent: it has ended, or it is not cmtime of",
			time.Minute},
		{"a server that listens over TCP only", clients, say(0), "unreachable: the peer does not answer", time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				begin := time.Now()
				r := w.Start(t.Context(), c.line)
				meet := func() (net.Conn, error) { return w.Dial(t.Context(), "", 0) }
				if c.line == clients {
					meet = func() (net.Conn, error) { return w.Accept(t.Context(), 0, nil) }
				}
				conn, err := meet()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				go c.peer(conn)
				mustEnd(t, r, c.want)
				if took := time.Since(begin); took > c.within {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestAServerDoesNotAnswerBeforeAllConnectionsHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.Start(t.Context(), "cm -s -b 127.66.0.1 -n 3 --step")
		synctest.Wait()
		c := newCmtime(t, w, "127.66.0.2", 3)
		c.keeps = true
		if err := c.runClient(callCmtime(t, w), "127.66.0.1", "127.66.0.2"); err == nil {
			t.Error("the client ran to its end")
		}
		mustEnd(t, s, "in round 1, with 1 of 1 connection: the peer is silent")
		if d := cmp.Diff(steps[:2], c.said); d != "" {
			t.Error(d)
		}
	})
}

// The bytes are correct, but the numbers of connections differ.
func TestEndsInStepWithOtherNumbersFindOut(t *testing.T) {
	for _, n := range [][2]string{{"4", "3"}, {"3", "4"}} {
		s, c := clitest.ManagedPair(t, newWorld, "cm -s -b 127.66.0.1 --step -n "+n[0],
			"cm -c 127.66.0.1 -b 127.66.0.2 --step -n "+n[1])
		if s.Code != app.ExitFailure || c.Code != app.ExitFailure ||
			!strings.Contains(s.Stderr.String(), "in round 2, with 3 of "+n[0]+" connections: the peer is silent") {
			t.Errorf("%v\n%v", s, c)
		}
	}
}

func TestAServerThatKeepsStepIsAskedByAnotherProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.Start(t.Context(), "cm -s -b 127.66.0.1 -n 3 --step")
		synctest.Wait()
		c := w.Run(t.Context(), "cm -c 127.66.0.1 -b 127.66.0.2 -C 0")
		if c.Code != app.ExitFailure || !strings.Contains(c.Stderr.String(), "refused by the peer's program") {
			t.Error(c)
		}
		mustEnd(t, s, "asks for a connection before it has made one over TCP")
		if !strings.Contains(s.Stderr.String(), "omit --step") {
			t.Error(s)
		}
	})
}

// lateTCP refuses the first attempts of a client.
type lateTCP struct {
	*clitest.World
	refusals int
}

func (l *lateTCP) Dial(ctx context.Context, host string, port uint16) (net.Conn, error) {
	if l.refusals--; l.refusals >= 0 {
		return nil, &app.RefusedError{Host: host, Port: port}
	}
	return l.World.Dial(ctx, host, port)
}

func TestAClientInStepWaitsForTheServersTCPPort(t *testing.T) {
	server, client := endsOf("-n 2 --step")
	s, c := clitest.ManagedPair(t, func() *clitest.World {
		w := newWorld()
		w.TCP = &lateTCP{w, stepTries - 1}
		return w
	}, server, client)
	mustTellRounds(t, s, "2")
	mustTellRounds(t, c, "2")
}

func TestAClientInStepSaysThatNobodyListensOverTCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		ctx, stop := context.WithCancel(t.Context())
		s := w.Start(ctx, "cm -s -b 127.66.0.1 -C 0") // as cmtime of before has no TCP
		synctest.Wait()
		w.TCP = &lateTCP{w, stepTries}
		_, client := endsOf("-n 2 --step")
		mustEnd(t, w.Start(ctx, client), "no server listens on 127.66.0.1 TCP port 7471: start cmtime of rdma-core 52 to 58 or gorxe cm --step there first, or omit --step")
		stop()
		<-s.Done
	})
}

func TestKeepingStepCanBeInterrupted(t *testing.T) {
	for name, calls := range map[string]int{"before the client calls": 0, "between two steps": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				ctx, stop := context.WithCancel(t.Context())
				s := w.Start(ctx, "cm -s -b 127.66.0.1 -n 3 --step")
				for range calls {
					defer callCmtime(t, w).Close()
				}
				synctest.Wait()
				stop()
				if <-s.Done; s.Code != app.ExitInterrupted {
					t.Error(s)
				}
			})
		})
	}
}

func TestWhatDoesNotGoWithStepsIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, flags := range []string{"-s -C 1", "-s -n 0", "-s -P udp", "-c 127.66.0.1 -D 1",
			"-c 127.66.0.1 -P udp"} {
			r := newWorld().Run(t.Context(), "cm --step "+flags)
			if r.Code != app.ExitUsage || !strings.Contains(r.Stderr.String(), "--step: ") {
				t.Errorf("%s: %v", flags, r)
			}
		}
	})
}
