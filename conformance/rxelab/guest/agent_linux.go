package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
	"golang.org/x/sys/unix"
)

// runAgent serves the host until it closes the port.
func runAgent() error {
	dev, err := findPort(wire.PortName)
	if err != nil {
		return err
	}
	fd, err := unix.Open(dev, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", dev, err)
	}
	var warnings []string
	if err := json.Unmarshal([]byte(os.Getenv(warningsEnv)), &warnings); err != nil {
		warnings = []string{err.Error()}
	}
	if err := os.Unsetenv(warningsEnv); err != nil {
		return err
	}
	return serve(os.NewFile(uintptr(fd), dev), wire.Info{Kernel: release(), Uptime: uptime(), Warnings: warnings})
}

// serve sends the greeting and serves the host until it closes the port.
func serve(port io.ReadWriter, greeting wire.Info) error {
	a := &agent{port: port, running: map[uint32]int{}, files: map[uint32]*os.File{}}
	a.reply(0, wire.Hello, greeting)
	return a.serve()
}

type agent struct {
	write sync.Mutex // serializes frames on the port
	port  io.ReadWriter

	mu      sync.Mutex
	running map[uint32]int // process group by stream
	files   map[uint32]*os.File
}

func (a *agent) serve() error {
	for {
		f, err := wire.ReadFrame(a.port)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch f.Kind {
		case wire.Start:
			var c wire.Command
			if a.decode(f, &c) {
				go a.run(f.Stream, c)
			}
		case wire.Signal:
			a.signal(f)
		case wire.Put:
			a.create(f)
		case wire.Data:
			a.append(f)
		case wire.End:
			a.finish(f.Stream, nil)
		case wire.Read:
			var paths []string
			if a.decode(f, &paths) {
				go a.read(f.Stream, paths)
			}
		case wire.Send:
			var d wire.Datagram
			if a.decode(f, &d) {
				go a.datagram(f.Stream, d)
			}
		}
	}
}

func (a *agent) decode(f wire.Frame, v any) bool {
	err := json.Unmarshal(f.Data, v)
	if err != nil {
		a.exit(f.Stream, wire.Result{Code: -1, Err: err.Error()})
	}
	return err == nil
}

// send writes a frame. An error means that the host is gone, which the reader detects too.
func (a *agent) send(f wire.Frame) error {
	a.write.Lock()
	defer a.write.Unlock()
	return wire.Write(a.port, f)
}

func (a *agent) reply(stream uint32, k wire.Kind, v any) {
	b, err := json.Marshal(v)
	if err == nil {
		err = a.send(wire.Frame{Stream: stream, Kind: k, Data: b})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rxelab agent: reply:", err)
	}
}

func (a *agent) exit(stream uint32, r wire.Result) { a.reply(stream, wire.Exit, r) }

// output sends the output of a program as frames.
type output struct {
	a      *agent
	stream uint32
	kind   wire.Kind
}

func (o output) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		m := min(len(p)-n, wire.MaxData)
		if err := o.a.send(wire.Frame{Stream: o.stream, Kind: o.kind, Data: p[n : n+m]}); err != nil {
			return n, err
		}
		n += m
	}
	return len(p), nil
}

// run starts the command in a new process group and reports its end.
func (a *agent) run(stream uint32, c wire.Command) {
	if len(c.Argv) == 0 {
		a.exit(stream, wire.Result{Code: -1, Err: "empty command"})
		return
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir = "/tmp"
	cmd.Stdout = output{a, stream, wire.Stdout}
	cmd.Stderr = output{a, stream, wire.Stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second // a grandchild may keep the pipes open
	if err := inNetns(c.Netns, cmd.Start); err != nil {
		a.exit(stream, wire.Result{Code: -1, Err: err.Error()})
		return
	}
	group := cmd.Process.Pid
	a.mu.Lock()
	a.running[stream] = group
	a.mu.Unlock()

	var timedOut bool
	if c.Timeout > 0 {
		t := time.AfterFunc(c.Timeout, func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			if _, alive := a.running[stream]; alive {
				timedOut = true
				_ = unix.Kill(-group, unix.SIGKILL)
			}
		})
		defer t.Stop()
	}
	ended := make(chan struct{})
	if c.ListenPort != 0 {
		go a.watchPort(stream, group, c.ListenPort, ended)
	}
	err := cmd.Wait()
	close(ended)

	a.mu.Lock()
	delete(a.running, stream)
	r := wire.Result{TimedOut: timedOut}
	a.mu.Unlock()
	_ = unix.Kill(-group, unix.SIGKILL) // kill the remaining processes of the group
	describe(&r, cmd.ProcessState, err)
	a.exit(stream, r)
}

func describe(r *wire.Result, s *os.ProcessState, err error) {
	if s == nil {
		r.Code, r.Err = -1, fmt.Sprint(err)
		return
	}
	r.Code = s.ExitCode()
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		r.Signal = w.Signal().String()
	}
}

func (a *agent) signal(f wire.Frame) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if group, ok := a.running[f.Stream]; ok && len(f.Data) == 1 {
		_ = unix.Kill(-group, syscall.Signal(f.Data[0]))
	}
}
