package pcapng

import (
	"fmt"
	"io"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// Packets writes the frames of packets. It adds comments to them: the meaning of each packet and
// its findings. It is an output of a [trace.Pipeline].
//
// Comments and findings refer to frames by their numbers in the capture. These equal the numbers
// in the written file if every frame is written; other frames get a comment with their original
// number.
type Packets struct {
	w       *Writer
	written int
	frame   capture.Frame // current frame, not yet written
	data    []byte        // buffer of frame.Data
	notes   []string      // comments to add to frame
}

// NewPackets returns a Packets that writes to w.
func NewPackets(w io.Writer, o Options) *Packets { return &Packets{w: NewWriter(w, o)} }

// Packet adds a packet with its frame. All packets of a frame must be added consecutively.
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

// Frame adds a frame, which may have no packets.
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

// flush writes the current frame.
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

// Flush writes everything added so far. It returns the first error of the underlying writer.
func (w *Packets) Flush() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.w.Flush()
}
