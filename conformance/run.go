package conformance

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/cmsg"
	"github.com/gorxe/gorxe/conformance/wire"
)

// Runner runs cases against a device, one after the other.
type Runner struct {
	Device Device
	Link   wire.Link

	// Timeout is the time that an expected reply may take; 0 means one second. Silence is the time
	// without a reply that counts as none; 0 means 250 ms. A case takes at most Limit; 0 means 30
	// seconds.
	Timeout, Silence, Limit time.Duration
	// Done is called with each result, if it is not nil. It may set Packets to nil: those of a case
	// can have 64 MiB, and the results are kept until Run returns.
	Done func(*Result)

	mu     sync.Mutex // guards what follows; held for no I/O
	conns  map[bth.QPN]*Conn
	strays chan *wire.Received // to queue pair 1
	guid   uint64              // of the tester; new in each run, as a host that restarts
	log    *packetLog

	sendMu sync.Mutex // serializes Link.Send
}

// Result is the result of a case.
type Result struct {
	Case    *Case
	Verdict Verdict
	Detail  string
	Values  []Value
	Elapsed time.Duration
	// Packets are those of the run that decided, and Dropped the number of those that were too many
	// for it.
	Packets []Entry
	Dropped int
	// Traffic are measurements of Packets that no case is about, such as the time to an ACK.
	Traffic []Value
	Output  string // of the device's programs

	opening opening
}

func (r *Runner) timeout() time.Duration { return cmp.Or(r.Timeout, time.Second) }
func (r *Runner) silence() time.Duration { return cmp.Or(r.Silence, 250*time.Millisecond) }

// Run runs the cases in order and returns their results, fewer if ctx ends. A case that fails or
// warns is run a second time; if the result differs, it is inconclusive. A case whose program does
// not start, or breaks off its handshake, is run a second time too, unless the program before it
// did not start either; its log says so. Run receives from the link until it returns; it does not
// close it.
func (r *Runner) Run(ctx context.Context, cases []*Case) []*Result {
	ctx, stop := context.WithCancel(ctx)
	r.conns = map[bth.QPN]*Conn{}
	r.strays = make(chan *wire.Received, maxQueue)
	r.guid = newGUID()
	var receiver sync.WaitGroup
	receiver.Go(func() { r.receive(ctx) })
	defer receiver.Wait()
	defer stop()
	var all []*Result
	starts := false // the program that was started last did start
	for i, c := range cases {
		if ctx.Err() != nil {
			break
		}
		r.prepare(cases[i:])
		x := r.once(ctx, c, "")
		// The repetition is for a program that fails now and then. A device that starts none must
		// not cost its time twice.
		if x.opening == brokenStart && starts && ctx.Err() == nil {
			x = r.once(ctx, c, fmt.Sprintf("the case was run again, because a program did not start: %s", x.Detail))
		}
		starts = x.opening == opened || x.opening == notOpened && starts
		if x.Verdict == Fail || x.Verdict == Warn {
			if again := r.once(ctx, c, ""); again.Verdict != x.Verdict {
				x.Detail = fmt.Sprintf("%s the first time (%s), %s the second (%s)", x.Verdict, x.Detail, again.Verdict,
					again.Detail)
				x.Verdict = Inconclusive
			}
		}
		all = append(all, x)
		if r.Done != nil {
			r.Done(x)
		}
	}
	return all
}

// Preparer is a Device that can start programs before Open needs them.
type Preparer interface {
	// Prepare tells which programs the next calls of Open need, in order. It does not block.
	Prepare(next []Program)
}

// lookahead is the number of cases whose programs are started ahead.
const lookahead = 5

// prepare lets the device start the programs of the next cases.
func (r *Runner) prepare(cases []*Case) {
	d, ok := r.Device.(Preparer)
	if !ok {
		return
	}
	var next []Program
	for _, c := range cases[:min(len(cases), lookahead)] {
		if !c.Raw || r.Link.Raw() {
			next = append(next, c.Program)
		}
	}
	d.Prepare(next)
}

// once runs a case once. Its log begins with note, unless that is empty.
func (r *Runner) once(ctx context.Context, c *Case, note string) *Result {
	x := &Result{Case: c}
	begin := time.Now()
	if c.Raw && !r.Link.Raw() {
		x.Verdict, x.Detail = NotRun, wire.ErrRaw.Error()
		return x
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(r.Limit, 30*time.Second),
		errors.New("a case may not take longer"))
	defer cancel()
	t := &T{ctx: ctx, run: r, c: c, log: &packetLog{}}
	r.mu.Lock()
	r.log = t.log
	r.mu.Unlock()
	if note != "" {
		t.log.note(note)
	}
	x.Verdict, x.Detail = script(t)
	t.close()
	if n := t.log.flooded(); n > 0 && (x.Verdict == Fail || x.Verdict == Warn || x.Verdict == Inconclusive) {
		x.Verdict, x.Detail = Inconclusive, fmt.Sprintf("%d packets came for queue pairs that the tester does not "+
			"have, so that it may have lost others: %s", n, x.Detail)
	}
	if x.Verdict == Pass {
		x.Detail = t.detail
		if c.Level == Observed {
			x.Verdict = Measured
		}
	}
	x.Values, x.Output, x.Elapsed, x.opening = t.values, t.output, time.Since(begin), t.opening
	x.Packets, x.Dropped = t.log.take()
	x.Traffic = traffic(x.Packets, t.conns)
	return x
}

// script runs the script of t.
func script(t *T) (v Verdict, detail string) {
	defer func() {
		switch e := recover().(type) {
		case nil:
		case ended:
			v, detail = e.verdict, e.detail
		default:
			panic(e)
		}
	}()
	t.c.Run(t)
	return Pass, ""
}

// pollInterval is the time after which receive looks for the end of its context.
const pollInterval = 50 * time.Millisecond

// receive passes the packets of the link to the connections until ctx ends, whatever their source
// is: a script judges the source address.
func (r *Runner) receive(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := r.Link.Recv(time.Now().Add(pollInterval))
		switch {
		case errors.Is(err, wire.ErrTimeout):
			continue
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			time.Sleep(time.Millisecond) // an error that repeats must not take the whole processor
			continue
		}
		r.mu.Lock()
		log, c := r.log, r.conns[p.To()]
		r.mu.Unlock()
		gsi := p.Err == nil && p.To() == bth.GSI
		switch {
		case log == nil:
		case gsi || c != nil:
			log.received(p)
		default:
			log.stray(p)
		}
		switch {
		case gsi && len(p.Payload) != cmsg.Len:
			// no MAD
		case gsi:
			select {
			case r.strays <- p:
			default:
			}
		case c != nil:
			c.deliver(p)
		}
	}
}

func (r *Runner) send(dst netip.Addr, p *wire.Packet) ([]byte, error) {
	r.sendMu.Lock()
	defer r.sendMu.Unlock()
	return r.Link.Send(dst, p)
}

func (r *Runner) register(c *Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c.Local.QPN] = c
}

func (r *Runner) unregister(c *Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c.Local.QPN)
}

// newLocal returns a queue pair of the tester. Its numbers come from crypto/rand: a third host that
// forges replies, which the ICRC does not prevent, must guess 22 bits of the QPN and the PSN.
func (r *Runner) newLocal() Local {
	var b [16]byte
	rand.Read(b[:])
	return Local{
		Addr: r.Link.Local(),
		QPN:  bth.QPN(binary.BigEndian.Uint32(b[0:])&0x7fffff | 0x800),
		PSN:  bth.PSN(binary.BigEndian.Uint32(b[4:]) & 0xffffff),
		RKey: binary.BigEndian.Uint32(b[8:]) | 1,
		VA:   uint64(binary.BigEndian.Uint32(b[12:])) << 12,

		Reads: 16, AckTimeout: 14, Retries: 7, RNRRetries: 7,
	}
}

func newGUID() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:])
}
