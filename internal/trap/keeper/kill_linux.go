//go:build linux && (amd64 || arm64)

package keeper

import (
	"os"
	"syscall"
	"time"
)

// KillUntil kills all descendants of this process, repeatedly until over is closed. Repetition is
// necessary: a descendant that forks and ends between two scans of /proc hides its child from
// both.
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

// KillDescendants kills all descendants of this process. It scans /proc until none is alive: each
// scan also finds processes that were forked meanwhile.
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
			// The next scan finds a process in an uninterruptible wait again.
			const patience = 100 // ms
			_, _ = poll(killed[i:i+1], patience)
			_ = syscall.Close(int(killed[i].fd))
		}
		if len(killed) == 0 && err != nil {
			return err
		}
	}
}

// A process identifies a process of /proc.
type process struct {
	pid   int
	start string // start time, which differs in a later process with the same PID
}

// kill kills the process and returns its pidfd. It returns ESRCH if the process has ended.
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

// Indexes into the result of StatFields.
const (
	statState  = 0
	statParent = 1
	numThreads = 20 - 3
	StatStart  = 22 - 3 // start time
)

// descendants returns the descendants of the process root that are not zombies.
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
		// State Z with further threads is a process whose leader thread has ended, not a zombie.
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

// StatFields returns the fields of /proc/PID/stat from the third one (state) on, or nil if the
// process has ended. The second field, the name, may contain spaces and parentheses.
func StatFields(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return fields(after(string(text), ')'))
}
