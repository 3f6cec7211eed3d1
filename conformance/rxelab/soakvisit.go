package rxelab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// payloadPath is where the guest has the payload that the daemon expects and perftest sends.
const payloadPath = "/run/rxelab/payload"

// soakTools are the clients of a soak.
var soakTools = Visitors(payloadPath)

// soakPayload is that payload: 64 bytes that are all different, least significant byte last.
var soakPayload = func() (text string) {
	for i := range 16 {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf("0x%02x%02x%02x%02x", 4*i+0x43, 4*i+0x42, 4*i+0x41, 4*i+0x40)
	}
	return text
}()

// Why a client may fail with nothing wrong at gorxe's end.
const (
	misnumbered  = "rxe misnumbered a repeated message, as the capture shows"
	threadsRace  = "rping's threads race at its end"
	neverFlushed = "rping had all its pings and disconnected, and waits for its receive to be flushed, which is rxe's to do"
)

var (
	refusedByPeer = regexp.MustCompile(`(?i)status (9|5)\b|remote invalid request|work request flushed`)
	pingRace      = regexp.MustCompile(`rdma_get_cm_event: Bad file descriptor`)
	pingEnd       = regexp.MustCompile(`^client DISCONNECT EVENT\.\.\.\n(unhandled event: RDMA_CM_EVENT_TIMEWAIT_EXIT, ignoring\n)?$`)
	remoteQPN     = regexp.MustCompile(`remote address: LID \w+,? QPN 0x([0-9a-f]+)`)
)

// captureLag is how late a packet may come from tcpdump.
const captureLag = 3 * time.Second

// known is why a client that ran since begin may have failed; empty when nothing is known that would explain it.
func (h *soakHost) known(log string, begin time.Time) string {
	switch {
	case pingRace.MatchString(log):
		return threadsRace
	case pingEnd.MatchString(log):
		// A client that was disconnected before its last ping says so, or that its data are wrong.
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

// qpns are the queue pairs that a tool says it was connected to.
func qpns(log string) (all []uint32) {
	for _, m := range remoteQPN.FindAllStringSubmatch(log, -1) {
		if n, err := strconv.ParseUint(m[1], 16, 24); err == nil {
			all = append(all, uint32(n))
		}
	}
	return all
}

// soakTimeout is when a client of a soak is given up: several run beside each other, and each lost packet costs a timeout.
func soakTimeout(c Cell) time.Duration {
	return 2*timeoutBase + time.Duration(c.Workload.packets())*packetReread
}

// visit is one client from its start to its end. The error is errLost, or that of the context.
func (s *soak) visit(ctx context.Context, h *soakHost) error {
	w, f, kill := s.draw()
	c := Cell{Suite: s.Suite, Workload: w, Role: Server, Family: f, Condition: soakLoss}
	argv, _ := c.commands(&h.link, 0)
	p := &program{name: w.Tool.Name, argv: argv}
	if programs := h.programsOf[c.release()]; programs != nil {
		p.argv = programs.Command(argv)
	}
	limit, begin := soakTimeout(c), time.Now()
	if err := p.start(h.s, limit, 0); err != nil {
		return errLost
	}
	killed := false
	if kill > 0 {
		select {
		case <-p.p.Done():
		case <-time.After(kill):
			killed = true
			_ = p.p.Signal(vm.Kill)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case <-p.p.Done():
	case <-time.After(limit + graceKill):
		return errLost
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	if r := p.p.Result(); !killed {
		err = c.heard(r.Code, vm.Describe(r), p.log.String(), true, true)
	}
	why := ""
	if err != nil {
		why = h.known(p.log.String(), begin)
	}
	s.visited(h, c, p, begin, killed, err, why)
	return nil
}

// visited counts a client that has ended, and keeps what is known of one that failed.
func (s *soak) visited(h *soakHost, c Cell, p *program, begin time.Time, killed bool, err error, why string) {
	s.mu.Lock()
	s.report.visited(c.Workload, killed, err, why)
	n := s.report.failures()
	s.mu.Unlock()
	if err == nil {
		return
	}
	text := fmt.Sprintf("# lane %d, %v to %v: %s\n%s\n# %s\n", h.index, begin.UTC().Format(time.TimeOnly), time.Now().UTC().Format(time.TimeOnly),
		p.command(), p.log.String(), vm.Describe(p.p.Result()))
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

// keepRecent writes what was captured of late.
func (h *soakHost) keepRecent(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(h.capture.recent.write(f), f.Close())
}
