package broker

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// changingVariable makes the test binary a program that changes the owner of its files.
const changingVariable = "GORXE_TEST_CHANGING_OWNER"

// The files of a process that is not dumpable belong to root. A process can change that at any
// time, so their owner does not identify the process's user: otherwise a server of root would
// copy by the PID of a user's process, which may execute a setuid program.
func TestProcessesOfOtherUsersAreNeverCopiedDirectly(t *testing.T) {
	if os.Getenv(changingVariable) != "" {
		changeOwner()
	}
	if os.Geteuid() != 0 {
		t.Skip("a process of another user requires root")
	}
	const user = 65534
	r := newRig(t, nil)
	c := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), changingVariable+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	c.Dir = "/"
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	s := &session{server: r.server, from: sender{user}, processes: map[uint32]*process{}}
	opened := 0
	for begin := time.Now(); time.Since(begin) < 3*time.Second; {
		var files []int
		p := openProcess(t, c.Process.Pid)
		for _, f := range p {
			fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, fd)
		}
		p.close()
		x, _, err := s.openSpace(1, files, func() {})
		if err != nil {
			continue // its files belonged to root
		}
		opened++
		direct := x.Direct()
		x.Close()
		if direct {
			t.Fatalf("memory of a process of user %d is copied by its number, at open %d", user, opened)
		}
	}
	if opened == 0 {
		t.Error("no open has succeeded")
	}
}

// changeOwner alternately makes the files of this process belong to root and to its user.
func changeOwner() {
	runtime.LockOSThread()
	fmt.Println("ready")
	var st unix.Stat_t
	for {
		for dumpable := range 2 {
			_ = unix.Prctl(unix.PR_SET_DUMPABLE, uintptr(dumpable), 0, 0, 0)
			_ = unix.Stat("/proc/self/mem", &st)
			_ = unix.Stat("/proc/self/maps", &st)
			for range 3000 {
				runtime.KeepAlive(&st)
			}
		}
	}
}
