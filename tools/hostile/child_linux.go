package hostile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// child is a process of a measurement.
type child struct {
	role string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// startChild starts this program again in a role, bound to a core and, for a host, in a separate
// network namespace. The calling goroutine must stay locked to its thread while the child lives:
// the child is killed when that thread ends (PR_SET_PDEATHSIG).
func startChild(role string, core int, host bool) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{role: role, cmd: exec.Command(self, role)}
	c.cmd.Stderr = os.Stderr
	// A signal from the terminal is for the measuring program only.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if host {
		c.cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNET
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, onCore(core, c.cmd.Start)
}

// onCore calls f with the thread bound to a core. Processes that f starts inherit the binding.
func onCore(core int, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, set unix.CPUSet
	set.Set(core)
	if err := errors.Join(unix.SchedGetaffinity(0, &before), unix.SchedSetaffinity(0, &set)); err != nil {
		return fmt.Errorf("binding a process to core %d: %w", core, err)
	}
	return errors.Join(f(), unix.SchedSetaffinity(0, &before))
}

// ask requests an operation of the child and decodes the result into into, unless into is nil.
func (c *child) ask(op string, data, into any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	line, err := json.Marshal(request{op, b})
	if err != nil {
		return err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("the %s has ended: %w", c.role, err)
	}
	line, err = c.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the %s has ended: %w", c.role, err)
	}
	var r reply
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("the %s said %q: %w", c.role, line, err)
	}
	if r.Err != "" {
		return fmt.Errorf("%s: %s: %s", c.role, op, r.Err)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(r.Data, into)
}

// end closes the child's input, kills it after 3 s, and waits for it. It ignores the exit status.
func (c *child) end() {
	if c == nil || c.cmd.Process == nil {
		return
	}
	_ = c.in.Close()
	done := time.AfterFunc(3*time.Second, func() { c.cmd.Process.Kill() })
	defer done.Stop()
	_ = c.cmd.Wait()
}

// used returns the processor time of the child's threads.
func (c *child) used() (sum time.Duration, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", c.cmd.Process.Pid))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("the %s has ended, or the kernel keeps no /proc/PID/task/*/schedstat", c.role)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		on, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(on, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum += time.Duration(n)
	}
	return sum, nil
}

// resident returns the child's resident memory in bytes, currently and at most.
func (c *child) resident() (now, most uint64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseUint(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			now = n << 10
		case "VmHWM:":
			most = n << 10
		}
	}
	return now, most, nil
}
