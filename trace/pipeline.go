package trace

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/internal/copies"
)

// Source is a source of frames. Next returns io.EOF after the last frame. [capture.Reader] and
// live.Capture are Sources.
type Source interface {
	Next(*capture.Frame) error
}

// Output receives the packets that a [Pipeline] selects, each valid during the call. An Output may
// implement further methods:
//
//	Begin(time.Time)              is called first, with the time of the first frame
//	Frame(*capture.Frame) error   receives the frames without packets, unless there is a Filter
//	Foreign(*Foreign) error       receives the packets of other fabric protocols, and pause frames,
//	                              unless there is a Filter; Frame receives their frames, too
//	Message(*Message) error       receives each message with a selected packet when it ends
//	Flow(*Flow) error             receives each flow with a selected packet when it ends
//	Flush() error                 writes buffered output; see Pipeline.Flush
//
// The writers of packages text, columns, json, pcapng and html are Outputs.
type Output interface {
	Packet(*Packet) error
}

type (
	beginner      interface{ Begin(time.Time) }
	frameOutput   interface{ Frame(*capture.Frame) error }
	foreignOutput interface{ Foreign(*Foreign) error }
	messageOutput interface{ Message(*Message) error }
	flowOutput    interface{ Flow(*Flow) error }
	flusher       interface{ Flush() error }
)

// Pipeline passes frames through [Decoder], [Analyzer] and a filter to outputs. It is for one
// [Pipeline.Run].
type Pipeline struct {
	// Filter selects packets; nil selects all. The Analyzer also processes packets that are not
	// selected.
	Filter interface{ Match(*Packet) bool }
	// Limit is the number of selected packets after which Run ends; 0 means no limit. Run does not
	// process the rest of the frame.
	Limit uint64
	// Outputs receive the selected packets, in this order. Outputs may be appended before Run.
	Outputs []Output
	// Dedupe leaves out copies of packets; see Packet.Copy. Captures that were merged do not tell
	// where each packet was captured, so with Dedupe a packet is also a copy if it has the same
	// bytes and the same IP identification as an earlier one: within a second, or a millisecond if
	// the sender does not number its datagrams. A packet that the network duplicated is left out,
	// too.
	Dedupe bool
	// Options configure the Analyzer. Their callbacks are called before the outputs, also for
	// messages and flows without a selected packet.
	Options Options

	decoder  Decoder
	analyzer *Analyzer
	frame    capture.Frame
	ended    endings
	copies   Copies
	copied   uint64 // result of Copies
	shown    uint64 // result of Shown
	missing  uint64 // result of Missing
	err      error  // first error of an output
}

// OutputError wraps the error of an Output.
type OutputError struct{ Err error }

// Error returns the error text.
func (e *OutputError) Error() string { return fmt.Sprintf("writing: %v", e.Err) }

// Unwrap returns the error of the Output.
func (e *OutputError) Unwrap() error { return e.Err }

// Run processes the frames of src until src ends, ctx is done or an output fails, and then
// flushes the outputs. A [*capture.ReadError] means that the capture is damaged; everything
// before the damage was processed. An [*OutputError] is the error of an output. Run checks ctx
// between frames.
func (p *Pipeline) Run(ctx context.Context, src Source) error {
	o := p.Options
	p.ended.of = o
	o.Message, o.Flow = p.ended.message, p.ended.flow
	p.analyzer = NewAnalyzer(o)
	p.copies.Merged = p.Dedupe
	if p.Filter == nil {
		p.decoder.Foreign = p.foreign
	}
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
		if p.take(); p.err != nil || p.full() {
			return p.err
		}
	}
}

// take processes the current frame.
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

// full reports whether Limit is reached.
func (p *Pipeline) full() bool { return p.Limit > 0 && p.shown >= p.Limit }

func (p *Pipeline) packet(k *Packet) {
	if p.err != nil || p.full() {
		return
	}
	if k.Copy = p.copies.Original(k); k.Copy == 0 {
		p.analyzer.Add(k)
	} else if p.copied++; p.Dedupe {
		return
	} else {
		p.analyzer.addCopy(k)
	}
	if p.Filter == nil || p.Filter.Match(k) {
		p.show(k)
	}
	p.tellEnded()
}

// Copies recognises packets of a capture that was made at several points, such as interfaces. The
// zero value is ready to use.
type Copies struct {
	// Merged means that the capture points are not known, as after captures were merged: see
	// [Pipeline.Dedupe].
	Merged bool

	table copies.Table
}

// Original returns the number of the frame of which k is a copy, or 0; see [Packet.Copy]. A packet
// without Frame is no copy.
func (c *Copies) Original(k *Packet) int {
	f := k.Frame
	if f == nil {
		return 0
	}
	at := copies.Point{
		Interface: f.InterfaceID, In: k.Direction == capture.Inbound, Out: k.Direction == capture.Outbound,
	}
	if f.Link == capture.LinkLinuxSLL2 && len(f.Data) >= 8 { // the interface index is after type and padding
		at.Interface = int(binary.BigEndian.Uint32(f.Data[4:]))
	}
	return c.table.Original(&copies.Sighting{
		Point: at, Src: k.Src.Addr(), Dst: k.Dst.Addr(), ID: k.IP.ID, Bytes: k.Bytes, Len: k.Len, Frame: k.Number,
		Time: k.Time, Numbered: k.IP.ID > maxReusedID, AnyPoint: c.Merged || f.Link == capture.LinkLinuxSLL,
	})
}

// Copies returns the number of packets that are copies; see Packet.Copy.
func (p *Pipeline) Copies() uint64 { return p.copied }

// Repeated returns the number of packets that would be copies with Dedupe. If it is near half of
// the packets, the capture probably has each packet twice, and Dedupe is needed.
func (p *Pipeline) Repeated() uint64 { return p.copies.table.Repeated }

// foreign passes f to the outputs.
func (p *Pipeline) foreign(f *Foreign) {
	each(p, func(o foreignOutput) error { return o.Foreign(f) })
}

func (p *Pipeline) show(k *Packet) {
	p.shown++
	p.ended.markSelected(k)
	for _, o := range p.Outputs {
		p.failed(o.Packet(k))
	}
}

// Flush makes the outputs write what they buffer, and returns the first error. A Source may call it
// before it blocks.
func (p *Pipeline) Flush() error {
	each(p, flusher.Flush)
	return p.err
}

// Counts returns the totals of the Decoder.
func (p *Pipeline) Counts() Counts { return p.decoder.Counts }

// Protocols returns the protocols of the frames without packets; see [Decoder.Protocols].
func (p *Pipeline) Protocols() []fabric.Count { return p.decoder.Protocols() }

// Shown returns the number of selected packets.
func (p *Pipeline) Shown() uint64 { return p.shown }

// Missing returns the number of packets that are missing from the capture according to the frame
// comments in it, which gorxe writes into its own traces; see [MissingNote].
func (p *Pipeline) Missing() uint64 { return p.missing }

// each calls f for the outputs that implement T, until one fails.
func each[T any](p *Pipeline, f func(T) error) {
	for _, o := range p.Outputs {
		if o, ok := o.(T); ok && p.err == nil {
			p.failed(f(o))
		}
	}
}

// failed records the first error of an output.
func (p *Pipeline) failed(err error) {
	if p.err == nil && err != nil {
		p.err = &OutputError{err}
	}
}

// endings collects the messages and flows that end during the current packet, for the outputs.
// Whether a packet of them was selected is stored in the messages and flows themselves, so that
// this state does not grow with those that never end.
type endings struct {
	of       Options // of the Pipeline; its callbacks are called, too
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

// markSelected marks the message and flow of k as selected. A message that ended before k is not
// reported again.
func (e *endings) markSelected(k *Packet) {
	if k.Message != nil {
		k.Message.selected = true
	}
	if k.Flow != nil {
		k.Flow.selected = true
	}
}

// tellEnded passes to the outputs the messages and flows that have ended since its last call.
func (p *Pipeline) tellEnded() {
	e := &p.ended
	for _, m := range e.messages {
		if m.selected {
			each(p, func(o messageOutput) error { return o.Message(m) })
		}
	}
	for _, f := range e.flows {
		if f.selected {
			each(p, func(o flowOutput) error { return o.Flow(f) })
		}
	}
	clear(e.messages)
	clear(e.flows)
	e.messages, e.flows = e.messages[:0], e.flows[:0]
}
