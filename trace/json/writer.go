package json

import (
	"encoding/json"
	"io"

	"github.com/gorxe/gorxe/trace"
)

// Writer writes objects to an [io.Writer], each with one Write that ends with a newline. It
// buffers nothing between objects. It is an output of a [trace.Pipeline]. It escapes characters
// that are not graphic, so that text from a capture cannot control a terminal.
type Writer struct {
	// Payload adds the bytes of payloads and of CM private data to packets.
	Payload bool

	w   io.Writer
	enc *json.Encoder
}

// NewWriter returns a Writer to w. Writes are small: pass a buffered writer, unless each line
// must be visible at once.
func NewWriter(w io.Writer) *Writer {
	enc := json.NewEncoder(&escaper{w: w})
	enc.SetEscapeHTML(false)
	return &Writer{w: w, enc: enc}
}

// Packet writes a packet. It returns the error of the underlying writer.
func (w *Writer) Packet(p *trace.Packet) error { return w.enc.Encode(packetOf(p, w.Payload)) }

// Message writes a message. Its contents are final if the message is Done or Failed, or the
// capture ended.
func (w *Writer) Message(m *trace.Message) error { return w.enc.Encode(messageOf(m)) }

// Flow writes a flow. Its contents are final if the capture ended.
func (w *Writer) Flow(f *trace.Flow) error { return w.enc.Encode(flowOf(f)) }

// Object writes v as one line. [Schema] describes the objects of packages series, latency,
// congestion and summary.
func (w *Writer) Object(v any) error { return w.enc.Encode(v) }

// Flush flushes the underlying writer, if that has a Flush method like [bufio.Writer].
func (w *Writer) Flush() error {
	if f, ok := w.w.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}
