package bounce

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Commands of the test binary, which the tests run as ends: each loop has a process, and as far
// as its runtime can see a processor, to itself.
const (
	asServer  = "serve"
	asClient  = "call"
	asProgram = "program"
	variable  = "BOUNCE_TEST_IS_MAIN"
)

func TestMain(m *testing.M) {
	if os.Getenv(variable) == "" {
		os.Exit(m.Run())
	}
	if err := command(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// command runs the program of an end.
func command(name string, args []string) error {
	switch name {
	case asServer: // prints the address where it listens; args are the command of its program
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		return Serve(context.Background(), l, args)
	case asClient: // address, way, messages, and the command of its program
		conn, err := net.Dial("tcp", args[0])
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		r, err := Call(context.Background(), conn, Config{Way: Way(args[1]), Messages: n, Warm: 5}, args[3:])
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(r)
	default:
		return Program(args)
	}
}

// process is a running end.
type process struct {
	*exec.Cmd
	out *bufio.Reader
	log bytes.Buffer
}

// self returns a command of this test binary.
func self(t *testing.T, args ...string) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{exe}, args...)
}

// start starts an end, which the test kills when it ends.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	argv := self(t, args...)
	p := &process{Cmd: exec.CommandContext(t.Context(), argv[0], argv[1:]...)}
	p.Env, p.Stderr = append(os.Environ(), variable+"=1"), &p.log
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
	})
	return p
}

// line returns the next line of the end's output.
func (p *process) line(t *testing.T) string {
	t.Helper()
	text, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%v: it ended with %v: %s", err, p.Wait(), &p.log)
	}
	return strings.TrimSpace(text)
}

// fails waits until the end has failed with the given text.
func (p *process) fails(t *testing.T, words ...string) {
	t.Helper()
	out, _ := p.out.ReadString('\n')
	if err := p.Wait(); err == nil {
		t.Errorf("it ended well: %s", out)
	}
	needFilter(t, p.log.String())
	for _, w := range words {
		if !strings.Contains(p.log.String(), w) {
			t.Errorf("it failed with %q, which lacks %q", &p.log, w)
		}
	}
}

// needFilter skips the test if an end reports that it cannot install a seccomp filter.
func needFilter(t *testing.T, said string) {
	t.Helper()
	if strings.Contains(said, "installing a seccomp filter") {
		t.Skipf("no seccomp filter with user notification here, such as under another one: %s", said)
	}
}

func TestBothEndsExchangeMessages(t *testing.T) {
	const messages = 40
	for _, way := range allWays() {
		t.Run(string(way), func(t *testing.T) {
			server := start(t, append([]string{asServer}, self(t, asProgram)...)...)
			at := server.line(t)
			client := start(t, append([]string{asClient, at, string(way), fmt.Sprint(messages)},
				self(t, asProgram)...)...)
			text, err := client.out.ReadBytes('\n')
			if err != nil {
				client.Wait()
				needFilter(t, client.log.String())
				t.Fatalf("%v: %s", err, &client.log)
			}
			var r Result
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			var count int64
			for _, b := range r.Histogram {
				count += b.Count
			}
			if r.Way != way || r.Messages != messages || r.Average <= 0 || count != messages {
				t.Errorf("%s", text)
			}
			if err := client.Wait(); err != nil {
				t.Errorf("client: %v: %s", err, &client.log)
			}
			if err := server.Wait(); err != nil {
				t.Errorf("server: %v: %s", err, &server.log)
			}
		})
	}
}

// If a program ends, or cannot be started, both ends end with the reason.
func TestBothEndsSayThatAProgramHasEnded(t *testing.T) {
	for _, tt := range []struct {
		program []string
		want    string
	}{
		{[]string{"sh", "-c", "echo no room >&2; exit 3"}, "the program has ended: exit status 3: no room"},
		{[]string{"true"}, "the program has ended: exit status 0"},
		{[]string{"/nowhere/program"}, "/nowhere/program: no such file"},
	} {
		server := start(t, append([]string{asServer}, self(t, asProgram)...)...)
		client := start(t, append([]string{asClient, server.line(t), string(Process), "9"}, tt.program...)...)
		client.fails(t, tt.want)
		server.fails(t, "the client: ", tt.want)
	}
}

func TestAProgramThatAPersonStartsSaysSo(t *testing.T) {
	for _, args := range [][]string{nil, {"-way", "bird"}, {"-n", "1"}} {
		if err := Program(args); err == nil || !strings.Contains(err.Error(), "bench bounce starts it") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// ended waits until the process of a descriptor has ended, for some milliseconds at most.
func ended(fd, ms int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, ms)
	for err == unix.EINTR { // the runtime's preemption signal
		n, err = unix.Poll(p, ms)
	}
	return n == 1
}

// children returns pidfds of the processes that an end has started, at least one.
func (p *process) children(t *testing.T) (fds []int) {
	t.Helper()
	own, err := unix.PidfdOpen(p.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(own)
	for len(fds) == 0 {
		if ended(own, 0) {
			t.Fatalf("the end has ended: %v: %s", p.Wait(), &p.log)
		}
		// An error: a thread has ended.
		text, _ := exec.Command("sh", "-c", fmt.Sprintf("cat /proc/%d/task/*/children", p.Process.Pid)).Output()
		for child := range strings.FieldsSeq(string(text)) {
			n, err := strconv.Atoi(child)
			if err != nil {
				t.Fatal(err)
			}
			if fd, err := unix.PidfdOpen(n, 0); err == nil {
				fds = append(fds, fd)
			}
		}
	}
	return fds
}

// However an end is killed, its program and the other end do not keep running.
func TestAnEndThatIsKilledLeavesNothing(t *testing.T) {
	for _, tt := range []struct{ kills, survivor string }{
		{asClient, "the client has ended"}, {asServer, "the server has ended"},
	} {
		t.Run(tt.kills, func(t *testing.T) {
			server := start(t, append([]string{asServer}, self(t, asProgram)...)...)
			at := server.line(t)
			many := fmt.Sprint(MaxMessages / 10)
			client := start(t, append([]string{asClient, at, string(Process), many}, self(t, asProgram)...)...)
			programs := append(client.children(t), server.children(t)...)
			victim, survivor := client, server
			if tt.kills == asServer {
				victim, survivor = server, client
			}
			if err := victim.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			survivor.fails(t, tt.survivor)
			for _, fd := range programs {
				if !ended(fd, 10_000) {
					t.Error("a program goes on")
				}
				unix.Close(fd)
			}
		})
	}
}
