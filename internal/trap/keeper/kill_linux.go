//go:build linux && (amd64 || arm64)

package keeper

import (
	"os"
	"syscall"
	"time"
)

// KillUntil kills all descendants of this process until over is closed: one that forks and ends
// between two looks at it escapes both.
func KillUntil(over <-chan struct{}) {
	for {
		_ = KillDescendants()
		select {
		case <-over:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// KillDescendants kills all descendants of this process, until none is left alive. Processes that
// fork meanwhile are found in the next pass.
func KillDescendants() error {
	for {
		all, err := descendants(os.Getpid())
		if err != nil || len(all) == 0 {
			return err
		}
		var killed []pollFD
		for _, p := range all {
			fd, e := p.kill()
			if e == nil {
				killed = append(killed, pollFD{fd: int32(fd), events: pollIn})
			} else if e != syscall.ESRCH {
				err = e
			}
		}
		for i := range killed {
			// One in an uninterruptible wait is found again.
			const patience = 100 // ms
			_, _ = poll(killed[i:i+1], patience)
			_ = syscall.Close(int(killed[i].fd))
		}
		if len(killed) == 0 && err != nil {
			return err
		}
	}
}

// A process is what /proc says about one.
type process struct {
	pid   int
	start string // time, so that a later process of that number is not taken for it
}

// kill kills the process and returns its pidfd. ESRCH: it has ended.
func (p process) kill() (int, error) {
	fd, err := pidfdOpen(p.pid)
	if err != nil {
		return -1, err
	}
	f := StatFields("/proc/" + decimal(p.pid) + "/stat")
	if len(f) <= StatStart || f[StatStart] != p.start {
		err = syscall.ESRCH
	} else {
		err = pidfdKill(fd)
	}
	if err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Indices into what StatFields returns.
const (
	statState  = 0
	statParent = 1
	numThreads = 20 - 3
	StatStart  = 22 - 3 // time of the start
)

// descendants returns the processes below root that are not zombies.
func descendants(root int) ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return nil, err
	}
	children := map[int][]process{}
	zombie := map[int]bool{}
	for _, name := range names {
		pid, ok := parse(name)
		if !ok {
			continue
		}
		f := StatFields("/proc/" + name + "/stat")
		if len(f) <= StatStart {
			continue
		}
		parent, ok := parse(f[statParent])
		if !ok {
			continue
		}
		children[parent] = append(children[parent], process{pid, f[StatStart]})
		// That of a process whose first thread has ended is Z, too.
		zombie[pid] = f[statState] == "Z" && f[numThreads] == "1" || f[statState] == "X"
	}
	var out []process
	for todo := children[root]; len(todo) > 0; {
		p := todo[0]
		todo = append(todo[1:], children[p.pid]...)
		if !zombie[p.pid] {
			out = append(out, p)
		}
	}
	return out, nil
}

// StatFields returns the fields of /proc/PID/stat from the third one (state) on, nil if the process
// is gone. The second field, the name, may hold spaces and parentheses.
func StatFields(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return fields(after(string(text), ')'))
}
