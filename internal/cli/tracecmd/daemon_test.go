package tracecmd

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/testnet"
)

// A live trace contains the packets that the daemon sends and receives while it runs; the file
// contains all.
func TestADaemonShowsAndKeepsItsPackets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.pcapng")
	withDaemon(t, "daemon --device 192.0.2.1 --trace "+path, func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		ping := func(source string) {
			if r := w.Look(t, s, "rping -c -a 192.0.2.1 -C 2 -I "+source); r.Code != 0 {
				t.Error(r)
			}
		}
		ping("192.0.2.5")
		ctx, interrupt := context.WithCancel(t.Context())
		all := w.StartWith(ctx, s, nil, "trace", "--daemon")
		one := w.StartWith(ctx, s, nil, "trace", "--daemon", "--peer", "192.0.2.7", "--messages")
		synctest.Wait()
		ping("192.0.2.6")
		ping("192.0.2.7")
		synctest.Wait()
		if text := all.Stdout.String(); strings.Contains(text, "192.0.2.5") || !strings.Contains(text, "192.0.2.6") ||
			!strings.Contains(text, "READ #") {
			t.Errorf("before the end: %v", all)
		}
		interrupt()
		<-all.Done
		<-one.Done
		if want := "the packets of the daemon, until Ctrl-C\n"; all.Code != 0 || all.Stderr.String() != want ||
			one.Code != 0 || one.Stderr.String() != want {
			t.Errorf("%v\n%v", all, one)
		}
		if text := one.Stdout.String(); strings.Contains(text, "192.0.2.6") || !strings.Contains(text, "192.0.2.7") ||
			!strings.Contains(text, " READ ") {
			t.Error(one)
		}
	})
	text := told(t, path)
	for _, want := range []string{"192.0.2.5", "192.0.2.6", "192.0.2.7"} {
		if !strings.Contains(text, want) {
			t.Errorf("no packet of %s in the file", want)
		}
	}
}

// When a daemon stops, it ends live traces.
func TestADaemonThatStopsEndsWhatItShows(t *testing.T) {
	var r *clitest.Run
	withDaemon(t, "daemon --device 192.0.2.1", func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		r = w.StartWith(t.Context(), s, nil, "trace", "--daemon")
		synctest.Wait()
	})
	want := "the packets of the daemon, until Ctrl-C\nthe daemon: no RoCEv2 packets in 0 frames\n"
	if r.Code != 0 || r.Stderr.String() != want {
		t.Error(r)
	}
}

func TestTraceSaysWhatIsWrongWithADaemon(t *testing.T) {
	for line, want := range map[string]string{
		"trace --daemon a.pcap":     "gorxe: --daemon captures: leave the file \"a.pcap\" out\n",
		"trace --daemon -i eth0":    "gorxe: give -i or --daemon, not both\n",
		"trace --peer 192.0.2.1 -":  "gorxe: --socket and --peer are for --daemon\n",
		"trace --daemon --peer all": "gorxe: --peer \"all\": give an IP address\n",
	} {
		if r := newWorld().Run(t.Context(), line); r.Code != app.ExitUsage || r.Stderr.String() != want {
			t.Errorf("%s: %v", line, r)
		}
	}
	withDaemon(t, "daemon --device 192.0.2.1", func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		ctx, end := context.WithCancel(t.Context())
		var all []*clitest.Run
		for range 8 {
			all = append(all, w.StartWith(ctx, s, nil, "trace", "--daemon"))
		}
		synctest.Wait()
		if r := w.Look(t, s, "trace --daemon"); r.Code != app.ExitFailure ||
			r.Stderr.String() != "gorxe: limit of 8 packet streams reached: try again later\n" {
			t.Error(r)
		}
		end()
		for _, r := range all {
			<-r.Done
		}
	})
}
