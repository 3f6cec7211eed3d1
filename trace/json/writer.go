package json

import (
	"encoding/json"
	"io"

	"github.com/gorxe/gorxe/trace"
)

// Writer writes objects to an [io.Writer], each by one Write that ends with a newline. No control character is in it as it is. It keeps nothing between them. It is an
// output of a [trace.Pipeline].
type Writer struct {
	// Payload adds the bytes of payloads, and of the private data of the connection manager, to packets.
	Payload bool

	w   io.Writer
	enc *json.Encoder
}

// NewWriter returns a Writer to w. Writes are small: give it a buffered writer where speed matters more than that each line is there
// at once.
func NewWriter(w io.Writer) *Writer {
	enc := json.NewEncoder(&escaping{w: w})
	enc.SetEscapeHTML(false)
	return &Writer{w: w, enc: enc}
}

// Packet writes a packet. The error is that of the writer below.
func (w *Writer) Packet(p *trace.Packet) error { return w.enc.Encode(packetOf(p, w.Payload)) }

// Message writes a message. What it says is final once the message is Done or Failed, or the capture has ended.
func (w *Writer) Message(m *trace.Message) error { return w.enc.Encode(messageOf(m)) }

// Flow writes a flow. What it says is final when the capture has ended.
func (w *Writer) Flow(f *trace.Flow) error { return w.enc.Encode(flowOf(f)) }

// Flush flushes the writer below, where that has a method Flush as [bufio.Writer] has.
func (w *Writer) Flush() error {
	if f, ok := w.w.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}
