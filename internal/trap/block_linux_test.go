//go:build linux && (amd64 || arm64)

package trap

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A verdict of ERESTARTSYS needs a mark of the kernel on the very thread.
func TestCallsRestartOnlyIfTheSignalIsForTheirThread(t *testing.T) {
	const usr1 = 1 << 9
	type threads map[int]signals
	for _, c := range []struct {
		name    string
		tid     int // the leader is 100
		threads threads
		want    verdict
	}{
		{"no signal", 100, threads{100: {}}, mayWait},
		{"to the thread", 101, threads{100: {}, 101: {thread: usr1}}, mayRestart},
		{"to the thread, blocked", 101, threads{100: {}, 101: {thread: usr1, blocked: usr1}}, mayWait},
		{"to another thread", 101, threads{100: {thread: usr1}, 101: {}}, mayWait},
		{"to a process of one thread", 100, threads{100: {process: usr1}}, mayRestart},
		{"to a process of one thread, blocked", 100, threads{100: {process: usr1, blocked: usr1}}, mayWait},
		{"to the process, at the leader", 100, threads{100: {process: usr1}, 101: {process: usr1}}, mayRestart},
		{"to the process, the leader takes it", 101, threads{100: {process: usr1}, 101: {process: usr1}}, mayWait},
		{"to the process, all others block it", 101,
			threads{100: {process: usr1, blocked: usr1}, 101: {process: usr1}, 102: {blocked: usr1}}, mayRestart},
		{"to the process, another may take it", 101,
			threads{100: {process: usr1, blocked: usr1}, 101: {process: usr1}, 102: {process: usr1}}, mayFail},
		{"a stop of the process", 101, threads{100: {state: 'T'}, 101: {}}, mayRestart},
		{"SIGKILL", 100, threads{100: {thread: 1 << 8, process: 1 << 8}}, mayWait},
		{"a thread that has ended", 102, threads{100: {}}, mayWait},
	} {
		proc := t.TempDir()
		for tid, st := range c.threads {
			if st.state == 0 {
				st.state = 'S'
			}
			text := fmt.Sprintf("Name:\tx\nState:\t%c (x)\nTgid:\t100\nThreads:\t%d\nSigPnd:\t%016x\nShdPnd:\t%016x\nSigBlk:\t%016x\n",
				st.state, len(c.threads), st.thread, st.process, st.blocked)
			for _, dir := range []string{fmt.Sprint(tid), fmt.Sprintf("100/task/%d", tid)} {
				if err := os.MkdirAll(filepath.Join(proc, dir), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(proc, dir, "status"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := interruption(proc, c.tid); got != c.want {
			t.Errorf("%s: verdict %d, want %d", c.name, got, c.want)
		}
	}
}
