package rpingcmd

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/packet/fault"
)

func TestRping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.Fault = fault.Config{Seed: 1, Drop: 0.05}
		s := w.Start(t.Context(), "rping -s -a 127.66.0.1 -v -S 100")
		synctest.Wait()
		c := w.Run(t.Context(), "rping -c -a 127.66.0.1 -I 127.66.0.2 -C 3 -V -v -S 100")
		<-s.Done
		if s.Code != 0 || c.Code != 0 || s.Stderr.String() != "listening on port 7174 of 127.66.0.1\n" ||
			c.Stderr.Len() > 0 {
			t.Fatalf("%v\n%v", s, c)
		}
		pings := strings.Split(c.Stdout.String(), "\n")
		if len(pings) != 5 || !strings.HasPrefix(pings[2], "ping data: rdma-ping-2: CDE") ||
			pings[3] != "3 pings of 100 bytes returned, every byte compared" {
			t.Errorf("the client:\n%s", &c.Stdout)
		}
		if want := "server " + strings.Join(pings[:3], "\nserver ") + "\n"; s.Stdout.String() != want {
			t.Errorf("the server:\n%s", &s.Stdout)
		}
	})
}

func TestAPersistentRpingServerServesMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		ctx, cancel := context.WithCancel(t.Context())
		s := w.Start(ctx, "rping -s -P --ib-dev 127.66.0.1")
		synctest.Wait()
		var clients []*clitest.Run
		for _, a := range []string{"2", "3", "4"} {
			clients = append(clients, w.Start(t.Context(), "rping -c -a 127.66.0.1 -I 127.66.0."+a+" -C 20 -V -S 4000"))
		}
		for _, c := range clients {
			if <-c.Done; c.Code != 0 {
				t.Error(c)
			}
		}
		cancel()
		if <-s.Done; s.Code != app.ExitInterrupted ||
			s.Stderr.String() != "listening on port 7174 of 127.66.0.1\ngorxe: interrupted\n" {
			t.Error(s)
		}
	})
}

func TestRpingSaysWhatIsWrong(t *testing.T) {
	for line, want := range map[string]string{
		"rping":                   "-s to answer pings or -c",
		"rping -s -c":             "-s to answer pings or -c",
		"rping -c":                "-a ADDRESS",
		"rping -s -S 22":          "-S 22: must be 23 to 65535",
		"rping -s extra":          "takes no argument",
		"rping -s --fault drop=2": "--fault",
		"rping -s -I 127.66.0.2":  "-a selects the address of the server",
		"rping -c -a 127.66.0.1 -I 127.66.0.2 --ib-dev 127.66.0.3": "--ib-dev 127.66.0.3 and -I 127.66.0.2 both " +
			"select the device: omit one of them",
		"rping -c -a 127.66.0.1 -I 127.66.0.2 -C 1":  "no listener",
		"rping -c -a 127.66.0.9 -I 127.66.0.2 -C 1":  "does not answer",
		"rping -c -a 127.66.0.1:x -I 127.66.0.2":     "the port",
		"rping -c -a ::1 -I 127.66.0.2 -C 1":         "no address with a route to the peer",
		"rping -s -a 127.66.0.1 --ib-dev 127.66.0.3": "127.66.0.1",
	} {
		t.Run(line, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				other, cancel := context.WithCancel(t.Context())
				s := w.Start(other, "rping -s -P -a 127.66.0.1 -p 1")
				synctest.Wait()
				r := w.Run(t.Context(), line)
				if r.Code == 0 || !strings.Contains(r.Stderr.String(), want) {
					t.Errorf("want %q in it: %v", want, r)
				}
				cancel()
				<-s.Done
			})
		})
	}
}

// The data of a ping comes from a peer.
func TestAPingIsPrintedWithoutControlCharacters(t *testing.T) {
	var out bytes.Buffer
	(&params{verbose: true}).print(&app.App{Stdout: &out}, "ping data: ")([]byte("e\x1b]0;owned\a\u202eth"))
	if want := "ping data: e\ufffd]0;owned\ufffd\ufffdth\n"; out.String() != want {
		t.Errorf("a ping is printed as %q", out.String())
	}
}
