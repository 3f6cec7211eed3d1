package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel of a killed peer closes its TCP connection; over RDMA it sends nothing.
func TestACommandEndsWhenItsPeerIsKilled(t *testing.T) {
	p := newPlace(t)
	for i, c := range []struct{ server, listens, client, runs string }{
		{"perf write_bw -D 1000 -d %s", "Waiting for client", "perf write_bw -D 1000 -d %s %s", "remote address"},
		{"perf send_lat -R -D 1000 -d %s", "listening on", "perf send_lat -R -D 1000 -d %s %s", "remote address"},
		{"rping -s -a %s", "listening on", "rping -v -c -I %s -a %s", "ping data"},
		{"cm -s -n 2 -b %s", "listening on", "cm -n 1 -b %s -c %s", "1 connection"},
	} {
		for victim, name := range []string{"server", "client"} {
			t.Run(c.client+", the "+name, func(t *testing.T) {
				t.Parallel()
				p := p.in(t)
				at, from := fmt.Sprintf("127.55.13.%d", 4*i+2*victim+1), fmt.Sprintf("127.55.13.%d", 4*i+2*victim+2)
				server := p.until("gorxe "+fmt.Sprintf(c.server, at), c.listens)
				client := p.until("gorxe "+fmt.Sprintf(c.client, from, at), c.runs)
				ends := [2]*speaking{server, client}
				if err := ends[victim].Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = ends[victim].Wait()
				other := ends[1-victim]
				err := other.Wait()
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != 1 ||
					strings.Count(other.errors.String(), "gorxe: ") != 1 {
					t.Errorf("%v\n%s", err, &other.errors)
				}
			})
		}
	}
}

// speaking is a command that has printed its first output and continues.
type speaking struct {
	*exec.Cmd
	errors bytes.Buffer
}

// until starts a command and returns when it has printed a word.
func (p *place) until(line, word string) *speaking {
	p.t.Helper()
	s := &speaking{Cmd: p.command(line)}
	said, out := io.Pipe()
	s.Stdout, s.Stderr = out, io.MultiWriter(&s.errors, out)
	if err := s.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		s.Process.Kill()
		out.Close()
	})
	go func() { // a command that has ended prints nothing more
		_ = unix.Waitid(unix.P_PID, s.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		out.Close()
	}()
	found := make(chan bool)
	go func() {
		lines := bufio.NewScanner(said)
		ok := false
		for !ok && lines.Scan() {
			ok = strings.Contains(lines.Text(), word)
		}
		found <- ok
		_, _ = io.Copy(io.Discard, said)
	}()
	if !<-found {
		_ = s.Wait()
		p.t.Fatalf("%s: never said %q\n%s", line, word, &s.errors)
	}
	return s
}
