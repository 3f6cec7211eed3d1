package perf

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/host/textfile"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/verbs"
)

// params are the parameters of a perftest tool. Flags set them; complete makes them consistent as
// the tools do.
type params struct {
	test         wire.Test
	service      verbs.QPType
	device       app.DeviceFlags
	gidIndex     int
	foreign      session.ForeignGIDs
	port         uint16
	host         string
	managed      bool // rdma_cm makes the connections
	sizeText     string
	sizeAsked    bool   // -s was given
	size         uint64 // size of the largest message in bytes
	all          bool
	iters        int
	duration     int // in seconds; 0: run a number of messages
	margin       int // in seconds
	mtu          int
	qps          int
	txDepth      int
	rxDepth      int
	cqMod        int
	postList     int
	outs         int
	inline       int    // maximum message size that is copied when posted
	imm          bool   // WRITE with immediate data
	atomic       string // cmpAndSwap or fetchAndAdd
	timeout      uint8
	sl           int
	trafficClass uint8
	duplex       bool
	noPeak       bool
	gbits        bool
	histogram    bool
	unsorted     bool
	json         bool
	payloadFile  string
	payload      []byte // content of the messages; nil: random
	events       bool
	busyPoll     bool
	cpuProfile   string
	limitBW      float64
	limitRate    float64
}

// Bounds and special values of perftest.
const (
	minIters   = 5
	maxIters   = 100_000_000
	maxTxDepth = 15000
	maxRxDepth = 16384
	maxQPs     = 16384
	maxCQMod   = 1024
	allMax     = 8 << 20 // largest size of -a
	rxDepth    = 512
	// maxUCDepth is the maximum number of receives that are posted by default with UC and UD.
	maxUCDepth  = 16000
	atomicSize  = 8     // in bytes
	cqModLimit  = 8192  // above this size every message is signaled
	peakLimit   = 20000 // above this number of iterations the peak is not computed
	latencyTail = 2     // number of slowest results that are excluded
	memoryLimit = 16 << 30
)

// complete checks the flags against each other and derives the remaining parameters from them and
// from the payload file. If that file is a stream, the end of ctx ends the wait for it.
func (p *params) complete(ctx context.Context, fs *pflag.FlagSet) error {
	if err := app.CheckRefused(fs); err != nil {
		return err
	}
	var err error
	if p.service, err = p.parseConnection(fs); err != nil {
		return err
	}
	if p.managed && p.service != verbs.RC {
		return app.Usagef("-c %v: -R supports only RC", p.service)
	}
	if p.size, err = parseSize(p.sizeText); err != nil {
		return err
	}
	p.sizeAsked = fs.Changed("size")
	if err := p.checkAtomic(); err != nil {
		return err
	}
	if !fs.Changed("rx-depth") && !p.twoSided() {
		p.rxDepth = 1
	}
	p.qps, p.postList = max(p.qps, 1), max(p.postList, 1)
	if p.cqMod == 0 {
		p.cqMod = 1
	}
	if err := p.checkRanges(fs); err != nil {
		return err
	}
	if err := p.checkDuration(fs); err != nil {
		return err
	}
	if p.events && p.busyPoll {
		return app.Usagef("-e and --busy-poll are mutually exclusive")
	}
	if p.all {
		p.size = allMax
	}
	if p.payloadFile != "" {
		text, err := textfile.Read(ctx, p.payloadFile, wire.MaxPayloadFile)
		if err != nil {
			return err
		}
		if p.payload, err = wire.ParsePayload(p.payloadFile, string(text)); err != nil {
			return err
		}
		p.payload = p.payload[:min(uint64(len(p.payload)), p.size)]
	}
	if p.duration == 0 {
		p.txDepth = min(p.txDepth, p.iters)
		if p.twoSided() {
			p.rxDepth = min(p.rxDepth, p.iters)
			// Without flow control, every message that may be sent needs a receive.
			if p.service != verbs.RC && !fs.Changed("rx-depth") {
				p.rxDepth = min(p.iters, maxUCDepth)
			}
		}
	}
	if err := p.completePosting(fs); err != nil {
		return err
	}
	// The tools post an even number of receives.
	if p.twoSided() && p.rxDepth%2 == 1 && !p.all {
		p.rxDepth++
	}
	if p.duration > 0 || p.iters > peakLimit {
		p.noPeak = true
	}
	if need := 2 * p.unit(4096) * uint64(p.qps); need > memoryLimit {
		return app.Usagef("-s %d with %d QPs needs %d GiB of memory: choose less", p.size, p.qps, need>>30)
	}
	if err := app.CheckMTU(p.mtu); err != nil {
		return err
	}
	return p.device.Check()
}

// parseConnection parses the connection type.
func (p *params) parseConnection(fs *pflag.FlagSet) (verbs.QPType, error) {
	switch c, _ := fs.GetString("connection"); {
	case strings.EqualFold(c, "RC"):
		return verbs.RC, nil
	case p.test.Atomic():
		return 0, app.Usagef("-c %s: %v needs RC, the only connection type with atomics; omit -c", c, p.test)
	case p.test.Fetches():
		return 0, app.Usagef("-c %s: %v needs RC, the only connection type with READ; omit -c", c, p.test)
	case strings.EqualFold(c, "UC"):
		return verbs.UC, nil
	case strings.EqualFold(c, "UD") && p.test.Send():
		return verbs.UD, nil
	case p.test.Send():
		return 0, app.Usagef("-c %s: choose RC, UC or UD, the connection types there are", c)
	default:
		return 0, app.Usagef("-c %s: choose RC or UC, the connection types there are for %v", c, p.test)
	}
}

func (p *params) checkRanges(fs *pflag.FlagSet) error {
	if !p.twoSided() && p.rxDepth != 1 {
		return app.Usagef("-r %d: %v posts no receives; omit -r", p.rxDepth, p.test)
	}
	err := app.CheckRanges(
		app.InRange("-n", p.iters, minIters, maxIters), app.InRange("-t", p.txDepth, 1, maxTxDepth),
		app.InRange("-r", p.rxDepth, 1, maxRxDepth),
		app.InRange("-q", p.qps, 1, maxQPs), app.InRange("-Q", p.cqMod, 1, maxCQMod),
		app.InRange("-l", p.postList, 1, p.txDepth),
		app.InRange("-o", p.outs, 0, 128), app.InRange("-u", int(p.timeout), 0, 31), app.InRange("-S", p.sl, 0, 15),
		app.InRange("-I", p.inline, 0, verbs.MaxInline))
	if err != nil {
		return err
	}
	return app.CheckGIDFlag(fs, "gid-index")
}

func (p *params) checkDuration(fs *pflag.FlagSet) error {
	if !fs.Changed("duration") {
		if fs.Changed("margin") {
			return app.Usagef("-f %d: a margin needs -D", p.margin)
		}
		return nil
	}
	if p.duration < 1 {
		return app.Usagef("-D %d: must be at least 1 second", p.duration)
	}
	if p.all {
		return app.Usagef("-D and -a do not go together: run one size for a time, or all sizes by number")
	}
	if p.histogram || p.unsorted {
		return app.Usagef("-D records no single results: omit -H and -U")
	}
	if p.margin < 0 {
		p.margin = p.duration / 4
	}
	if p.duration <= 2*p.margin {
		return app.Usagef("-D %d leaves nothing between two margins of %d seconds: choose a smaller -f",
			p.duration, p.margin)
	}
	return nil
}

// completePosting sets how many messages are posted at a time and how many of them are signaled.
func (p *params) completePosting(fs *pflag.FlagSet) error {
	asked := fs.Changed("cq-mod")
	if p.size > cqModLimit && !p.all && !asked && p.service != verbs.UD {
		p.cqMod = 1
	}
	p.cqMod = min(p.cqMod, p.txDepth)
	if p.postList == 1 {
		return nil
	}
	if p.duration == 0 && p.iters%p.postList != 0 {
		return app.Usagef("-n %d is not a multiple of -l %d: choose one that is", p.iters, p.postList)
	}
	if !asked {
		p.cqMod = p.postList
	} else if p.postList%p.cqMod != 0 {
		return app.Usagef("-l %d is not a multiple of -Q %d: choose one that is", p.postList, p.cqMod)
	}
	return nil
}

// fills reports whether the content of the messages can be selected. In write_lat the content is
// the signal.
func (p *params) fills() bool { return !p.test.Fetches() && p.test != wire.WriteLat }

// parseSize parses a message size: 1 to 2^31-1 bytes.
func parseSize(text string) (uint64, error) {
	n, err := app.ParseBytes(text)
	if err != nil {
		return 0, app.Usagef("-s: %v", err)
	}
	if n == 0 || n > session.MaxMessage {
		return 0, app.Usagef("-s %s: must be 1 to %d bytes", text, session.MaxMessage)
	}
	return n, nil
}

// unit returns the size of one half of the buffer of a queue pair: small messages cycle through a
// whole page.
func (p *params) unit(cycle uint64) uint64 { return max(p.received(p.size), cycle) }

// received returns the number of bytes that a received message of size bytes takes in memory.
func (p *params) received(size uint64) uint64 {
	return size + uint64(session.HeaderOf(p.service))
}

// fit limits the message size to the payload of a datagram.
func (p *params) fit(mtu verbs.MTU) error {
	if p.service != verbs.UD || p.size <= uint64(mtu) {
		return nil
	}
	if p.sizeAsked && !p.all {
		return fmt.Errorf("-s %s: a datagram carries at most %d bytes on this path", p.sizeText, mtu)
	}
	p.size = uint64(mtu)
	return nil
}

// sizes returns the message sizes to run.
func (p *params) sizes() []uint64 {
	if !p.all {
		return []uint64{p.size}
	}
	return slices.DeleteFunc(wire.AllSizes(), func(n uint64) bool { return n > p.size })
}

// script returns the exchanges of this test for a role, in order.
func (p *params) script(role exchange.Role) []wire.Step {
	return wire.Script(p.test, wire.Params{
		Role: role, QPs: p.qps, Sizes: p.sizes(), All: p.all, Bidirectional: p.duplex, Duration: p.duration > 0,
		Immediate: p.imm,
		Managed:   p.managed,
	})
}

// sends reports whether the end with that role posts send work requests.
func (p *params) sends(role exchange.Role) bool {
	return role == exchange.Client || p.duplex || p.test.Latency() && !p.test.Fetches()
}

// window returns the measured interval of a run with -D, and its end, relative to its start.
func (p *params) window() (from, to, end time.Duration) {
	d, m := time.Duration(p.duration)*time.Second, time.Duration(p.margin)*time.Second
	return m, d - m, d
}

// describe returns the command line of the stock tool with the parameters that both ends must
// have in common.
func (p *params) describe() string {
	text := fmt.Sprintf("ib_%v", p.test)
	if p.managed {
		text += " -R"
	}
	if p.service != verbs.RC {
		text += fmt.Sprintf(" -c %v", p.service)
	}
	if p.imm {
		text += " --write_with_imm"
	}
	switch {
	case p.test.Atomic():
		text += " -A " + p.atomic
	case p.all:
		text += " -a"
	default:
		text += fmt.Sprintf(" -s %d", p.size)
	}
	if p.duration > 0 {
		text += fmt.Sprintf(" -D %d", p.duration)
	} else {
		text += fmt.Sprintf(" -n %d", p.iters)
	}
	if p.qps > 1 {
		text += fmt.Sprintf(" -q %d", p.qps)
	}
	if p.duplex {
		text += " -b"
	}
	return text
}
