//go:build linux && (amd64 || arm64)

package programs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/trap"
)

// programVariable selects the program of ownPrograms that the test binary runs.
const programVariable = "GORXE_PROGRAMS_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(programVariable); name != "" {
		if err := ownPrograms[name](); err != nil {
			fmt.Fprintf(os.Stderr, "program %s: %v\n", name, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// running is a program under the filter.
type running struct {
	t    *testing.T
	line string
	proc *trap.Process
	srv  *trap.Server
	out  *os.File
}

// start runs a command line on a host.
func start(t *testing.T, h server, line string) *running {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	return startTo(t, h, line, out)
}

// startTo is start with the file for the output.
func startTo(t *testing.T, h server, line string, out *os.File) *running {
	t.Helper()
	argv := strings.Fields(line)
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Skipf("%s is not installed", argv[0])
	}
	return startCommand(t, h, trap.Command{Path: path, Args: argv, Files: [3]*os.File{nil, out, out}})
}

// startOwn runs one of ownPrograms, with pipes as its input and output.
func startOwn(t *testing.T, h server, name string) (p *running, in, out *os.File) {
	t.Helper()
	var ends [4]*os.File
	for i := 0; i < len(ends); i += 2 {
		var err error
		if ends[i], ends[i+1], err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	p = startCommand(t, h, trap.Command{
		Path: "/proc/self/exe", Args: []string{name}, Files: [3]*os.File{ends[0], ends[3], os.Stderr},
		Env: append(os.Environ(), programVariable+"="+name, "GORACE=atexit_sleep_ms=0", "GODEBUG=asyncpreemptoff=1"),
	})
	for _, f := range []*os.File{ends[0], ends[3]} {
		f.Close() // the program has it
	}
	t.Cleanup(func() { ends[1].Close(); ends[2].Close() })
	return p, ends[1], ends[2]
}

// startCommand runs a command on a host. It closes the file of the output at the end.
func startCommand(t *testing.T, h server, c trap.Command) *running {
	t.Helper()
	line, out := strings.Join(c.Args, " "), c.Files[1]
	proc, listener, err := trap.Start(c)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	srv, err := h.Serve(listener, proc.Descriptors)
	listener.Close()
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t, line, proc, srv, out}
	t.Cleanup(r.end)
	return r
}

// end kills the program if it is still running.
func (r *running) end() {
	_ = r.proc.Signal(9) // it may have ended
	r.proc.Wait()
	<-r.srv.Done()
	r.srv.Close()
	r.out.Close()
}

func (r *running) text() string {
	b, err := os.ReadFile(r.out.Name())
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

// wait waits until the program ends successfully, and returns its output.
func (r *running) wait() string {
	r.t.Helper()
	return r.waitFor(time.Minute)
}

// waitFor is wait with another time limit.
func (r *running) waitFor(limit time.Duration) string {
	r.t.Helper()
	late := time.AfterFunc(limit, func() { _ = r.proc.Signal(9) })
	defer late.Stop()
	status := r.proc.Wait()
	if status.ExitStatus() != 0 {
		r.t.Fatalf("%s ended with %v (signal %v):\n%s", r.line, status.ExitStatus(), status.Signal(), r.text())
	}
	return r.text()
}

// until polls for an action of the host that no event reports.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for late := time.Now().Add(time.Minute); !is(); <-time.After(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("a minute has passed before %s", what)
		}
	}
}

// ended waits until the program ends, and returns its output and status.
func (r *running) ended() (string, syscall.WaitStatus) {
	late := time.AfterFunc(time.Minute, func() { _ = r.proc.Signal(9) })
	defer late.Stop()
	status := r.proc.Wait()
	return r.text(), status
}

// awaitTCP waits until a program listens on a port of the thread's network namespace.
func awaitTCP(ctx context.Context, port int) error {
	want := []byte(fmt.Sprintf(":%04X ", port))
	for {
		for _, name := range []string{"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"} {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for line := range bytes.Lines(b) {
				if f := bytes.Fields(line); len(f) > 3 && string(f[3]) == "0A" &&
					bytes.Contains(append(f[1], ' '), want) {
					return nil
				}
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
}
