package machine

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
)

// announced matches what gorxe prints when it listens with its connection manager. A server
// without such output is assumed to listen after announceTime; if it does not, its client fails.
var announced = regexp.MustCompile(`(?i)listening|waiting for client|msg=ready`)

const (
	announceTime = 5 * time.Second
	listenPoll   = 100 * time.Millisecond
)

// Listening waits until a server listens with a connection manager or has ended. ok is false if
// neither happens within limit.
func (l *Lane) Listening(ctx context.Context, server *Program, port int, limit time.Duration) (ok bool, err error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	silent := time.Now().Add(announceTime)
	tick := time.NewTicker(listenPoll)
	defer tick.Stop()
	for {
		select {
		case <-server.Process.Done():
			return true, nil
		case <-late.C:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		case <-tick.C:
		}
		if server.In != "" {
			if announced.MatchString(server.Log.String()) || time.Now().After(silent) {
				return true, nil
			}
			continue
		}
		out, err := l.Session.Run(ctx, "rdma", "resource", "show", "cm_id")
		if err != nil {
			return false, err
		}
		if listens(out, l.listeners(port)) {
			return true, nil
		}
	}
}

// listeners returns the addresses at which a server of the lane may listen, as rdma prints them.
// A program with a fixed port listens on an address.
func (l *Lane) listeners(port int) []string {
	out := []string{"0.0.0.0:" + strconv.Itoa(port), ":::" + strconv.Itoa(port)}
	for _, a := range l.Rxe.Addr {
		out = append(out, a.String()+":"+strconv.Itoa(port), a.String()+":"+cell.UdaddyPort)
	}
	return out
}

// listens searches the output of rdma resource show cm_id for a listener.
func listens(out string, at []string) bool {
	for line := range strings.Lines(out) {
		if !strings.Contains(line, " state LISTEN ") {
			continue
		}
		for _, end := range at {
			if strings.Contains(line, " src-addr "+end+" ") {
				return true
			}
		}
	}
	return false
}
