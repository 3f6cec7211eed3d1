//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/gorxe/gorxe/internal/trap/keeper"
	"golang.org/x/sys/unix"
)

// startShell starts a script under the filter, with a server.
func startShell(script string) (*Process, *Server, error) {
	tree, err := makeTree()
	if err != nil {
		return nil, nil, err
	}
	r, _, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	p, l, err := Start(Command{Path: "/bin/sh", Subreaper: true, Files: [3]*os.File{r},
		Args: []string{"sh", "-c", script}})
	if err != nil {
		return nil, nil, err
	}
	s, err := Serve(l, Config{Handler: newHandler(), Tree: tree, Descriptors: p.Descriptors})
	return p, s, errors.Join(err, l.Close())
}

// abandonProgram starts a script whose standard input is a pipe, and ends at the end of its own
// input.
func abandonProgram(args []string) error {
	if _, _, err := startShell(args[0]); err != nil {
		return err
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	return nil
}

// orphanProgram starts a program with a child and kills the keeper.
func orphanProgram([]string) error {
	p, s, err := startShell("exec 9<&0; (read x <&9) & read x")
	if err != nil {
		return err
	}
	if err := unix.Kill(p.keeper, unix.SIGKILL); err != nil {
		return err
	}
	return tellSignal(p, s)
}

// tellSignal waits for the end of a program and prints its signal and the keeper's error.
func tellSignal(p *Process, s *Server) error {
	ws := p.Wait()
	<-s.Done()
	fmt.Printf("signal %d, %v\n", ws.Signal(), p.Err())
	return nil
}

// rabbitsProgram starts a program with processes that fork and end immediately, and kills its
// keeper. A shell with 1,000 nested function calls prints an error; that output is discarded.
func rabbitsProgram([]string) error {
	p, s, err := startShell("f() { f & }; for i in 1 2 3 4 5 6 7 8; do f 2>/dev/null & done; kill -KILL $PPID; read x")
	if err != nil {
		return err
	}
	return tellSignal(p, s)
}

// stopProgram starts a program that stops its keeper.
func stopProgram([]string) error {
	p, _, err := startShell("kill -STOP $PPID; exit 3")
	if err != nil {
		return err
	}
	fmt.Println("status", p.Wait().ExitStatus())
	return nil
}

func init() {
	if os.Getenv(programVariable) == "leaderless" {
		runtime.LockOSThread() // its function is called on the first thread
	}
}

// leaderlessProgram ends its first thread and reports that.
func leaderlessProgram([]string) error {
	go func() {
		for keeper.StatFields("/proc/self/stat")[0] != "Z" {
			runtime.Gosched()
		}
		fmt.Println("ready")
		select {}
	}()
	_, _, errno := unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
	return errno
}

// beginProgram starts a program up to its execve and prints the keeper's PID.
func beginProgram([]string) error {
	d, err := DescriptorsFor(1024)
	if err != nil {
		return err
	}
	c := &Command{Path: "/bin/sh", Args: []string{"sh"}, Descriptors: d}
	config, err := configure(c)
	if err != nil {
		return err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	p, err := fork(c, pair[1], config)
	if err != nil {
		return err
	}
	_ = unix.Close(pair[1])
	_, l, err := receive(c, pair[0])
	if err != nil {
		return err
	}
	if _, err := unix.Poll([]unix.PollFd{{Fd: int32(l), Events: unix.POLLIN}}, -1); err != nil {
		return err
	}
	fmt.Println(p.keeper)
	_, err = os.Stdin.Read(make([]byte, 1))
	return err
}

// crowdedProgram has open descriptors at all low numbers and passes them on.
func crowdedProgram([]string) error {
	const last = 300
	for fd := 0; fd < last; {
		var err error
		if fd, err = unix.Dup(0); err != nil {
			return err
		}
	}
	p, s, err := startShell("exec 2>&1; test -e /proc/self/fd/100 && test -e /proc/self/fd/300")
	if err != nil {
		return err
	}
	ws := p.Wait()
	<-s.Done()
	fmt.Println("status", ws.ExitStatus())
	return nil
}
