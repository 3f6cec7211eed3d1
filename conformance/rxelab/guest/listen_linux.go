package guest

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
)

const (
	listenPoll  = 10 * time.Millisecond
	stateListen = "0A" // TCP_LISTEN in /proc/net/tcp
)

// watchPort reports once when a socket in the process's network namespace listens on the TCP
// port.
func (a *agent) watchPort(stream uint32, pid, port int, ended <-chan struct{}) {
	tick := time.NewTicker(listenPoll)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		for _, table := range []string{"tcp", "tcp6"} {
			if listens(fmt.Sprintf("/proc/%d/net/%s", pid, table), port) {
				a.reply(stream, wire.Ready, struct{}{})
				return
			}
		}
	}
}

// listens searches a table of sockets of the kernel, with the columns number, local address:port
// in hexadecimal, remote, state.
func listens(table string, port int) bool {
	f, err := os.Open(table)
	if err != nil {
		return false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		col := strings.Fields(s.Text())
		if len(col) < 4 || col[3] != stateListen {
			continue
		}
		_, hex, ok := strings.Cut(col[1], ":")
		if p, err := strconv.ParseUint(hex, 16, 16); ok && err == nil && int(p) == port {
			return true
		}
	}
	return false
}
