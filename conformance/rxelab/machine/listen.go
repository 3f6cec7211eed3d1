package machine

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
)

// announced is what gorxe prints when it listens with its connection manager. What does not say so is taken to listen after
// announceTime; if it does not, its client will tell.
var announced = regexp.MustCompile(`(?i)listening|waiting for client|msg=ready`)

const (
	announceTime = 5 * time.Second
	listenPoll   = 100 * time.Millisecond
)

// Listening returns when a server listens with a connection manager, has ended, or does not do so within a time limit; then ok is
// false.
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

// listeners are the ends at which a server of the lane's may listen, as rdma prints them: a program may have a port of its own, but
// then it listens on an address.
func (l *Lane) listeners(port int) []string {
	out := []string{"0.0.0.0:" + strconv.Itoa(port), ":::" + strconv.Itoa(port)}
	for _, a := range l.Rxe.Addr {
		out = append(out, a.String()+":"+strconv.Itoa(port), a.String()+":"+cell.UdaddyPort)
	}
	return out
}

// listens looks for a listener in what rdma resource show cm_id prints.
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
