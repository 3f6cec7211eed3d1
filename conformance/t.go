package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
)

// T is a run of the script of a case. Its methods must be called by the goroutine of the script.
// Those that end the script do not return.
type T struct {
	ctx    context.Context
	run    *Runner
	c      *Case
	log    *Log
	conns  []*Conn
	detail string // of a case that passes
	values []Value
	output string // of the programs
	second wire.Link
}

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
	switch t.c.Level {
	case Should:
		v = Warn
	case Observed:
		v = Measured
	}
	t.end(v, format, args...)
}

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

// Connect opens the program of the case and connects to it.
func (t *T) Connect(setup ...Setup) *Conn { return t.ConnectTo(t.c.Program, setup...) }

// ConnectTo opens a program and connects to it.
func (t *T) ConnectTo(p Program, setup ...Setup) *Conn {
	local := t.run.newLocal()
	for _, s := range setup {
		s(&local)
	}
	c := newConn(t, p, local)
	t.run.register(c)
	t.conns = append(t.conns, c)
	peer, err := t.run.Device.Open(t.ctx, p, local)
	switch {
	case errors.Is(err, ErrUnsupported):
		t.Unsupported("%v: %v", p, err)
	case err != nil:
		t.Inconclusive("%v: %v", p, err)
	}
	c.peer = peer
	c.Target = peer.Target()
	return c
}

// close ends the programs of the case.
func (t *T) close() {
	for _, c := range t.conns {
		if c.peer != nil {
			c.peer.Close()
			t.output += c.peer.Output()
		}
		t.run.unregister(c)
	}
	if t.second != nil {
		t.second.Close()
	}
}
