package topcmd

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/cli/daemoncmd"
	"github.com/gorxe/gorxe/internal/cli/rpingcmd"
	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/trace/capture"
)

func newWorld() *clitest.World { return clitest.NewWorld(Command, daemoncmd.Command, rpingcmd.Command) }

// inUTC makes the local time UTC.
func inUTC(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = local })
}

func TestTopReadsACaptureWithItsTimesAsTheClock(t *testing.T) {
	inUTC(t)
	for _, tt := range []struct{ name, file, line string }{
		{"errors", "rcops", "top FILE"},
		{"losses", "loss_write", "top FILE --interval 10ms"},
		{"one_interval", "loss_write", "top FILE --interval 10ms -n 1"},
		{"rows", "rcops", "top FILE --rows 2 --sort flow"},
		{"filter", "rcops", "top FILE --filter nak --sort nak"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := rxetraffic.Unpack(t, tt.file)[0]
			r := newWorld().Run(t.Context(), strings.ReplaceAll(tt.line, "FILE", path))
			clitest.MustSucceed(t, tt.line, r)
			golden.Check(t, tt.name+".golden", strings.ReplaceAll(r.Stdout.String(), path, filepath.Base(path)))
		})
	}
}

func TestTopSaysWhatIsWrong(t *testing.T) {
	for line, want := range map[string]string{
		"top":                          "give -i INTERFACE, --daemon, or a FILE (- for standard input)",
		"top a b":                      `gorxe top takes one file; unexpected argument "b"`,
		"top -i eth0 a":                `-i eth0 captures: leave the file "a" out`,
		"top --daemon -i eth0":         "give -i or --daemon, not both",
		"top --interval 1ms a":         "--interval 1ms: must be at least 10ms",
		"top -n 0 a":                   "-n 0: must be 1 to 2147483647",
		"top --rows -1 a":              "--rows -1: must be 0 to 2147483647",
		"top --sort best a":            `--sort "best": the orders are ` + orderNames(),
		"top --filter psm==1 a":        `--filter, at character 1: unknown field "psm", did you mean "psn"?`,
		"top --peer 192.0.2.1 a":       "--socket and --peer are for --daemon",
		"top --daemon --peer nowhere ": `--peer "nowhere": give an IP address`,
	} {
		if r := newWorld().Run(t.Context(), line); r.Code != app.ExitUsage || r.Stderr.String() != "gorxe: "+want+"\n" {
			t.Errorf("%s: %v", line, r)
		}
	}
	w := newWorld()
	w.Stdin = strings.NewReader("no capture")
	if r := w.Run(t.Context(), "top -"); r.Code != app.ExitFailure ||
		!strings.Contains(r.Stderr.String(), "standard input: unknown format") {
		t.Error(r)
	}
	path := rxetraffic.Unpack(t, "rcops")[0]
	r := newWorld().Run(t.Context(), "top "+path+" --filter cnp")
	if r.Code != 0 || r.Stdout.Len() > 0 || !strings.Contains(r.Stderr.String(), "no RoCEv2 packets to show in ") {
		t.Error(r)
	}
}

// A pipe without data does not delay the end.
func TestTopEndsWhenItIsInterruptedWhileAPipeIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, in := io.Pipe()
		w := newWorld()
		w.Stdin = out
		ctx, interrupt := context.WithCancel(t.Context())
		r := w.Start(ctx, "top -")
		synctest.Wait()
		interrupt()
		<-r.Done
		if r.Code != app.ExitInterrupted {
			t.Error(r)
		}
		in.Close()
	})
}

// fakeLive is a live capture of frames that the test provides.
type fakeLive struct {
	frames  chan capture.Frame
	closing sync.Once
}

func (f *fakeLive) Next(to *capture.Frame) error {
	next, ok := <-f.frames
	if !ok {
		return io.EOF
	}
	*to = next
	return nil
}

func (f *fakeLive) Dropped() uint64 { return 3 }
func (f *fakeLive) Close() error    { f.closing.Do(func() { close(f.frames) }); return nil }

// framesOf returns the first n frames of a capture of Linux rxe.
func framesOf(t *testing.T, name string, n int) (all []capture.Frame) {
	t.Helper()
	b, err := os.ReadFile(rxetraffic.Unpack(t, name)[0])
	if err != nil {
		t.Fatal(err)
	}
	r, err := capture.Open(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		g := *f
		g.Data = bytes.Clone(f.Data)
		if all = append(all, g); len(all) == n {
			break
		}
	}
	return all
}

// withLive runs f while 'gorxe top' shows a live capture.
func withLive(t *testing.T, line string, terminal bool, f func(r *clitest.Run, c *fakeLive, keys io.Writer,
	interrupt func())) {
	synctest.Test(t, func(t *testing.T) {
		c := &fakeLive{frames: make(chan capture.Frame, 1000)}
		out, keys := io.Pipe()
		w := newWorld()
		w.Terminal, w.Stdin = terminal, out
		w.Live = func(string, func()) (app.LiveCapture, error) { return c, nil }
		ctx, interrupt := context.WithCancel(t.Context())
		r := w.Start(ctx, line)
		synctest.Wait()
		f(r, c, keys, interrupt)
		interrupt()
		<-r.Done
		keys.Close()
		out.Close()
	})
}

func TestTopWritesABlockPerIntervalWithoutATerminal(t *testing.T) {
	frames := framesOf(t, "rcops", 40)
	withLive(t, "top -i eth7 --interval 2s -n 2", false, func(r *clitest.Run, c *fakeLive, _ io.Writer, _ func()) {
		for _, f := range frames {
			c.frames <- f
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if out := r.Stdout.String(); strings.Count(out, "FLOW") != 1 || !strings.HasPrefix(out, "eth7  ") {
			t.Errorf("after one interval:\n%s", out)
		}
		c.frames <- capture.Frame{Number: 41} // no packet; orders the read above before the next block
		<-r.Done
		blocks := strings.Split(r.Stdout.String(), "\n\n")
		if r.Code != 0 || len(blocks) != 2 || !strings.Contains(blocks[0], "198.18.0.2") ||
			!strings.Contains(blocks[1], "\n0 bit/s, 0 packets/s; so far ") ||
			!strings.Contains(blocks[1], ", 3 frames missed") ||
			r.Stderr.String() != "capturing on eth7, until Ctrl-C\n" {
			t.Error(r)
		}
	})
}

func TestTopRedrawsATerminalAndObeysKeys(t *testing.T) {
	frames := framesOf(t, "rcops", 40)
	withLive(t, "top -i eth7", true, func(r *clitest.Run, c *fakeLive, keys io.Writer, _ func()) {
		press := func(k string) {
			if _, err := keys.Write([]byte(k)); err != nil {
				t.Error(err)
			}
			synctest.Wait()
		}
		press("s") // nothing is shown yet
		for _, f := range frames {
			c.frames <- f
		}
		time.Sleep(time.Second)
		synctest.Wait()
		press("s")
		press("x")
		if n := strings.Count(r.Stdout.String(), home); n != 2 {
			t.Errorf("drawn %d times: %q", n, r)
		}
		for _, want := range []string{"shown by throughput", "shown by packets", "(s sort, q quit)"} {
			if !strings.Contains(r.Stdout.String(), want) {
				t.Errorf("no %q in %q", want, r)
			}
		}
		press("q")
		<-r.Done
		out := r.Stdout.String()
		if r.Code != 0 || r.Stderr.Len() > 0 || !strings.HasPrefix(out, enter) || !strings.HasSuffix(out, leave) {
			t.Errorf("%q", r)
		}
		for line := range strings.SplitSeq(out, "\r\n") {
			line = strings.NewReplacer(enter, "", home, "", clearLine, "", clearRest, "", leave, "").Replace(line)
			if n := len([]rune(line)); n > defaultWidth {
				t.Errorf("a line of %d characters: %q", n, line)
			}
		}
	})
}

func TestTopEndsWhenItIsInterruptedOrTheCaptureEnds(t *testing.T) {
	for name, end := range map[string]func(c *fakeLive, keys io.Writer, interrupt func()){
		"interrupt":   func(_ *fakeLive, _ io.Writer, interrupt func()) { interrupt() },
		"end":         func(c *fakeLive, _ io.Writer, _ func()) { c.Close() },
		"Ctrl-C, raw": func(_ *fakeLive, keys io.Writer, _ func()) { _, _ = keys.Write([]byte{ctrlC}) },
	} {
		withLive(t, "top -i eth7", true, func(r *clitest.Run, c *fakeLive, keys io.Writer, interrupt func()) {
			end(c, keys, interrupt)
			<-r.Done
			if r.Code != 0 || !strings.HasSuffix(r.Stdout.String(), leave) {
				t.Errorf("%s: %q", name, r)
			}
		})
	}
}

func TestTopShowsTheFlowsOfADaemon(t *testing.T) {
	clitest.WithDaemon(t, newWorld, "daemon --device 192.0.2.1", func(t *testing.T, w *clitest.World,
		s *testnet.Listener) {
		ctx, interrupt := context.WithCancel(t.Context())
		r := w.StartWith(ctx, s, nil, "top", "--daemon", "-n", "1")
		synctest.Wait()
		if ping := w.Look(t, s, "rping -c -a 192.0.2.1 -C 2 -I 192.0.2.5"); ping.Code != 0 {
			t.Error(ping)
		}
		<-r.Done
		if r.Code != 0 || !strings.Contains(r.Stdout.String(), "192.0.2.5/0x") ||
			r.Stderr.String() != "the packets of the daemon, until Ctrl-C\n" {
			t.Error(r)
		}
		interrupt()
	})
}
