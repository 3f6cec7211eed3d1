package machine

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/transcript"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
)

// Tcpdump is a capture on rxe's interface of a lane.
type Tcpdump struct {
	*vm.Process
	says transcript.Buffer // messages of tcpdump
}

const captureStart = 30 * time.Second

// Dump starts tcpdump with further arguments and returns when it captures. The packets are
// written to out.
func (l *Lane) Dump(ctx context.Context, out io.Writer, args ...string) (*Tcpdump, error) {
	d := &Tcpdump{}
	ready := transcript.Watch(&d.says, "listening on")
	var err error
	d.Process, err = l.Session.Start(wire.Command{
		Argv: append([]string{"tcpdump", "-i", l.netdev, "-n", "-s", "0", "-B", "65536", "-w", "-"}, args...),
	}, out, ready)
	if err != nil {
		return nil, err
	}
	select {
	case <-ready.Found:
		return d, nil
	case <-d.Done():
		err = fmt.Errorf("tcpdump: %s: %s", vm.Describe(d.Result()), d.says.String())
	case <-time.After(captureStart):
		err = fmt.Errorf("tcpdump did not start within %v", captureStart)
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = d.Signal(vm.Kill)
	return nil, err
}

var droppedFrames = regexp.MustCompile(`(\d+) packets dropped by kernel`)

// Dropped returns the number of frames that the kernel dropped because tcpdump was too slow.
// tcpdump prints it when it ends.
func (d *Tcpdump) Dropped() int {
	n := 0
	if m := droppedFrames.FindStringSubmatch(d.says.String()); m != nil {
		n, _ = strconv.Atoi(m[1])
	}
	return n
}
