package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"golang.org/x/sys/unix"
)

// stopStarted ends the daemons that gorxe run has started, and waits until they have ended.
func (p *place) stopStarted() {
	for _, socket := range p.started() {
		var s control.Status
		if err := control.NewClient(socket, nil).Get(context.Background(), "/v1/status", nil, &s); err != nil {
			continue // it has ended
		}
		pid, err := unix.PidfdOpen(s.PID, 0)
		if err != nil {
			continue
		}
		_ = unix.PidfdSendSignal(pid, unix.SIGTERM, nil, 0)
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(pid), Events: unix.POLLIN}}, -1)
		unix.Close(pid)
	}
}

// started returns the control sockets of daemons that gorxe run has started.
func (p *place) started() []string {
	all, err := filepath.Glob(filepath.Join(p.dir, "run", "control-*.sock"))
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// asUser makes the commands run as an ordinary user.
func (p *place) asUser() {
	p.t.Helper()
	if os.Geteuid() != 0 {
		return // already an ordinary user
	}
	p.user = &syscall.Credential{Uid: 65534, Gid: 65534}
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	name := filepath.Join(p.dir, "gorxe")
	if err := os.Remove(name); err != nil {
		p.t.Fatal(err)
	}
	// Other users cannot access the folder of the test's own program.
	from, err := os.Open(self)
	if err != nil {
		p.t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		p.t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Chown(p.dir, 65534, 65534); err != nil {
		p.t.Fatal(err)
	}
	all, err := os.ReadDir(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range all {
		if err := os.Chown(filepath.Join(p.dir, e.Name()), 65534, 65534); err != nil {
			p.t.Fatal(err)
		}
	}
}

// running is a command in the background.
type running struct {
	*exec.Cmd
	t   *testing.T
	out bytes.Buffer // valid after the end
}

func (p *place) background(line string) *running {
	p.t.Helper()
	r := &running{Cmd: p.command(line), t: p.t}
	r.Stdout, r.Stderr = &r.out, &r.out
	r.WaitDelay = time.Second
	if err := r.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = r.Process.Kill()
		_ = r.Wait()
	})
	return r
}

// until calls find repeatedly until it returns true.
func until(t *testing.T, what string, find func() bool) {
	t.Helper()
	late := time.After(time.Minute)
	for !find() {
		select {
		case <-time.After(time.Millisecond):
		case <-late:
			t.Fatalf("after a minute: %s", what)
		}
	}
}

// awaitPort waits until a process listens on a TCP port, in the network namespace of the calling
// thread.
func awaitPort(t *testing.T, port int) {
	t.Helper()
	until(t, "nobody listens on port "+strconv.Itoa(port), func() bool { return listens(t, port) })
}

// listens reports whether a process listens on a TCP port, in the network namespace of the
// calling thread.
func listens(t *testing.T, port int) bool {
	t.Helper()
	want := fmt.Sprintf(":%04X", port)
	for _, name := range []string{"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 3 && f[3] == "0A" && strings.HasSuffix(f[1], want) {
				return true
			}
		}
	}
	return false
}

// ask returns a daemon's JSON output of a command.
func ask[T any](p *place, line string) (v T) {
	p.t.Helper()
	text, err := p.run(line)
	if err == nil {
		err = json.Unmarshal([]byte(text), &v)
	}
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", line, err, text)
	}
	return v
}

type qps struct{ QPs []control.QP }

// ofPrograms returns the queue pairs of programs.
func (q *qps) ofPrograms() (out []control.QP) {
	for _, x := range q.QPs {
		if x.Program != "" {
			out = append(out, x)
		}
	}
	return out
}

// Both ends run on one host with one address, as in a first trial.
func TestTwoCommandsOnOneAddressExchangeMessages(t *testing.T) {
	needPrograms(t, "ib_write_bw", "ibv_rc_pingpong", "ib_send_lat")
	for u, user := range []string{"as this user", "as an ordinary user"} {
		t.Run(user, func(t *testing.T) {
			p := newPlace(t)
			if u == 1 {
				p.asUser()
			}
			for i, line := range []string{"ib_write_bw -F -n 200", "ibv_rc_pingpong -g 0 -n 50",
				"ib_send_lat -F -e -n 50"} {
				port := 21720 + 10*u + i
				line = fmt.Sprintf("gorxe run -d 127.55.11.32 -- %s -p %d", line, port)
				server := p.background(line)
				awaitPort(t, port)
				out, err := p.run(line + " 127.0.0.1")
				if err != nil || !strings.Contains(out, "iters in") && !strings.Contains(out, "#bytes") {
					t.Errorf("%s: %v\n%s", line, err, out)
				}
				if err := server.Wait(); err != nil {
					t.Errorf("the server of %s: %v\n%s", line, err, &server.out)
				}
			}
			if all := p.started(); len(all) != 1 {
				t.Errorf("daemons: %v", all)
			}
		})
	}
}

func TestTwoCommandsOnOneAddressConnectByRDMACM(t *testing.T) {
	needPrograms(t, "rping", "ucmatose", "rdma_server", "rstream")
	p := newPlace(t)
	const address = "127.55.11.33"
	for i, c := range []struct{ server, client, says string }{
		{"rping -s -a " + address + " -p PORT -C 5", "rping -c -a " + address + " -p PORT -C 5 -v", "rdma-ping-4"},
		{"ucmatose -b " + address + " -p PORT", "ucmatose -s " + address + " -p PORT", "return status 0"},
		{"rdma_server -s " + address + " -p PORT", "rdma_client -s " + address + " -p PORT", "end 0"},
		{"rstream -b " + address + " -p PORT -S 4096 -C 5", "rstream -s " + address + " -p PORT -S 4096 -C 5", "4k"},
	} {
		run := func(line string) string {
			return "gorxe run -d " + address + " -- " + strings.ReplaceAll(line, "PORT", strconv.Itoa(22080+i))
		}
		server := p.background(run(c.server))
		var out string
		until(t, c.client+" does not get through", func() (over bool) {
			var err error
			out, err = p.run(run(c.client)) // fails before the server listens
			return err == nil && strings.Contains(out, c.says)
		})
		if err := server.Wait(); err != nil {
			t.Errorf("%s: %v\n%s\n%s", c.server, err, &server.out, out)
		}
	}
	if all := p.started(); len(all) != 1 {
		t.Errorf("daemons: %v", all)
	}
}

// startDaemon starts a daemon that serves only programs, at "s".
func (p *place) startDaemon(address string) *daemon {
	return p.start(
		"gorxe daemon --control-socket s --rping=false --perftest=false --pingpong=false --device " + address)
}

func TestADaemonTellsWhoseItsQueuePairsAre(t *testing.T) {
	needPrograms(t, "ibv_rc_pingpong")
	p := newPlace(t)
	d := p.startDaemon("127.55.11.25")
	server := p.background("gorxe run --socket s.programs -- ibv_rc_pingpong -g 0 -p 21741")
	awaitPort(t, 21741)
	mine := ask[qps](p, "gorxe qps --socket s --json")
	if got := mine.ofPrograms(); len(got) != 1 || !strings.HasSuffix(got[0].Program, " ibv_rc_pingpong") {
		t.Errorf("%+v", got)
	}
	for _, line := range []string{"gorxe status --socket s", "gorxe qps --socket s", "gorxe mrs --socket s"} {
		if out, err := p.run(line); err != nil || !strings.Contains(out, " ibv_rc_pingpong") {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	_ = server.Process.Signal(unix.SIGTERM)
	_ = server.Wait()
	if err := p.stop(d, unix.SIGTERM); err != nil {
		t.Error(err)
	}
}

func TestNothingIsLeftInTheDaemonOfACommandThatWasKilled(t *testing.T) {
	needPrograms(t, "ibv_rc_pingpong")
	p := newPlace(t)
	d := p.startDaemon("127.55.11.26")
	count := func() int {
		all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	var before int
	for i := range 4 {
		port := 21742 + i
		server := p.background(fmt.Sprintf("gorxe run --socket s.programs -- ibv_rc_pingpong -e -g 0 -p %d", port))
		awaitPort(t, port)
		if during := count(); i > 0 && during <= before {
			t.Errorf("the daemon has %d descriptors while a program runs, before it had %d", during, before)
		}
		if err := server.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = server.Wait()
		until(t, "the daemon still has queue pairs of the program", func() bool {
			left, s := ask[qps](p, "gorxe qps --socket s --json"),
				ask[control.Status](p, "gorxe status --socket s --json")
			return len(left.ofPrograms()) == 0 && len(s.Programs) == 0
		})
		if i == 0 {
			before = count() // the first one opens files that remain open
			continue
		}
		until(t, fmt.Sprintf("the daemon has more than %d descriptors", before),
			func() bool { return count() <= before })
	}
	if err := p.stop(d, unix.SIGTERM); err != nil {
		t.Error(err)
	}
}

func TestAProgramOutlivesItsDaemonWithErrors(t *testing.T) {
	needPrograms(t, "ibv_devinfo")
	p := newPlace(t)
	d := p.startDaemon("127.55.11.27")
	c := p.command("gorxe run --socket s.programs -- sh -c 'echo ready; read x; ibv_devinfo; echo status $?; exit 3'")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	// One pipe keeps the order of the output.
	said, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = c.Stdout
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(said)
	if line, err := r.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_ = p.stop(d, unix.SIGKILL)
	if line, err := r.ReadString('\n'); !strings.HasPrefix(line, "gorxe: the daemon has ended") {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(r)
	if err := c.Wait(); exitCode(err) != 3 || !strings.Contains(string(rest), "status ") ||
		strings.Contains(string(rest), "status 0") {
		t.Errorf("%v\n%s", err, rest)
	}
	if strings.Contains(string(rest), "gorxe: ") {
		t.Errorf("more than one line:\n%s", rest)
	}
	if left, err := filepath.Glob(filepath.Join(p.dir, "gorxe-*")); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	// A new daemon replaces the one that was killed.
	d = p.startDaemon("127.55.11.27")
	if out, err := p.run("gorxe run --socket s.programs -- ibv_devinfo"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if err := p.stop(d, unix.SIGTERM); err != nil {
		t.Error(err)
	}
}

func TestADaemonThatWasStartedEndsAfterItsLastProgram(t *testing.T) {
	needPrograms(t)
	p := newPlace(t)
	if out, err := p.run("gorxe run -d 127.55.11.28 --daemon-idle 1ms -- true"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	until(t, "the daemon still runs", func() bool { return len(p.started()) == 0 })
	// The daemon has ended or is about to end: the next one starts after it.
	for range 3 {
		if out, err := p.run("gorxe run -d 127.55.11.28 --daemon-idle 1ms -- true"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	pid := func() int {
		if out, err := p.run("gorxe run -d 127.55.11.28 --daemon-idle 1h -- true"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return ask[control.Status](p, "gorxe status --json").PID
	}
	until(t, "the daemon still runs", func() bool { return len(p.started()) == 0 })
	if first, second := pid(), pid(); first != second {
		t.Errorf("a second daemon was started: %d after %d", second, first)
	}
}

func TestManyCommandsStartOneDaemon(t *testing.T) {
	needPrograms(t)
	p := newPlace(t)
	var all []*running
	for range 4 {
		all = append(all, p.background("gorxe run -d 127.55.11.29 -- true"))
	}
	for _, r := range all {
		if err := r.Wait(); err != nil {
			t.Errorf("%v\n%s", err, &r.out)
		}
	}
	if len(p.started()) != 1 {
		t.Errorf("daemons: %v", p.started())
	}
}

func TestWhyADaemonCannotStartIsToldByTheCommand(t *testing.T) {
	needPrograms(t)
	p := newPlace(t)
	d := p.start("gorxe daemon --control-socket s --programs=false --rping=false --perftest=false --pingpong=false --device 127.55.11.30")
	const own, daemons = " is for a device that gorxe run opens itself, ", " for that of a daemon: omit one of them"
	for line, want := range map[string]string{
		"gorxe run -d 127.55.11.30 -- true":            "a daemon for 127.55.11.30 cannot be started: device gorxe0 on 127.55.11.30",
		"gorxe run -d nosuch0 -- true":                 "nosuch0",
		"gorxe run --socket nowhere -- true":           "no gorxe daemon answers at nowhere",
		"gorxe run --socket s -- true":                 "is not a programs socket",
		"gorxe run --socket s --fault drop=1% -- true": "--fault" + own + "--socket" + daemons,
		"gorxe run --socket s --no-daemon -- true": "--no-daemon" + own +
			"--socket" + daemons,
		"gorxe run --daemon-idle 1s --no-daemon -- true": "--no-daemon" + own +
			"--daemon-idle" + daemons,
		"gorxe run --no-daemon -d 127.55.11.30 -- true":                        "127.55.11.30:4791 is in use",
		"gorxe run --shards 2 -d 127.55.11.30 -- true":                         "127.55.11.30:4791 is in use",
		"GORXE_SOCKET=elsewhere gorxe run -- true":                             "no gorxe daemon answers at elsewhere",
		"gorxe run --no-daemon -d 127.55.11.31 -- true":                        "",
		"gorxe run --link udp -d 127.55.11.31 -- true":                         "",
		"GORXE_SOCKET=elsewhere gorxe run --no-daemon -d 127.55.11.31 -- true": "",
	} {
		if strings.HasPrefix(line, "GORXE_SOCKET") {
			line = "env " + line
		}
		out, err := p.run(line)
		if want == "" && (err != nil || out != "") || want != "" &&
			(err == nil || !strings.Contains(out, want) || strings.Count(out, "gorxe: ") != 1) {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	if err := p.stop(d, unix.SIGTERM); err != nil {
		t.Error(err)
	}
}
