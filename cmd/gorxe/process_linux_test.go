package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain runs the program instead of the tests if a test started the test binary as the
// program.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == refusing {
		fmt.Fprintln(os.Stderr, refuse(os.Args[1:]))
		os.Exit(126)
	}
	if os.Getenv("GORXE_IS_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// place is a directory with the program and a socket on which daemons report that they are ready.
type place struct {
	t     *testing.T
	dir   string
	ready *net.UnixConn
	env   []string
	user  *syscall.Credential // user of the commands; nil: the test's
}

func newPlace(t *testing.T) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "gx") // a short name, because it is part of socket names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "gorxe")); err != nil {
		t.Fatal(err)
	}
	notify := filepath.Join(dir, "notify")
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ready.Close() })
	p := &place{t: t, dir: dir, ready: ready, env: append(os.Environ(), "GORXE_IS_MAIN=1", "NOTIFY_SOCKET="+notify,
		"XDG_RUNTIME_DIR="+dir, "RUNTIME_DIRECTORY="+filepath.Join(dir, "run"), "PATH="+dir+":"+os.Getenv("PATH"))}
	t.Cleanup(p.stopStarted)
	return p
}

// in returns the place for a subtest.
func (p *place) in(t *testing.T) *place {
	q := *p
	q.t = t
	return &q
}

// command returns a command line for the shell.
func (p *place) command(line string) *exec.Cmd {
	c := exec.CommandContext(p.t.Context(), "sh", "-c", "exec "+line)
	c.Dir, c.Env = p.dir, p.env
	c.SysProcAttr = &syscall.SysProcAttr{Credential: p.user}
	return c
}

// daemon is a daemon that is ready.
type daemon struct {
	*exec.Cmd
	log bytes.Buffer
}

func (p *place) start(line string) *daemon {
	p.t.Helper()
	d := &daemon{Cmd: p.command(line)}
	d.Stderr = &d.log
	if err := d.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { d.Process.Kill() })
	// A daemon that cannot start reports nothing, but ends.
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = unix.Waitid(unix.P_PID, d.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if c, err := net.DialUnix("unixgram", nil, p.ready.LocalAddr().(*net.UnixAddr)); err == nil {
			_, _ = c.Write([]byte("over"))
			c.Close()
		}
	}()
	var b [64]byte
	n, err := p.ready.Read(b[:])
	if err != nil || string(b[:n]) != "READY=1" {
		<-over
		_ = d.Wait()
		p.t.Fatalf("%s: told %q, %v\n%s", line, b[:n], err, &d.log)
	}
	return d
}

// stop ends a daemon with a signal and discards its messages to the service manager.
func (p *place) stop(d *daemon, sig os.Signal) error {
	p.t.Helper()
	if err := d.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
	err := d.Wait()
	var b [64]byte
	for { // "STOPPING=1", and finally "over"
		n, rerr := p.ready.Read(b[:])
		if rerr != nil || string(b[:n]) == "over" {
			return err
		}
	}
}

// run runs a command to its end and returns what it printed.
func (p *place) run(line string) (string, error) {
	out, err := p.command(line).CombinedOutput()
	return string(out), err
}

func TestSignalsStopTheDaemon(t *testing.T) {
	p := newPlace(t)
	for _, sig := range []os.Signal{unix.SIGTERM, unix.SIGINT} {
		d := p.start("gorxe daemon --device 127.55.11.1 --control-socket s")
		if err := p.stop(d, sig); err != nil {
			t.Errorf("%v: %v\n%s", sig, err, &d.log)
		}
		if !strings.Contains(d.log.String(), "msg=stopped") {
			t.Errorf("%v: the log:\n%s", sig, &d.log)
		}
		if _, err := os.Lstat(filepath.Join(p.dir, "s")); !os.IsNotExist(err) {
			t.Errorf("%v: the control socket is left: %v", sig, err)
		}
	}
}

func TestASecondStartFailsClearly(t *testing.T) {
	p := newPlace(t)
	d := p.start("gorxe daemon --device 127.55.11.2 --control-socket s")
	for line, want := range map[string]string{
		"gorxe daemon --device 127.55.11.2 --control-socket other": "127.55.11.2:4791 is in use: another gorxe or this host's Linux rxe owns UDP port 4791",
		"gorxe daemon --device 127.55.11.3 --control-socket s": fmt.Sprintf(
			"control socket s is in use by gorxe daemon %d: stop it, or choose another with --control-socket",
			d.Process.Pid),
	} {
		out, err := p.run(line)
		if err == nil || !strings.Contains(out, want) || strings.Count(out, "gorxe: ") != 1 {
			t.Errorf("%s: %v\n%s\nwant %q", line, err, out, want)
		}
	}
	if out, err := p.run("gorxe status --socket s"); err != nil {
		t.Errorf("the first one is disturbed: %v\n%s", err, out)
	}
	if err := p.stop(d, unix.SIGTERM); err != nil {
		t.Error(err)
	}
}

func TestADaemonTakesThePlaceOfOneThatWasKilled(t *testing.T) {
	p := newPlace(t)
	const line = "gorxe daemon --device 127.55.11.4 --control-socket s"
	if err := p.stop(p.start(line), unix.SIGKILL); err == nil {
		t.Error("one that was killed ended in order")
	}
	if _, err := os.Lstat(filepath.Join(p.dir, "s")); err != nil {
		t.Fatalf("its socket: %v", err)
	}
	if out, err := p.run("gorxe status --socket s"); err == nil ||
		!strings.Contains(out, "no gorxe daemon answers at s") {
		t.Errorf("%v: %s", err, out)
	}
	if err := p.stop(p.start(line), unix.SIGTERM); err != nil {
		t.Error(err)
	}
}

// The commands of docs/operations.md do what the page says. They run with a loopback address
// instead of the interface, and a free port for the metrics.
func TestTheCommandsOfTheOperationsPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, ok := strings.Cut(string(text), "\n## Start\n") // the tests of packaging run the part before it
	if !ok {
		t.Fatal("the page does not say how to start")
	}
	page = strings.ReplaceAll(page, `interface = "eth0"`, `address = "127.55.11.5"`)
	page = strings.ReplaceAll(page, "--device eth0", "--device 127.55.11.5")
	page = strings.ReplaceAll(page, "127.0.0.1:9481", freePort(t))
	page = strings.ReplaceAll(page, "rping -c -a 192.0.2.1", "rping -c -a 127.55.11.5 -I 127.55.11.6")
	p := newPlace(t)
	p.files(page)
	own := filepath.Join(p.dir, "control.sock") // not that of a daemon on this host
	page = strings.ReplaceAll(page, "--unix-socket /run/gorxe/control.sock", "--unix-socket "+own)
	count := 0
	var d *daemon
	stop := func() {
		if d != nil {
			if err := p.stop(d, unix.SIGTERM); err != nil {
				t.Errorf("stopping: %v\n%s", err, &d.log)
			}
			d = nil
		}
	}
	for line := range commands(page) {
		count++
		switch {
		case strings.HasPrefix(line, "gorxe daemon"):
			if !strings.Contains(line, "-c ") {
				line += " --device 127.55.11.5" // the default would be the host's interface
			}
			line += " --control-socket " + own
			if !strings.Contains(line, "--check") {
				stop()
				d = p.start(line)
				continue
			}
			if out, err := p.run(line); err != nil || !strings.Contains(out, "GID of 127.55.11.5\n") {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		case strings.HasPrefix(line, "gorxe rping"):
			// Loopback's MTU is larger than the last of the daemons supports.
			stop()
			d = p.start("gorxe daemon -c gorxe.toml --control-socket " + own)
			if out, err := p.run(line); err != nil || !strings.Contains(out, "10 pings") {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		case strings.Contains(line, "gorxe region "):
			_, args, _ := strings.Cut(line, "gorxe region ")
			line = strings.ReplaceAll(line, "192.0.2.1", "127.55.11.5") + " -I 127.55.11.6"
			if strings.Contains(line, "watch") {
				p.watchWhile(line, "watching 4096 bytes",
					"gorxe region write 127.55.11.5/scratch gorxe.toml -I 127.55.11.7", "|[log]")
				continue
			}
			if out, err := p.run(line); err != nil || !strings.Contains(out, said[strings.Fields(args)[0]]) {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		case strings.HasPrefix(line, "gorxe trace --daemon"):
			p.watchWhile(line+" --socket "+own, "the packets of the daemon",
				"gorxe rping -c -a 127.55.11.5 -I 127.55.11.6 -C 1", "REQ: connection request")
		case strings.HasPrefix(line, "gorxe") && strings.Contains(line, "--watch"):
			p.watch(line + " --socket " + own)
		case strings.HasPrefix(line, "gorxe"):
			if out, err := p.run(line + " --socket " + own); err != nil || out == "" {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		case strings.HasPrefix(line, "curl"):
			want := `gorxe_port_active{device="gorxe0"} 1`
			if strings.Contains(line, "--unix-socket") {
				want = `"state":"running"`
			}
			if _, err := exec.LookPath("curl"); err != nil {
				t.Logf("not run, there is no curl: %s", line)
			} else if out, err := p.run(line); err != nil || !strings.Contains(out, want) {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		default:
			t.Errorf("a command that this test does not know: %s", line)
		}
	}
	stop()
	if count < 10 {
		t.Errorf("the page has %d commands", count)
	}
}

// said maps commands of 'gorxe region' to their output.
var said = map[string]string{
	"ls":    "scratch  anonymous  1048576  read,write\nsensors  file       4096     read\n",
	"write": " bytes written\n",
	"read":  "hello\n",
}

// files writes the files in the page: blocks of TOML that begin with their name.
func (p *place) files(page string) {
	p.t.Helper()
	blocks := strings.Split(page, "```toml\n# ")[1:]
	for _, b := range blocks {
		name, text, _ := strings.Cut(b, "\n")
		text, _, ok := strings.Cut(text, "```")
		if !ok || !strings.HasSuffix(name, ".toml") {
			p.t.Fatalf("a block of TOML without a name or an end: %q", b)
		}
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	if len(blocks) != 2 {
		p.t.Fatalf("the page has %d files", len(blocks))
	}
}

// watchWhile starts the command line, whose first line on stderr begins with says, runs the
// command cause, waits for a line of the first command that contains tells, and interrupts it.
func (p *place) watchWhile(line, says, cause, tells string) {
	p.t.Helper()
	c := p.command(line)
	out, err := c.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	news, err := c.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	if first, err := bufio.NewReader(news).ReadString('\n'); err != nil || !strings.HasPrefix(first, says) {
		p.t.Errorf("%s: %q, %v", line, first, err)
	}
	if out, err := p.run(cause); err != nil {
		p.t.Errorf("%s: %v\n%s", cause, err, out)
	}
	r := bufio.NewReader(out)
	if first, err := r.ReadString('\n'); err != nil || !strings.Contains(first, tells) {
		p.t.Errorf("%s: %q, %v", line, first, err)
	}
	if err := c.Process.Signal(unix.SIGINT); err != nil {
		p.t.Error(err)
	}
	_, _ = io.Copy(io.Discard, r)
	if err := c.Wait(); err != nil {
		p.t.Errorf("%s: interrupted it ends with %v", line, err)
	}
}

// watch runs a command until its first line, and interrupts it.
func (p *place) watch(line string) {
	p.t.Helper()
	c := p.command(line)
	out, err := c.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		p.t.Fatal(err)
	}
	r := bufio.NewReader(out)
	first, err := r.ReadString('\n')
	if err != nil || !strings.HasPrefix(first, "DEVICE") {
		p.t.Errorf("%s: %q, %v", line, first, err)
	}
	if err := c.Process.Signal(unix.SIGINT); err != nil {
		p.t.Error(err)
	}
	_, _ = io.Copy(io.Discard, r)
	if err := c.Wait(); err != nil {
		p.t.Errorf("%s: %v", line, err)
	}
}

// commands yields the lines of the page's shell blocks.
func commands(page string) func(func(string) bool) {
	return func(yield func(string) bool) {
		inside := false
		for line := range strings.Lines(page) {
			line = strings.TrimSpace(line)
			switch {
			case line == "```sh":
				inside = true
			case strings.HasPrefix(line, "```"):
				inside = false
			case inside && line != "" && !yield(line):
				return
			}
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
