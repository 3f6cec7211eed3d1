package rxelab

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/icrc"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/report"
	"github.com/gorxe/gorxe/conformance/rxelab/transcript"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
)

// markPort is the discard port (RFC 863), the destination of the datagram that marks the end of a
// capture.
const markPort = 9

// capture is a tcpdump on rxe's interface of a lane that writes to a file of the host.
//
// tcpdump gets packets from the kernel in blocks, up to a second late. So that no packet is
// missed and no cell waits for that second, a marker is sent after the last packet, and the next
// cell may start while the block with the marker is pending.
type capture struct {
	lane   *machine.Lane
	dump   *machine.Tcpdump
	file   *os.File
	out    *transcript.Watcher // writes the packets to file
	marker []byte
}

const captureEnd = 10 * time.Second

// startCapture starts a capture and returns when it captures packets. It captures at most limit
// frames.
func (l cellLane) startCapture(ctx context.Context, file, marker string, limit int) (*capture, error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	c := &capture{lane: l.Lane, file: f, marker: []byte(marker), out: transcript.Watch(f, marker)}
	if c.dump, err = l.Dump(ctx, c.out, "-U", "-c", strconv.Itoa(limit)); err != nil {
		f.Close()
		return nil, err
	}
	return c, nil
}

// mark sends the marker from gorxe's end, where no disturbance affects it before tcpdump sees it.
func (c *capture) mark(ctx context.Context) error {
	to := fmt.Sprintf("%s:%d", c.lane.Rxe.Addr[cell.IPv4], markPort)
	return c.lane.Session.Send(ctx, wire.Datagram{Netns: c.lane.Netns, To: to, Data: c.marker})
}

// finish waits until the marker has been captured, ends the capture and checks it.
func (c *capture) finish() (report.Traffic, error) {
	var t report.Traffic
	late := time.NewTimer(captureEnd)
	defer late.Stop()
	select {
	case <-c.out.Found:
	case <-c.dump.Done():
		t.Limited = true
	case <-late.C:
	}
	_ = c.dump.Signal(vm.Interrupt)
	late.Reset(captureEnd)
	select {
	case <-c.dump.Done():
	case <-late.C:
		_ = c.dump.Signal(vm.Kill)
	}
	defer c.file.Close()
	if err := c.out.Err(); err != nil {
		return t, err
	}
	if _, err := c.file.Seek(0, io.SeekStart); err != nil {
		return t, err
	}
	var err error
	t.Summary, err = icrc.Check(c.file)
	t.Dropped = c.dump.Dropped()
	return t, err
}
