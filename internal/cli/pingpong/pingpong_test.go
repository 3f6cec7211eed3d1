package pingpong

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/packet/fault"
	"pgregory.net/rapid"
)

var pingpongLines = regexp.MustCompile(
	`^  local address:  LID 0x0000, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}, GID ::ffff:127\.66\.0\.[12]
  remote address: LID 0x0000, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}, GID ::ffff:127\.66\.0\.[12]
(\d+) bytes in \d+\.\d\d seconds = \S+ Mbit/sec
(\d+) iters in \d+\.\d\d seconds = \S+ usec/iter
(all bytes of \d+ received messages are correct
)?$`)

func TestPingpong(t *testing.T) {
	for _, size := range []int{1, 2, 255, 4096, 4097, 8193, 65536} {
		for _, mtu := range []int{256, 1024, 4096} {
			pingpongs(t, fmt.Sprintf("pingpong rc -m %d", mtu), size)
		}
	}
}

// pingpongs runs a command with messages of size bytes, with and without data checks at either
// end.
func pingpongs(t *testing.T, line string, size int) {
	t.Helper()
	line += fmt.Sprintf(" -n 7 -s %d", size)
	for _, chk := range [][2]string{{"", ""}, {" -c", " -c"}, {" -c", ""}, {"", " -c"}} {
		server, client := clitest.Ends(line)
		s, c := clitest.Pair(t, func() *clitest.World { w := newWorld(); w.MTU = 9000; return w }, server+chk[0],
			client+chk[1])
		clitest.MustSucceed(t, line, s, c)
		for i, r := range []*clitest.Run{s, c} {
			m := pingpongLines.FindStringSubmatch(r.Stdout.String())
			if m == nil || m[1] != fmt.Sprint(2*7*size) || m[2] != "7" || (m[3] != "") != (chk[i] != "") {
				t.Fatalf("%s%s: %v", line, chk[i], r)
			}
		}
	}
}

func TestPingpongOverABadNetwork(t *testing.T) {
	for _, f := range []fault.Config{
		{Seed: 1, Drop: 0.05}, {Seed: 2, Duplicate: 0.2}, {Seed: 3, Reorder: 0.1}, {Seed: 4, Corrupt: 0.05},
	} {
		server, client := clitest.Ends("pingpong rc -n 30 -s 20000 -c")
		s, c := clitest.Pair(t, func() *clitest.World { w := newWorld(); w.Fault = f; return w }, server, client)
		clitest.MustSucceed(t, fmt.Sprintf("%+v", f), s, c)
	}
}

func TestPingpongWithFewReceives(t *testing.T) {
	server, client := clitest.Ends("pingpong rc -n 20 -r 1 -c")
	s, c := clitest.Pair(t, newWorld, server, client)
	clitest.MustSucceed(t, "-r 1", s, c)
}

func TestPingpongNeedsTheSameSize(t *testing.T) {
	server, client := clitest.Ends("pingpong rc -n 5")
	s, c := clitest.Pair(t, newWorld, server+" -s 100", client+" -s 200")
	for _, r := range []*clitest.Run{s, c} {
		if r.Code != app.ExitFailure || !strings.Contains(r.Stderr.String(), "the same ") ||
			strings.Count(r.Stderr.String(), "\n") != 1 {
			t.Error(r)
		}
	}
}

func TestPingpongNeedsTheSameIPVersion(t *testing.T) {
	s, c := clitest.Pair(t, newWorld, "pingpong rc -d 127.66.0.1", "pingpong rc -d fd00::2 127.66.0.1")
	if want := "choose two of the same IP version with -g"; !strings.Contains(s.Stderr.String(), want) ||
		s.Code != app.ExitFailure || c.Code != app.ExitFailure {
		t.Error(s, c)
	}
}

func TestPingpongToADeadPeerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		ctx, kill := context.WithCancel(t.Context())
		w.AfterFrames, w.Then = 500, kill
		s := w.Start(ctx, "pingpong rc -d 127.66.0.1 -n 1000000")
		c := w.Start(t.Context(), "pingpong rc -d 127.66.0.2 127.66.0.1 -n 1000000")
		<-s.Done
		<-c.Done
		if s.Code != app.ExitInterrupted {
			t.Error(s)
		}
		// Either this end was sending when the peer died, or it was the peer's turn.
		unanswered := strings.Contains(c.Stderr.String(), "transport retry counter exceeded (RETRY_EXC_ERR)")
		silent := strings.Contains(c.Stderr.String(), session.ErrSilence.Error())
		if c.Code != app.ExitFailure || unanswered == silent {
			t.Error(c)
		}
	})
}

// If a peer dies during its own turn, no request remains unacknowledged: only its silence can be
// detected.
func TestPingpongWithASilentPeerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.Start(t.Context(), "pingpong rc -d 127.66.0.1 -n 5")
		c := w.Start(t.Context(), "pingpong rc -d 127.66.0.2 127.66.0.1 -n 4")
		<-s.Done
		<-c.Done
		clitest.MustSucceed(t, "the end with less to do", c)
		if want := "the peer is silent: it has ended, or it is not ibv_rc_pingpong -s 4096 -n 5 -m 1024 with the same parameters"; s.Code != app.ExitFailure || !strings.Contains(s.Stderr.String(), want) {
			t.Error(s)
		}
	})
}

func TestCheckerKnowsWhatPeersSend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 9000).Draw(t, "size")
		iter := rapid.IntRange(0, 5).Draw(t, "iter")
		mine := make([]byte, size)
		fillPattern(mine, exchange.Client, iter)
		theirs := make([]byte, size)
		fillPattern(theirs, exchange.Server, iter)
		c := &checker{role: exchange.Client}
		if err := c.check(mine, mine, iter); err != nil {
			t.Fatalf("an echo of this end's message: %v", err)
		}
		if err := c.check(theirs, mine, iter); err != nil {
			t.Fatalf("the pattern of a gorxe: %v", err)
		}
		at := rapid.IntRange(0, size-1).Draw(t, "at")
		for name, good := range map[string][]byte{"echo": mine, "pattern": theirs} {
			bad := bytes.Clone(good)
			bad[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
			if bytes.Equal(bad, mine) || bytes.Equal(bad, theirs) {
				continue
			}
			if err := c.check(bad, mine, iter); err == nil {
				t.Fatalf("byte %d of an %s changed: not seen", at, name)
			}
		}
	})
}

func TestCheckerKnowsAStockClientsFirstMessage(t *testing.T) {
	c := &checker{role: exchange.Server}
	for _, chk := range []bool{false, true} {
		b := make([]byte, 10000)
		fillStock(b, chk)
		if err := c.check(b, nil, 0); err != nil {
			t.Errorf("chk %v: %v", chk, err)
		}
		b[5000]++
		if err := c.check(b, nil, 0); err == nil ||
			err.Error() != "invalid data in message 0: byte 5000 is 0x7c, want 0x7b" {
			t.Errorf("chk %v: got %v", chk, err)
		}
	}
}

func TestPatternsHaveZeroPagesAndDifferByMessage(t *testing.T) {
	a, b := make([]byte, 8192), make([]byte, 8192)
	fillPattern(a, exchange.Client, 1)
	fillPattern(b, exchange.Client, 2)
	if a[0] != 0 || a[4096] != 0 {
		t.Error("a stock server with -c wants the first byte of each page to be 0")
	}
	same := 0
	for i := range a {
		if a[i] == b[i] {
			same++
		}
	}
	if same > 100 {
		t.Errorf("%d of 8192 bytes of two messages are the same", same)
	}
}
