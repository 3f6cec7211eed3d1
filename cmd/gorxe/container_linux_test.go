package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// container is the beginning of a command line that replaces a container: separate user, mount,
// network and PID namespaces, in which the command is process 1 and root.
const container = "unshare --user --map-root-user --mount --net" + containerRest

// containerOn is container, but in the caller's network namespace.
const containerOn = "unshare --user --map-root-user --mount" + containerRest

const containerRest = " --pid --fork --kill-child --mount-proc ./" + refusing + " "

// refusing is a program that executes its arguments under a seccomp filter, which denies the
// system calls that the default profile of Docker 20.10 denies.
const refusing = "refusing"

var refused = []uint32{unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP}

// refuse is main of the program refusing.
func refuse(args []string) error {
	runtime.LockOSThread()
	code := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}} // system call number
	for _, nr := range refused {
		code = append(code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)})
	}
	code = append(code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
	runtime.KeepAlive(code)
	if err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}

// needContainers skips a test if p may not create the namespaces that replace a container.
func (p *place) needContainers() {
	p.t.Helper()
	if err := os.Symlink("gorxe", p.dir+"/"+refusing); err != nil {
		p.t.Fatal(err)
	}
	if out, err := p.run(container + "true"); err != nil {
		p.t.Skipf("no namespaces here: %v\n%s", err, out)
	}
}

func TestContainersUseTheDaemonWhoseSocketIsNamed(t *testing.T) {
	needPrograms(t, "rping", "unshare")
	for u, user := range []string{"as this user", "as an ordinary user"} {
		t.Run(user, func(t *testing.T) {
			p := newPlace(t)
			if u == 1 {
				p.asUser()
			}
			p.needContainers()
			address := fmt.Sprintf("127.55.11.%d", 35+u)
			d := p.startDaemon(address)
			run := fmt.Sprintf("%sgorxe run --socket s.programs -- rping -a %s -p %d -C 3 ", container,
				address, 22090+u)
			server := p.background(run + "-s")
			var out string
			until(t, "the client does not get through", func() (over bool) {
				var err error
				out, err = p.run(run + "-c -v") // fails before the server listens
				return err == nil
			})
			if !strings.Contains(out, "rdma-ping-2") {
				t.Error(out)
			}
			if err := server.Wait(); err != nil {
				t.Errorf("the server: %v\n%s", err, &server.out)
			}
			if err := p.stop(d, unix.SIGTERM); err != nil {
				t.Error(err)
			}
			if all := p.started(); len(all) > 0 {
				t.Errorf("daemons: %v", all)
			}
		})
	}
}

func TestContainersOnOneNetworkHaveDevicesOfTheirOwn(t *testing.T) {
	needPrograms(t, "ib_write_bw", "unshare")
	for i, run := range []string{"gorxe run", "gorxe run --no-daemon"} {
		t.Run(run, func(t *testing.T) {
			left, right := newNetHosts(t, 61)
			p := newPlace(t)
			p.needContainers()
			port := 21960 + i
			line := fmt.Sprintf("%s%s -- ib_write_bw -F -n 200 -p %d", containerOn, run, port)
			server := p.background(left.enter() + line)
			left.awaitPort(t, port)
			out, err := p.run(right.enter() + line + " " + left.v4.String())
			if err != nil || !strings.Contains(out, "#bytes") {
				t.Errorf("%v\n%s", err, out)
			}
			if err := server.Wait(); err != nil {
				t.Errorf("the server: %v\n%s", err, &server.out)
			}
		})
	}
}
