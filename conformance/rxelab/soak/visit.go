package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// payloadPath is the path in the guest of the payload that the daemon expects and perftest sends.
const payloadPath = "/run/rxelab/payload"

// tools are the clients of a soak test.
var tools = cell.Visitors(payloadPath)

// payload is that payload: 64 different bytes, in DWORDs with the least significant byte last.
var payload = func() (text string) {
	for i := range 16 {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf("0x%02x%02x%02x%02x", 4*i+0x43, 4*i+0x42, 4*i+0x41, 4*i+0x40)
	}
	return text
}()

// Known reasons for a failed client without a fault of gorxe.
const (
	misnumbered  = "rxe misnumbered a repeated message, as the capture shows"
	threadsRace  = "rping's threads race at its end"
	neverFlushed = "rping had all its pings and disconnected, and waits for its receive " +
		"to be flushed, which is rxe's to do"
	untimed = "rxe repeated a message while all of it was acknowledged, and sent nothing more, " +
		"as the capture shows"
)

var (
	refusedByPeer = regexp.MustCompile(`(?i)status (9|5)\b|remote invalid request|work request flushed`)
	pingRace      = regexp.MustCompile(`rdma_get_cm_event: Bad file descriptor`)
	pingEnd       = regexp.MustCompile(
		`^client DISCONNECT EVENT\.\.\.\n(unhandled event: RDMA_CM_EVENT_TIMEWAIT_EXIT, ignoring\n)?$`)
	remoteQPN = regexp.MustCompile(`remote address: LID \w+,? QPN 0x([0-9a-f]+)`)
)

// captureLag is the maximum delay of a packet in tcpdump.
const captureLag = 3 * time.Second

// known returns a known reason for the failure of a client that ran since begin, "" if there is
// none.
func (h *server) known(log string, timedOut bool, begin time.Time) string {
	switch {
	case timedOut && h.capture.untimed.any(begin):
		return untimed
	case pingRace.MatchString(log):
		return threadsRace
	case pingEnd.MatchString(log):
		// A client that was disconnected before its last ping, or that found wrong data, prints
		// more.
		return neverFlushed
	case !refusedByPeer.MatchString(log):
		return ""
	}
	time.Sleep(captureLag)
	if h.capture.rxe.broken(begin, qpns(log)) {
		return misnumbered
	}
	return ""
}

// qpns returns the remote queue pairs in the output of a tool.
func qpns(log string) (all []uint32) {
	for _, m := range remoteQPN.FindAllStringSubmatch(log, -1) {
		if n, err := strconv.ParseUint(m[1], 16, 24); err == nil {
			all = append(all, uint32(n))
		}
	}
	return all
}

// timeout returns the time limit of a client: several run concurrently, and each lost packet
// costs a timeout.
func timeout(c cell.Cell) time.Duration {
	return 2*cell.TimeoutBase + time.Duration(c.Workload.Packets())*cell.PacketReread
}

// visit runs one client. The error is ErrLost, or that of the context.
func (s *job) visit(ctx context.Context, h *server) error {
	w, f, kill := s.draw()
	c := cell.Cell{Suite: s.Suite, Workload: w, Role: cell.Server, Family: f, Condition: loss}
	argv, _ := c.Commands(&h.Link, 0)
	p := &machine.Program{Name: w.Tool.Name, Argv: argv}
	if programs := h.ProgramsOf[c.Release()]; programs != nil {
		p.Argv = programs.Command(argv)
	}
	limit, begin := timeout(c), time.Now()
	if err := p.Start(h.Session, limit, 0); err != nil {
		return machine.ErrLost
	}
	killed := false
	if kill > 0 {
		select {
		case <-p.Process.Done():
		case <-time.After(kill):
			killed = true
			_ = p.Process.Signal(vm.Kill)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case <-p.Process.Done():
	case <-time.After(limit + machine.GraceKill):
		return machine.ErrLost
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	r := p.Process.Result()
	if !killed {
		err = c.Heard(r.Code, vm.Describe(r), p.Log.String(), true, true)
	}
	why := ""
	if err != nil {
		why = h.known(p.Log.String(), r.TimedOut, begin)
	}
	s.visited(h, c, p, begin, killed, err, why)
	return nil
}

// visited counts a client that has ended, and saves the log and the latest frames of a failed
// one.
func (s *job) visited(h *server, c cell.Cell, p *machine.Program, begin time.Time, killed bool, err error, why string) {
	s.mu.Lock()
	s.report.visited(c.Workload, killed, err, why)
	n := s.report.failures()
	s.mu.Unlock()
	if err == nil {
		return
	}
	text := fmt.Sprintf("# lane %d, %v to %v: %s\n%s\n# %s\n", h.Index, begin.UTC().Format(time.TimeOnly),
		time.Now().UTC().Format(time.TimeOnly),
		p.Command(), p.Log.String(), vm.Describe(p.Process.Result()))
	kept := os.WriteFile(filepath.Join(s.o.Artifacts, fmt.Sprintf("client-%d.log", n)), []byte(text), 0o644)
	kept = errors.Join(kept, h.keepRecent(filepath.Join(s.o.Artifacts, fmt.Sprintf("client-%d.pcap", n))))
	if kept != nil {
		s.Say("what is known of client %d could not be kept: %v", n, kept)
	}
	if why == "" {
		s.fail("%s %s, %s: %v", c.Workload.Tool.Name, c.Workload.Params, c.Family, err)
		return
	}
	s.Say("%s %s, %s: %v (%s)", c.Workload.Tool.Name, c.Workload.Params, c.Family, err, why)
}

// keepRecent writes the latest captured frames to a file.
func (h *server) keepRecent(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(h.capture.recent.write(f), f.Close())
}
