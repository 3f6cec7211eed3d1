package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gorxe/gorxe/trace/capture"
)

// Source gives frames, io.EOF after the last. [capture.Reader] is one, and so is what package live captures.
type Source interface {
	Next(*capture.Frame) error
}

// Output is shown the packets that a [Pipeline] chooses, each borrowed for the call. It may implement more:
//
//	Begin(time.Time)              gets the time of the first frame before anything else
//	Frame(*capture.Frame) error   gets the frames without packets, unless there is a Filter
//	Message(*Message) error       gets each message of which a packet was chosen when it ends
//	Flow(*Flow) error             the same for flows
//	Flush() error                 writes what is held back; see Pipeline.Flush
//
// The writers of packages text, json, pcapng and html are Outputs.
type Output interface {
	Packet(*Packet) error
}

type (
	beginner      interface{ Begin(time.Time) }
	frameOutput   interface{ Frame(*capture.Frame) error }
	messageOutput interface{ Message(*Message) error }
	flowOutput    interface{ Flow(*Flow) error }
	flusher       interface{ Flush() error }
)

// Pipeline takes frames through [Decoder], [Analyzer] and a filter to outputs. It is for one [Pipeline.Run].
type Pipeline struct {
	// Filter chooses packets; nil chooses all. The Analyzer sees the others as well.
	Filter interface{ Match(*Packet) bool }
	// Outputs get what is chosen, in this order. They may be added until Run.
	Outputs []Output
	// Options are the Analyzer's. Its functions are called before the outputs, for messages and flows that were not
	// chosen, too.
	Options Options

	decoder  Decoder
	analyzer *Analyzer
	frame    capture.Frame
	ended    endings
	shown    uint64
	missing  uint64
	err      error // the first of an output
}

// OutputError is the error of an output.
type OutputError struct{ Err error }

// Error says that writing failed, and why.
func (e *OutputError) Error() string { return fmt.Sprintf("writing: %v", e.Err) }

// Unwrap returns the error of the output.
func (e *OutputError) Unwrap() error { return e.Err }

// Run takes the frames of src through the pipeline, until src ends, ctx does, or an output fails; then it
// flushes the outputs. A [*capture.ReadError] says that the capture cannot be read on; what is before that has been
// shown. An [*OutputError] comes from an output. ctx is looked at between frames.
func (p *Pipeline) Run(ctx context.Context, src Source) error {
	o := p.Options
	p.ended.of = o
	o.Message, o.Flow = p.ended.message, p.ended.flow
	p.analyzer = NewAnalyzer(o)
	err := p.read(ctx, src)
	p.analyzer.Finish()
	p.tellEnded()
	p.Flush()
	if err == nil {
		err = p.err
	}
	return err
}

func (p *Pipeline) read(ctx context.Context, src Source) error {
	for {
		switch err := src.Next(&p.frame); {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if p.take(); p.err != nil {
			return p.err
		}
	}
}

// take shows the packets of the frame in hand.
func (p *Pipeline) take() {
	if p.frame.Number == 1 {
		each(p, func(o beginner) error { o.Begin(p.frame.Time); return nil })
	}
	for _, c := range p.frame.Comments {
		p.missing += Missing(c)
	}
	shown := p.shown
	p.decoder.Decode(&p.frame, p.packet)
	if p.shown == shown && p.Filter == nil {
		each(p, func(o frameOutput) error { return o.Frame(&p.frame) })
	}
}

func (p *Pipeline) packet(k *Packet) {
	if p.err != nil {
		return
	}
	p.analyzer.Add(k)
	if p.Filter == nil || p.Filter.Match(k) {
		p.show(k)
	}
	p.tellEnded()
}

func (p *Pipeline) show(k *Packet) {
	p.shown++
	p.ended.choose(k)
	for _, o := range p.Outputs {
		p.failed(o.Packet(k))
	}
}

// Flush makes the outputs write what they hold back. Call it from the source where that is about to wait for more.
func (p *Pipeline) Flush() error {
	each(p, flusher.Flush)
	return p.err
}

// Counts returns what the Decoder counted.
func (p *Pipeline) Counts() Counts { return p.decoder.Counts }

// Shown returns how many packets were chosen.
func (p *Pipeline) Shown() uint64 { return p.shown }

// Missing returns how many packets are missing in a trace of gorxe's own, according to its comments.
func (p *Pipeline) Missing() uint64 { return p.missing }

// each calls f for the outputs that implement T, until one fails.
func each[T any](p *Pipeline, f func(T) error) {
	for _, o := range p.Outputs {
		if o, ok := o.(T); ok && p.err == nil {
			p.failed(f(o))
		}
	}
}

// failed keeps the first error of an output.
func (p *Pipeline) failed(err error) {
	if p.err == nil && err != nil {
		p.err = &OutputError{err}
	}
}

// endings are the messages and flows that end by the packet in hand: outputs are told of those of which a [Pipeline] chose a
// packet. That is noted in the messages and flows themselves, so that nothing here keeps one that never ends.
type endings struct {
	of       Options // of the pipeline: its functions are called, too
	messages []*Message
	flows    []*Flow
}

func (e *endings) message(m *Message) {
	e.messages = append(e.messages, m)
	if e.of.Message != nil {
		e.of.Message(m)
	}
}

func (e *endings) flow(f *Flow) {
	e.flows = append(e.flows, f)
	if e.of.Flow != nil {
		e.of.Flow(f)
	}
}

// choose notes that k is shown. A message that had ended before k is not told again.
func (e *endings) choose(k *Packet) {
	if k.Message != nil {
		k.Message.chosen = true
	}
	if k.Flow != nil {
		k.Flow.chosen = true
	}
}

// tellEnded hands what has ended since the last call to the outputs.
func (p *Pipeline) tellEnded() {
	e := &p.ended
	for _, m := range e.messages {
		if m.chosen {
			each(p, func(o messageOutput) error { return o.Message(m) })
		}
	}
	for _, f := range e.flows {
		if f.chosen {
			each(p, func(o flowOutput) error { return o.Flow(f) })
		}
	}
	clear(e.messages)
	clear(e.flows)
	e.messages, e.flows = e.messages[:0], e.flows[:0]
}
