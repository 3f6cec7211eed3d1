//go:build linux && (amd64 || arm64)

package trap

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestProgramsEndWithTheirSupervisor(t *testing.T) {
	for _, killed := range []bool{true, false} {
		t.Run(fmt.Sprintf("killed %v", killed), func(t *testing.T) {
			a := startAbandoned(t, "exec 9<&0; (read x <&9) & echo $$ $!; read x")
			var pids [2]int
			a.scan(&pids[0], &pids[1])
			ends := []int{openProcess(t, pids[0]), openProcess(t, pids[1])}
			if killed {
				_ = a.Process.Kill()
			} else {
				_ = a.in.Close()
			}
			for _, fd := range ends {
				awaitEnd(t, fd)
			}
			a.saysWhatItKills()
		})
	}
}

// TestDescendantsThatForkAreKilled has more descendants than one pass finds.
func TestDescendantsThatForkAreKilled(t *testing.T) {
	endsWithItsSupervisor(t, "echo begun; while :; do (sleep 1000 & sleep 1000 &) & done")
}

// endsWithItsSupervisor kills the supervisor of a script that has printed a word and checks that
// nothing remains.
func endsWithItsSupervisor(t *testing.T, script string) {
	t.Helper()
	a := startAbandoned(t, script)
	var word string
	a.scan(&word)
	_ = a.Process.Kill()
	a.saysWhatItKills()
	a.leavesNothing()
}

// A program that fills the pipe of its standard error does not prevent the keeper from killing
// it.
func TestAProgramEndsWithItsSupervisorThoughNobodyReadsItsErrors(t *testing.T) {
	a := startAbandoned(t, "echo $$; cat /dev/zero >&2")
	var pid int
	a.scan(&pid)
	fd := openProcess(t, pid)
	until := []unix.PollFd{{Fd: int32(a.errors.Fd()), Events: unix.POLLIN}}
	if _, err := retry(func() (int, error) { return unix.Poll(until, -1) }); err != nil {
		t.Fatal(err)
	}
	_ = a.Process.Kill()
	awaitEnd(t, fd)
}

// The program is about to be executed, and the call is never answered.
func TestAKeeperEndsWithASupervisorThatIsKilledAtTheStart(t *testing.T) {
	a := startSupervisor(t, "begin")
	var keeper int
	a.scan(&keeper)
	fd := openProcess(t, keeper)
	_ = a.Process.Kill()
	awaitEnd(t, fd)
	a.saysWhatItKills()
	a.leavesNothing()
}

func TestTheKeeperOutlivesSignalsForItsProcessGroup(t *testing.T) {
	a := startAbandoned(t, "trap '' HUP INT QUIT TERM USR1; echo $PPID; read x")
	var pid int
	a.scan(&pid)
	for _, s := range []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
		unix.SIGPIPE, unix.SIGALRM, unix.SIGTSTP, unix.SIGTTOU, unix.Signal(40)} {
		if err := unix.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	_ = a.in.Close()
	a.saysWhatItKills()
}

func TestEverythingEndsWithAKeeperThatIsKilled(t *testing.T) {
	needShell(t)
	needTrap(t)
	if got := outputOf(t, "orphan"); got != "signal 9, "+ErrKeeper.Error() {
		t.Errorf("output %q", got)
	}
}

func TestProcessesThatForkAndEndAreKilledWithAKeeperThatIsKilled(t *testing.T) {
	a := startSupervisor(t, "rabbits")
	var signal string
	a.scan(&signal, &signal)
	if want := "signal 9, " + ErrKeeper.Error(); a.lines.Text() != want {
		t.Errorf("%q, want %q", a.lines.Text(), want)
	}
	a.says("")
	a.leavesNothing()
}

func TestAProcessWhoseFirstThreadHasEndedIsKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	endsWithItsSupervisor(t, programVariable+"=leaderless exec '"+self+"'")
}

func TestAKeeperThatItsProgramStopsGoesOn(t *testing.T) {
	needShell(t)
	needTrap(t)
	if got := outputOf(t, "stop"); got != "status 3" {
		t.Errorf("output %q", got)
	}
}

// An abandoned is a supervisor of a shell that ends before the shell.
type abandoned struct {
	*exec.Cmd
	t      *testing.T
	in     io.Closer // ends the supervisor
	lines  *bufio.Scanner
	errors *os.File
	place  string // in the environment of all
}

func startAbandoned(t *testing.T, script string) *abandoned {
	t.Helper()
	return startSupervisor(t, "abandon", script)
}

// startSupervisor starts a program of programs that starts a shell.
func startSupervisor(t *testing.T, name string, args ...string) *abandoned {
	t.Helper()
	needShell(t)
	needTrap(t)
	c := exec.Command("/proc/self/exe", args...)
	a := &abandoned{Cmd: c, t: t, place: "XDG_RUNTIME_DIR=" + t.TempDir()}
	c.Env = append(programEnv(name), a.place)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	a.in = in
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	a.lines = bufio.NewScanner(out)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	a.errors, c.Stderr = r, w
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = r.Close()
		_ = c.Wait()
	})
	return a
}

// scan reads a line of the program.
func (a *abandoned) scan(to ...any) {
	a.t.Helper()
	a.lines.Scan()
	if _, err := fmt.Sscan(a.lines.Text(), to...); err != nil {
		a.t.Fatal(err)
	}
}

// says checks what is printed to standard error until all processes have ended.
func (a *abandoned) says(want string) {
	a.t.Helper()
	got, err := io.ReadAll(a.errors)
	if err != nil || string(got) != want {
		a.t.Errorf("standard error: %q, %v; want %q", got, err, want)
	}
}

// saysWhatItKills waits for the message of the keeper.
func (a *abandoned) saysWhatItKills() {
	a.t.Helper()
	a.says("gorxe: gorxe run has ended unexpectedly: killing sh and everything it started\n")
}

// leavesNothing fails the test if descendants remain.
func (a *abandoned) leavesNothing() {
	a.t.Helper()
	if left := a.left(); len(left) > 0 {
		a.t.Errorf("left: %v", left)
	}
}

// left returns the remaining processes: supervisor, program and descendants.
func (a *abandoned) left() (out []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		environ, err := os.ReadFile(dir + "/environ")
		if err == nil && bytes.Contains(environ, []byte(a.place+"\x00")) {
			out = append(out, dir)
		}
	}
	return out
}

// openProcess returns a pidfd of a process.
func openProcess(t *testing.T, pid int) int {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

func awaitEnd(t *testing.T, pidfd int) {
	t.Helper()
	end := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	if _, err := retry(func() (int, error) { return unix.Poll(end, -1) }); err != nil {
		t.Error(err)
	}
}
