package peerlog

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// output is a log in memory.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) lines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Split(strings.TrimSuffix(o.text.String(), "\n"), "\n")
}

func (o *output) count(part string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Count(o.text.String(), part)
}

func limited(t *testing.T, f func(l *Limiter, log *slog.Logger, out *output)) {
	synctest.Test(t, func(t *testing.T) {
		out := &output{}
		l := New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelInfo}))
		f(l, l.Logger(), out)
	})
}

// Of a peer that causes 100 lines a second, ten lines are written, then one per second, and the
// number of the others every ten seconds.
func TestAPeerDoesNotFillTheLog(t *testing.T) {
	limited(t, func(l *Limiter, log *slog.Logger, out *output) {
		log = log.With("peer", netip.MustParseAddr("192.0.2.1"), "device", "gorxe0")
		for range 6_000 {
			log.Info("session ended early", "reason", "something")
			time.Sleep(10 * time.Millisecond)
		}
		if n := out.count("session ended early\" peer=192.0.2.1"); n < 69 || n > 70 {
			t.Errorf("%d of 6,000 lines in a minute are written", n)
		}
		if n := out.count("log lines suppressed"); n != 5 {
			t.Errorf("the others are reported %d times", n)
		}
		l.Close()
		time.Sleep(time.Minute)
		if n := out.count("log lines suppressed"); n != 6 {
			t.Errorf("the others are reported %d times with the end", n)
		}
		// A line and a report at the same time can come in either order, so the number of lines
		// varies.
		want := regexp.MustCompile(`level=INFO msg="log lines suppressed" lines=(9[89]\d) messages="session ended early: (9[89]\d)" latest_peer=192.0.2.1`)
		if m := want.FindStringSubmatch(strings.Join(out.lines(), "\n")); m == nil || m[1] != m[2] {
			t.Errorf("there is no %s\n%s", want, out.lines()[len(out.lines())-1])
		}
		if written := out.count("session ended early\" peer"); l.Suppressed() != uint64(6_000-written) {
			t.Errorf("%d are suppressed, %d written", l.Suppressed(), written)
		}
	})
}

// One host does not use the tokens of another; the lines of many hosts together are limited, as
// is the memory for them.
func TestHostsAndMessagesHaveLimitsOfTheirOwn(t *testing.T) {
	limited(t, func(l *Limiter, log *slog.Logger, out *output) {
		for range 1000 {
			log.Info("ended early", "peer", "192.0.2.1:40000")
		}
		log.Warn("wrong payload", "peer", "192.0.2.1")
		log.Info("ended early", "peer", &net.TCPAddr{IP: net.IP{192, 0, 2, 2}, Port: 1})
		log.Info("ended early", "service", "region")
		log.Debug("asks", "peer", "192.0.2.1")
		for _, want := range []string{`msg="wrong payload" peer=192.0.2.1`, "peer=192.0.2.2:1", "service=region"} {
			if out.count(want) != 1 {
				t.Errorf("there is no %s", want)
			}
		}
		before := out.count("\n")
		for i := range 100_000 {
			log.Info("ended early", "peer",
				netip.AddrFrom16([16]byte{0x20, 1, 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)}))
		}
		if n := out.count("\n") - before; n == 0 || n > 100 {
			t.Errorf("%d lines of 100,000 hosts are written", n)
		}
		if n := len(l.hosts.now) + len(l.hosts.old); n > 2*generation {
			t.Errorf("%d buckets are kept", n)
		}
		time.Sleep(Interval)
		synctest.Wait()
		lines := out.lines()
		if last := lines[len(lines)-1]; !strings.Contains(last, `messages="ended early: `) {
			t.Error(last)
		}
		l.Close()
	})
}

// A report has the highest level of the suppressed lines, and nothing below the configured level
// is written.
func TestTheReportHasTheLevelOfWhatItReports(t *testing.T) {
	for _, c := range []struct {
		levels []slog.Level
		want   string
	}{{[]slog.Level{slog.LevelInfo}, "INFO"}, {[]slog.Level{slog.LevelInfo, slog.LevelWarn}, "WARN"}} {
		limited(t, func(l *Limiter, log *slog.Logger, out *output) {
			for _, level := range c.levels {
				for range 11 {
					log.Log(t.Context(), level, fmt.Sprint("at ", level))
				}
			}
			l.Close()
			if out.count(`level=`+c.want+` msg="log lines suppressed" lines=`+fmt.Sprint(len(c.levels))) != 1 {
				t.Error(out.lines())
			}
		})
	}
}
