package rxelab

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/icrc"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
)

// markPort is the discard port (RFC 863): the datagram that ends a capture is sent there.
const markPort = 9

// capture is a tcpdump on rxe's interface of a lane whose packets are written to a file of the host.
//
// tcpdump gets packets from the kernel in blocks, up to a second late. So that nothing is missed and no cell waits for it, a
// marker is sent after the last packet, and the next cell may begin while the block with the marker is on its way.
type capture struct {
	lane   *lane
	p      *vm.Process
	file   *os.File
	out    *watcher // the packets
	msg    *watcher // what tcpdump says
	marker []byte
}

// watcher writes what passes to w and closes found when a text has passed.
type watcher struct {
	w     io.Writer
	text  []byte
	found chan struct{}

	mu   sync.Mutex
	tail []byte // the last len(text)-1 bytes
	err  error
	done bool
}

func watch(w io.Writer, text string) *watcher {
	return &watcher{w: w, text: []byte(text), found: make(chan struct{})}
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.tail = append(w.tail, p...)
		if bytes.Contains(w.tail, w.text) {
			w.done = true
			close(w.found)
		}
		w.tail = append(w.tail[:0], w.tail[max(0, len(w.tail)-len(w.text)+1):]...)
	}
	if w.err == nil {
		_, w.err = w.w.Write(p)
	}
	return len(p), w.err
}

const (
	captureStart = 30 * time.Second
	captureEnd   = 10 * time.Second
)

// startCapture returns when packets are being captured. It captures no more than limit frames.
func (l *lane) startCapture(ctx context.Context, file, marker string, limit int) (*capture, error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	var text transcript
	c := &capture{lane: l, file: f, marker: []byte(marker), out: watch(f, marker), msg: watch(&text, "listening on")}
	c.p, err = l.s.Start(wire.Command{
		Argv: []string{"tcpdump", "-i", l.netdev, "-n", "-U", "-s", "0", "-B", "65536", "-c", strconv.Itoa(limit), "-w", "-"},
	}, c.out, c.msg)
	if err == nil {
		select {
		case <-c.msg.found:
			return c, nil
		case <-c.p.Done():
			err = fmt.Errorf("tcpdump: %s: %s", vm.Describe(c.p.Result()), text.String())
		case <-time.After(captureStart):
			err = fmt.Errorf("tcpdump did not start within %v", captureStart)
		case <-ctx.Done():
			err = ctx.Err()
		}
		_ = c.p.Signal(vm.Kill)
	}
	f.Close()
	return nil, err
}

// mark sends the marker. It comes from gorxe's end: that way nothing disturbs it before tcpdump sees it.
func (c *capture) mark(ctx context.Context) error {
	to := fmt.Sprintf("%s:%d", c.lane.rxe.addr[IPv4], markPort)
	return c.lane.s.Send(ctx, wire.Datagram{Netns: c.lane.netns, To: to, Data: c.marker})
}

// Traffic is what was captured of a cell.
type Traffic struct {
	icrc.Summary
	Dropped int  // frames that tcpdump was too slow for
	Limited bool // the capture ended at its limit, before the cell

	Sent     []int `json:",omitempty"` // BTH opcodes, by gorxe
	Received []int `json:",omitempty"`
}

var droppedFrames = regexp.MustCompile(`(\d+) packets dropped by kernel`)

// finish waits until the marker has been captured, ends the capture and checks it.
func (c *capture) finish() (Traffic, error) {
	var t Traffic
	late := time.NewTimer(captureEnd)
	defer late.Stop()
	select {
	case <-c.out.found:
	case <-c.p.Done():
		t.Limited = true
	case <-late.C:
	}
	_ = c.p.Signal(vm.Interrupt)
	late.Reset(captureEnd)
	select {
	case <-c.p.Done():
	case <-late.C:
		_ = c.p.Signal(vm.Kill)
	}
	defer c.file.Close()
	c.out.mu.Lock()
	err := c.out.err
	c.out.mu.Unlock()
	if err != nil {
		return t, err
	}
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return t, err
	}
	t.Summary, err = icrc.Check(c.file)
	c.msg.mu.Lock()
	defer c.msg.mu.Unlock()
	if m := droppedFrames.FindStringSubmatch(c.msg.w.(*transcript).String()); m != nil {
		t.Dropped, _ = strconv.Atoi(m[1])
	}
	return t, err
}

// transcript keeps what a program prints. It may be read while the program runs.
type transcript struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// maxTranscript bounds what is kept of a program that prints without end.
const maxTranscript = 1 << 20

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(p[:min(len(p), max(0, maxTranscript-t.b.Len()))])
	return len(p), nil
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
