package pcapng

import (
	"fmt"
	"io"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// Packets writes the frames of packets with what was found of those as comments: their meaning, and a comment for each finding.
//
// Comments and findings name frames by their numbers in the capture. Those are the file's own as long as every frame is
// written; a frame that has another number says so in a comment.
type Packets struct {
	w       *Writer
	written int
	frame   capture.Frame // the one whose packets come in
	data    []byte
	notes   []string
}

// NewPackets returns a Packets to w.
func NewPackets(w io.Writer, o Options) *Packets { return &Packets{w: NewWriter(w, o)} }

// Packet adds a packet with its frame. The packets of a frame come one after the other.
func (w *Packets) Packet(p *trace.Packet) error {
	err := w.Frame(p.Frame)
	prefix := ""
	if p.Parts > 1 {
		prefix = fmt.Sprintf("packet %d of %d: ", p.Part, p.Parts)
	}
	if p.Meaning != "" {
		w.notes = append(w.notes, prefix+p.Meaning)
	}
	for _, f := range p.Findings {
		w.notes = append(w.notes, fmt.Sprintf("%s%s: %s", prefix, f.Level, f.Text))
	}
	if p.Err != nil && len(p.Findings) == 0 {
		w.notes = append(w.notes, prefix+p.Err.Error())
	}
	return err
}

// Frame adds a frame, which need not have packets.
func (w *Packets) Frame(f *capture.Frame) error {
	if w.frame.Number == f.Number {
		return nil
	}
	err := w.flush()
	w.data = append(w.data[:0], f.Data...)
	w.frame = *f
	w.frame.Data = w.data
	return err
}

// flush writes the frame that is complete.
func (w *Packets) flush() error {
	if w.frame.Number == 0 {
		return nil
	}
	if w.written++; w.written != w.frame.Number {
		w.notes = append(w.notes, fmt.Sprintf("frame %d of the capture that this was taken from", w.frame.Number))
	}
	err := w.w.Frame(&w.frame, w.notes...)
	w.notes = w.notes[:0]
	w.frame.Number = 0
	return err
}

// Flush writes all that was added. It returns the first error of the writer below.
func (w *Packets) Flush() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.w.Flush()
}
