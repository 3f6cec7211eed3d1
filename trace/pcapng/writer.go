// Package pcapng writes frames as pcapng, with comments that explain them in Wireshark.
package pcapng

import (
	"encoding/binary"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/gorxe/gorxe/trace/capture"
)

// Options are descriptions for the file header.
type Options struct {
	Application string // program that writes the file, with its version
	Description string // description of the interfaces
}

// Writer writes frames. It buffers output until Flush or until there are 64 KiB.
type Writer struct {
	w      io.Writer
	o      Options
	b      []byte
	ifaces map[iface]uint32
	err    error
}

// iface identifies an interface of the file: one for each name and link type.
type iface struct {
	name string
	link capture.LinkType
}

const (
	flushAt    = 1 << 16
	maxOption  = math.MaxUint16
	blockFrame = 6
	blockIface = 1
	blockStart = 0x0a0d0d0a

	optEnd         = 0
	optComment     = 1
	optApplication = 4
	optIfaceName   = 2
	optDescription = 3
	optResolution  = 9
	optFlags       = 2

	nanoseconds = 9
)

var le = binary.LittleEndian

// NewWriter returns a Writer to w. The file header is written first.
func NewWriter(w io.Writer, o Options) *Writer {
	n := &Writer{w: w, o: o, b: make([]byte, 0, 2*flushAt), ifaces: map[iface]uint32{}}
	at := n.begin(blockStart)
	n.b = le.AppendUint32(n.b, 0x1a2b3c4d)     // byte order
	n.b = le.AppendUint32(n.b, 1)              // version 1.0
	n.b = le.AppendUint64(n.b, math.MaxUint64) // length of the section: not known
	n.option(optApplication, n.o.Application)
	n.end(at)
	return n
}

// Frame writes f with its comments followed by more. It keeps no reference to f.
func (w *Writer) Frame(f *capture.Frame, more ...string) error {
	id := w.iface(f)
	at := w.begin(blockFrame)
	ts := uint64(0)
	if f.Time.Unix() > 0 { // frames of simple packet blocks have no time
		ts = uint64(f.Time.UnixNano())
	}
	for _, v := range [...]uint32{id, uint32(ts >> 32), uint32(ts), uint32(len(f.Data)),
		uint32(max(f.Length, len(f.Data)))} {
		w.b = le.AppendUint32(w.b, v)
	}
	w.b = append(w.b, f.Data...)
	w.pad()
	start := len(w.b)
	for _, c := range f.Comments {
		w.option(optComment, c)
	}
	for _, c := range more {
		w.option(optComment, c)
	}
	if f.Direction != capture.Unknown {
		w.b = append(w.b, optFlags, 0, 4, 0, byte(f.Direction), 0, 0, 0) // inbound is 1, outbound 2
	}
	if len(w.b) > start {
		w.b = append(w.b, optEnd, 0, 0, 0)
	}
	w.end(at)
	if len(w.b) >= flushAt {
		return w.Flush()
	}
	return w.err
}

// iface returns the ID of the frame's interface. It writes the interface's description before its
// first frame.
func (w *Writer) iface(f *capture.Frame) uint32 {
	key := iface{f.Interface, f.Link}
	id, ok := w.ifaces[key]
	if ok {
		return id
	}
	id = uint32(len(w.ifaces))
	w.ifaces[key] = id
	at := w.begin(blockIface)
	w.b = le.AppendUint16(w.b, uint16(f.Link))
	w.b = append(w.b, 0, 0, 0, 0, 0, 0) // reserved; no snap length limit
	w.option(optIfaceName, f.Interface)
	w.option(optDescription, w.o.Description)
	w.b = append(w.b, optResolution, 0, 1, 0, nanoseconds, 0, 0, 0, optEnd, 0, 0, 0)
	w.end(at)
	return id
}

// Buffered returns the number of buffered bytes.
func (w *Writer) Buffered() int { return len(w.b) }

// Flush writes buffered output. It returns the first error of the underlying writer, also in all
// later calls.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.b) > 0 {
		_, w.err = w.w.Write(w.b)
	}
	w.b = w.b[:0]
	return w.err
}

// begin starts a block and returns its offset in the buffer.
func (w *Writer) begin(kind uint32) (at int) {
	at = len(w.b)
	w.b = le.AppendUint32(w.b, kind)
	w.b = le.AppendUint32(w.b, 0)
	return at
}

// end completes the block at offset at with its length at both ends.
func (w *Writer) end(at int) {
	n := uint32(len(w.b) - at + 4)
	le.PutUint32(w.b[at+4:], n)
	w.b = le.AppendUint32(w.b, n)
}

func (w *Writer) pad() {
	for len(w.b)%4 != 0 {
		w.b = append(w.b, 0)
	}
}

// option appends a text option, unless text is empty. It truncates text to the maximum length.
func (w *Writer) option(code uint16, text string) {
	if text == "" {
		return
	}
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) > maxOption {
		n := maxOption
		for !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	w.b = le.AppendUint16(w.b, code)
	w.b = le.AppendUint16(w.b, uint16(len(text)))
	w.b = append(w.b, text...)
	w.pad()
}
