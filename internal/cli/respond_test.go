package cli

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/internal/serve/respond"
	"github.com/gorxe/gorxe/verbs"
)

// responding runs f with a built-in server in the world, and returns the server's counters and
// log. When all clients have ended, the server must hold no resources.
func responding(t *testing.T, limits respond.Limits, f func(t *testing.T, w *clitest.World)) (counted map[string]uint64,
	logged string) {
	t.Helper()
	return respondingIn(t, newWorld, limits, f)
}

func respondingIn(t *testing.T, in func() *clitest.World, limits respond.Limits,
	f func(t *testing.T, w *clitest.World)) (counted map[string]uint64, logged string) {
	t.Helper()
	counted = map[string]uint64{}
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		w := in()
		w.MTU = 9000
		dev, err := w.Open(verbs.Config{Device: "127.66.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		r := respond.New(func() []*verbs.Device { return []*verbs.Device{dev} }, limits,
			slog.New(slog.NewTextHandler(&log, nil)))
		over := make(chan error)
		l := clitest.NewCallers(w)
		go func() { over <- r.Serve(t.Context(), l, respond.Perftest, respond.Pingpong) }()
		f(t, w)
		time.Sleep(time.Minute)
		if n := r.Sessions(); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
		for q := range dev.QPs() {
			t.Errorf("queue pair %#06x is left", uint32(q.QPN))
		}
		for m := range dev.MRs() {
			t.Errorf("region %d is left", m.Number)
		}
		for c := range dev.CQs() {
			t.Errorf("completion queue %d is left", c.Number)
		}
		l.Close()
		if err := <-over; err != nil {
			t.Error(err)
		}
		if err := r.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		r.Counters(func(name string, value uint64) { counted[name] = value })
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return counted, log.String()
}

// Clients whose parameters the built-in server supports succeed.
func TestAResponderAnswersClientsThatItKnowsNothingOf(t *testing.T) {
	for _, line := range []string{
		"pingpong rc -n 50", "pingpong rc -n 50 -c", "pingpong rc -s 1 -n 50 -c", "pingpong rc -s 100000 -n 20 -c",
		"pingpong rc -s 200 -m 4096 -n 9",
		"pingpong srq -n 200", "pingpong srq -n 64 -q 3 -c -s 5000",
		"perf write_bw -n 100", "perf write_bw -n 100 -b", "perf read_bw -n 100 -b", "perf write_bw -n 100 -q 4",
		"perf write_bw -a -n 5", "perf write_bw -m 512 -n 100",
		"perf read_bw -n 100", "perf read_bw -n 100 -q 3", "perf read_bw -a -n 5", "perf read_bw -o 1 -n 20",
		"perf atomic_bw -n 100", "perf atomic_bw -n 100 -A CMP_AND_SWAP",
		"perf send_bw -n 1000", "perf send_bw -n 100 -q 4", "perf send_bw -a -n 5", "perf send_bw -n 100 -l 4 -s 2",
		"perf read_lat -n 100", "perf atomic_lat -n 100",
		"perf send_lat -n 100", "perf send_lat -a -n 5", "perf send_lat -n 20 -s 100000",
	} {
		if clitest.TooLong(line) {
			continue
		}
		counted, logged := responding(t, respond.Limits{}, func(t *testing.T, w *clitest.World) {
			for range 2 {
				_, client := clitest.Ends(line)
				clitest.MustSucceed(t, line, w.Run(t.Context(), client))
			}
		})
		kind, _, _ := strings.Cut(line, " ")
		if kind == "perf" {
			kind = "perftest"
		}
		if n := counted["respond_completed_"+kind]; n != 2 {
			t.Errorf("%s: %d sessions ended well, want 2: %v\n%s", line, n, nonzero(counted), logged)
		}
	}
}

// Clients that wait for responses get them, and clients that do not are not delayed, whichever
// messages and acknowledgements are lost.
func TestAResponderTellsClientsApartWhenPacketsAreLost(t *testing.T) {
	payload := " --payload_file_path " + payloadFile(t, eightBytes)
	for _, c := range []struct {
		line   string
		limits respond.Limits
	}{
		{"perf send_lat -n 1000", respond.Limits{}},
		{"perf send_lat -n 1000" + payload, wantsEight},
		{"perf send_bw -n 1000 -s 4", respond.Limits{}},
		{"perf send_bw -n 1000 -s 4" + payload, wantsEight},
		{"pingpong rc -n 500", respond.Limits{}},
	} {
		seeds := 3
		if race.Enabled {
			seeds = 1
		}
		for seed := range seeds {
			line := fmt.Sprintf("%s --fault drop=0.1,seed=%d --fault-in drop=0.1,seed=%d", c.line, seed, seed+100)
			counted, logged := responding(t, c.limits, func(t *testing.T, w *clitest.World) {
				_, client := clitest.Ends(line)
				clitest.MustSucceed(t, line, w.Run(t.Context(), client))
			})
			if n := counted["respond_completed_perftest"] + counted["respond_completed_pingpong"]; n != 1 {
				t.Errorf("%s: counted%s\n%s", line, nonzero(counted), logged)
			}
		}
	}
}

func nonzero(m map[string]uint64) string {
	var b strings.Builder
	for k, v := range m {
		if v != 0 {
			fmt.Fprintf(&b, " %s=%d", k, v)
		}
	}
	return b.String()
}

// A client that is not supported ends, and the log names what is supported.
func TestAResponderSaysWhatItDoesNotServe(t *testing.T) {
	for _, c := range []struct{ line, counter, says string }{
		{"perf write_lat -n 5", "no_packet", "ib_write_lat, -c UC and -c UD are not served"},
		{"perf write_bw -c UC -n 5", "no_packet", "ib_write_lat, -c UC and -c UD are not served"},
		{"perf send_bw -c UD -n 5", "no_packet", "ib_write_lat, -c UC and -c UD are not served"},
		{"pingpong ud -n 5", "no_packet", "only ibv_rc_pingpong and ibv_srq_pingpong are served"},
		{"pingpong uc -n 5", "no_packet", "only ibv_rc_pingpong and ibv_srq_pingpong are served"},
		{"pingpong rc -m 4096 -s 9000", "failed", "one whose path MTU (-m) is not 1024"},
		{"perf write_bw -s 2M -n 5", "failed", "exceeds the 1048576 bytes of a session"},
		{"perf send_bw -s 2M -n 5", "failed", "1048576 bytes"},
		{"perf write_bw -q 9 -n 5", "refused_queue_pair", "limit of 8 queue pairs: use a smaller -q"},
	} {
		counted, logged := responding(t, respond.Limits{Memory: 1 << 20, QPs: 8}, func(t *testing.T, w *clitest.World) {
			_, client := clitest.Ends(c.line)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			w.Run(ctx, client)
		})
		if counted["respond_ended_"+c.counter] != 1 || !strings.Contains(logged, c.says) {
			t.Errorf("%s: counted%s, logged %s", c.line, nonzero(counted), logged)
		}
	}
}

// The pingpong tools do not announce their end. A silent client is removed when another one needs
// its place.
func TestPingpongsOneAfterTheOtherAreAllAnswered(t *testing.T) {
	counted, _ := responding(t, respond.Limits{PerPeer: 1}, func(t *testing.T, w *clitest.World) {
		for range 20 {
			_, client := clitest.Ends("pingpong rc -n 5")
			clitest.MustSucceed(t, client, w.Run(t.Context(), client))
			time.Sleep(2 * time.Second)
		}
	})
	if counted["respond_ended_displaced"] != 19 || counted["respond_completed_pingpong"] != 1 {
		t.Errorf("counted%s", nonzero(counted))
	}
}

// Clients that are killed during their traffic, with and without an end of the TCP connection.
func TestAResponderForgetsClientsThatAreKilled(t *testing.T) {
	for _, line := range []string{"pingpong rc -n 1000000", "pingpong srq -n 1000000", "perf send_lat -n 1000000",
		"perf write_bw -n 1000000", "perf read_bw -n 1000000"} {
		var kill atomic.Pointer[context.CancelFunc]
		dying := func() *clitest.World {
			w := newWorld()
			w.AfterFrames, w.Then = 500, func() { (*kill.Load())() }
			return w
		}
		counted, logged := respondingIn(t, dying, respond.Limits{}, func(t *testing.T, w *clitest.World) {
			ctx, cancel := context.WithCancel(t.Context())
			kill.Store(&cancel)
			_, client := clitest.Ends(line)
			if r := w.Run(ctx, client); r.Code != app.ExitInterrupted {
				t.Errorf("%s: %v", line, r)
			}
		})
		n := counted["respond_ended_failed"] + counted["respond_ended_hung_up"] +
			counted["respond_completed_pingpong"]
		if n != 1 {
			t.Errorf("%s: counted%s\n%s", line, nonzero(counted), logged)
		}
	}
}
