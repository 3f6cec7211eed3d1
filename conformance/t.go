package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
)

// T is a run of the script of a case. Its methods must be called by the goroutine of the script.
// Those that end the script do not return.
type T struct {
	ctx   context.Context
	run   *Runner
	c     *Case
	log   *packetLog
	conns []*Conn
	// services are the programs that accept connections of rdma_cm.
	services []Peer
	detail   string // of a case that passes
	others   string // see Lenient
	values   []Value
	output   string // of the programs
	opening  opening
}

// opening is what became of the programs of a script.
type opening uint8

const (
	notOpened   opening = iota // the script needed none
	opened                     // all started
	brokenStart                // one did not start or broke off its handshake, which ended the script
)

// ended is the panic value that ends a script.
type ended struct {
	verdict Verdict
	detail  string
}

func (t *T) end(v Verdict, format string, args ...any) {
	panic(ended{v, fmt.Sprintf(format, args...)})
}

// Fail ends the case: the device violates the rule. The verdict depends on the level of the case.
func (t *T) Fail(format string, args ...any) {
	v := Fail
	if t.others != "" {
		t.Unclear("%s; %s", fmt.Sprintf(format, args...), t.others)
	}
	switch t.c.Level {
	case Should:
		v = Warn
	case Observed:
		v = Measured
	}
	t.end(v, format, args...)
}

// Lenient turns the failures that follow into unclear results, because respected implementations
// differ: others says how.
func (t *T) Lenient(others string) { t.others = others }

// Unclear ends the case: the device does something that the specification does not forbid, or on
// which respected implementations differ. The text should name the other behaviour.
func (t *T) Unclear(format string, args ...any) { t.end(Unclear, format, args...) }

// Unsupported ends the case: the device cannot do what the rule is about.
func (t *T) Unsupported(format string, args ...any) { t.end(Unsupported, format, args...) }

// NotRun ends the case: this tester cannot run it here.
func (t *T) NotRun(format string, args ...any) { t.end(NotRun, format, args...) }

// Inconclusive ends the case: the test did not take place as planned, for a reason that is no
// fault of the device.
func (t *T) Inconclusive(format string, args ...any) { t.end(Inconclusive, format, args...) }

// noStart ends the case: a program did not start or broke off its handshake.
func (t *T) noStart(format string, args ...any) {
	t.opening = brokenStart
	t.Inconclusive(format, args...)
}

// Observe adds a sentence to the detail of the result. A case of level Observed needs one.
func (t *T) Observe(format string, args ...any) {
	if t.detail != "" {
		t.detail += "; "
	}
	t.detail += fmt.Sprintf(format, args...)
}

// Sample adds a sample to the value with the name.
func (t *T) Sample(name, unit string, x float64) {
	for i := range t.values {
		if t.values[i].Name == name {
			t.values[i].Samples = append(t.values[i].Samples, x)
			return
		}
	}
	t.values = append(t.values, Value{name, unit, []float64{x}})
}

// Note writes a comment into the log, before the next packet.
func (t *T) Note(format string, args ...any) { t.log.note(fmt.Sprintf(format, args...)) }

// Context ends when the case must end.
func (t *T) Context() context.Context { return t.ctx }

// Link returns the link of the tester.
func (t *T) Link() wire.Link { return t.run.Link }

// Timeout returns the time that an expected reply may take.
func (t *T) Timeout() time.Duration { return t.run.timeout() }

// Silence returns the time without a reply that counts as none.
func (t *T) Silence() time.Duration { return t.run.silence() }

// Sleep waits, and ends the case if its time is over.
func (t *T) Sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.ctx.Done():
		t.Inconclusive("the time for one case is over: %v", context.Cause(t.ctx))
	}
}

// Setup changes the tester's end of a connection before the handshake.
type Setup func(*Local)

// StartPSN sets the first PSN of the tester's requests.
func StartPSN(psn bth.PSN) Setup { return func(l *Local) { l.PSN = psn } }

// Memory offers a region of n bytes to the device.
func Memory(n uint64) Setup { return func(l *Local) { l.Length = n } }

// Reads sets the number of READs and atomics that the tester executes at a time.
func Reads(n uint8) Setup { return func(l *Local) { l.Reads = n } }

// AckTimeout sets the timeout of the device's requests to 4.096 µs * 2^exponent.
func AckTimeout(exponent uint8) Setup { return func(l *Local) { l.AckTimeout = exponent } }

// Retries sets how often the device repeats requests, 0 to 7: after timeouts and NAKs, and after
// RNR NAKs. Only rdma_cm transfers it.
func Retries(n, rnr uint8) Setup { return func(l *Local) { l.Retries, l.RNRRetries = n, rnr } }

// Connect opens the program of the case and connects to it.
func (t *T) Connect(setup ...Setup) *Conn { return t.ConnectTo(t.c.Program, setup...) }

// ConnectTo opens a program and connects to it.
func (t *T) ConnectTo(p Program, setup ...Setup) *Conn {
	if p == RPing || p == CMServer {
		return t.ServiceOf(p).Connect(setup...)
	}
	local := t.run.newLocal()
	for _, s := range setup {
		s(&local)
	}
	c := t.newConn(p, local)
	peer, err := t.run.Device.Open(t.ctx, p, local)
	switch {
	case errors.Is(err, ErrUnsupported):
		t.Unsupported("%v: %v", p, err)
	case err != nil:
		t.noStart("%v: %v", p, err)
	}
	t.opening = opened
	c.peer = peer
	c.Target = peer.Target()
	c.expected = c.Target.PSN
	return c
}

// newConn returns a queue pair of the tester that receives packets.
func (t *T) newConn(p Program, local Local) *Conn {
	c := newConn(t, p, local)
	t.run.register(c)
	t.conns = append(t.conns, c)
	return c
}

// send sends p to the device and returns the time.
func (t *T) send(to netip.Addr, p *wire.Packet) time.Time {
	if p.NeedsRaw() && !t.run.Link.Raw() {
		t.NotRun("%v", wire.ErrRaw)
	}
	at := time.Now()
	b, err := t.run.send(to, p)
	switch {
	case errors.Is(err, wire.ErrUnsendable):
		t.NotRun("%v", err)
	case err != nil:
		t.Inconclusive("sending: %v", err)
	}
	t.log.sent(at, t.run.Link.Local(), to, p, b)
	return at
}

// close ends the programs of the case.
func (t *T) close() {
	for _, c := range t.conns {
		c.Disconnect()
		if c.peer != nil {
			c.peer.Close()
			t.output += c.peer.Output()
		}
		t.run.unregister(c)
	}
	for _, p := range t.services {
		p.Close()
		t.output += p.Output()
	}
}
