package cmtool

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/packet/fault"
)

// endsOf returns the two command lines of a test with flags for both ends.
func endsOf(flags string) (server, client string) {
	return "cm -s -b 127.66.0.1 " + flags, "cm -c 127.66.0.1 -b 127.66.0.2 " + flags
}

func TestConnectionsAreMadeUsedAndEnded(t *testing.T) {
	for _, c := range []struct {
		flags  string
		made   string // printed by the client
		closes string // printed by both ends at the end
	}{
		{"", "1 connection in ", "10 messages of 100 bytes both ways\n"},
		{"-n 32 -C 100", "32 connections in ", "100 messages of 100 bytes both ways on each\n"},
		{"-n 20 -C 3 -S 5000 -j 3", "20 connections in ", "3 messages of 5000 bytes both ways on each\n"},
		{"-n 5 -C 0 -p 9", "5 connections in ", "5 connections ended\n"},
		{"-P udp", "1 datagram queue pair in ", "10 messages of 100 bytes both ways\n"},
		{"-P udp -n 4 -C 20 -S 1000", "4 datagram queue pairs in ", "20 messages of 1000 bytes both ways on each\n"},
		{"-P udp -n 3 -C 0", "3 datagram queue pairs in ", "3 datagram queue pairs ended\n"},
	} {
		t.Run(c.flags, func(t *testing.T) {
			server, client := endsOf(c.flags)
			s, cl := clitest.ManagedPair(t, newWorld, server, client)
			clitest.MustSucceed(t, c.flags, cl)
			if s.Code != 0 || !strings.HasPrefix(s.Stderr.String(), "listening on port ") {
				t.Error(s)
			}
			for _, out := range []string{s.Stdout.String(), cl.Stdout.String()} {
				if !strings.Contains(out, c.made) || !strings.HasSuffix(out, c.closes) {
					t.Errorf("got %q, want %q and, at the end, %q", out, c.made, c.closes)
				}
			}
		})
	}
}

func TestConnectionsSurviveLossAndDuplicates(t *testing.T) {
	for name, fault := range map[string]fault.Config{
		"loss":       {Seed: 3, Drop: 0.05},
		"duplicates": {Seed: 3, Duplicate: 0.3},
		"reordering": {Seed: 3, Reorder: 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			server, client := endsOf("-n 8 -C 20 -S 3000")
			s, c := clitest.ManagedPair(t, func() *clitest.World {
				w := newWorld()
				w.Fault = fault
				return w
			}, server, client)
			clitest.MustSucceed(t, name, c)
			if s.Code != 0 {
				t.Error(s)
			}
		})
	}
}

func TestClientOfTheConnectionManagerSaysWhyItCouldNotConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, space := range []string{"", " -P udp"} {
			w := newWorld()
			r := w.Run(t.Context(), "cm -c 127.66.0.1 -b 127.66.0.2"+space)
			if r.Code != app.ExitFailure || !strings.Contains(r.Stderr.String(), "does not answer") {
				t.Errorf("nobody is there: %v", r)
			}
			ctx, stop := context.WithCancel(t.Context())
			s := w.Start(ctx, "cm -s -b 127.66.0.1 -p 1000"+space)
			synctest.Wait()
			r = w.Run(t.Context(), "cm -c 127.66.0.1 -b 127.66.0.2 -p 1001"+space)
			if r.Code != app.ExitFailure || !strings.Contains(r.Stderr.String(), "refused: no listener") {
				t.Errorf("nobody listens: %v", r)
			}
			stop()
			<-s.Done
			if s.Code != app.ExitInterrupted {
				t.Errorf("the server, which was interrupted: %v", s)
			}
		}
	})
}

func TestEndsThatCountOrMeasureDifferentlyFindOut(t *testing.T) {
	for _, c := range []struct{ server, client, want string }{
		{"-S 100", "-S 90", "the same"}, // either end may detect it
		{"-C 10", "-C 9", "the same -C"},
		{"-P udp -S 100", "-P udp -S 90", "start the peer with the same -S"},
	} {
		t.Run(fmt.Sprint(c.server, " and ", c.client), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				s := w.Start(ctx, "cm -s -b 127.66.0.1 "+c.server)
				synctest.Wait()
				cl := w.Start(ctx, "cm -c 127.66.0.1 -b 127.66.0.2 "+c.client)
				select {
				case <-s.Done:
				case <-cl.Done:
				}
				synctest.Wait() // the other end may be notified by the first one's end
				stop()
				<-s.Done
				<-cl.Done
				if said := s.Stderr.String() + cl.Stderr.String(); !strings.Contains(said, c.want) {
					t.Errorf("%q, want %q in it", said, c.want)
				}
			})
		})
	}
}
