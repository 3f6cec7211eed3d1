package text

import (
	"strings"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fields"
)

const (
	indent    = "         "
	hexColumn = 16                      // bytes per line
	hexWidth  = len("[0000]") + 3*8 + 2 // columns; most fields fit
	nameWidth = 51
)

// details writes the fields of a packet, one per line; with Options.Hex also the bytes of each.
func (w *Writer) details(p *trace.Packet) {
	comments := p.Comments
	if p.Part > 1 && p.Number == w.commented { // write the comments once per frame, which may have thousands of packets
		comments = nil
	}
	w.commented = p.Number
	for _, c := range comments {
		w.s(indent)
		w.start(dim)
		w.s("comment: ")
		w.plain(c)
		w.stop()
		w.b = append(w.b, '\n')
	}
	w.fields = fields.Append(w.fields[:0], p)
	header := ""
	for i := range w.fields {
		f := &w.fields[i]
		group := f.Header != fields.Payload && f.Header != fields.ICRC
		if group && f.Header != header {
			w.s(indent)
			if w.o.Hex {
				w.fill(len(w.b), hexWidth)
			}
			w.start(cyan)
			w.s(f.Header)
			w.stop()
			w.b = append(w.b, '\n')
		}
		header = f.Header
		w.field(p, f, group)
	}
}

// field writes a field, indented if it is below a header.
func (w *Writer) field(p *trace.Packet, f *fields.Field, inGroup bool) {
	w.s(indent)
	if w.o.Hex {
		w.start(dim)
		from := len(w.b)
		if f.Len > 0 && f.Header != fields.Payload && f.Name != fields.PrivateData {
			w.offset(f.Offset)
			w.bytes(p.Bytes[f.Offset:][:min(f.Len, hexColumn)])
			if f.Len > hexColumn {
				w.s(" ...")
			}
		}
		w.fill(from, hexWidth)
		w.stop()
	}
	from := len(w.b)
	if inGroup {
		w.s("  ")
	}
	w.s(f.Name)
	w.fill(from, nameWidth)
	w.s(" ")
	w.plain(f.Value)
	w.b = append(w.b, '\n')
}

// fill appends spaces until the text since offset from has width columns. The text must be ASCII.
func (w *Writer) fill(from, width int) {
	for len(w.b)-from < width {
		w.b = append(w.b, ' ')
	}
}

func (w *Writer) offset(n int) {
	const alphabet = "0123456789abcdef"
	w.b = append(w.b, '[', alphabet[n>>12&15], alphabet[n>>8&15], alphabet[n>>4&15], alphabet[n&15], ']')
}

func (w *Writer) bytes(b []byte) {
	const alphabet = "0123456789abcdef"
	for _, c := range b {
		w.b = append(w.b, ' ', alphabet[c>>4], alphabet[c&15])
	}
}

// payload writes a hex dump of the payload, with offsets in the packet.
func (w *Writer) payload(p *trace.Packet) {
	b := p.BTH.Payload
	at := p.BTH.Opcode.Info().HeaderLen
	for len(b) > 0 {
		n := min(hexColumn, len(b))
		w.s(indent)
		w.s("  ")
		from := len(w.b)
		w.offset(at)
		w.bytes(b[:n])
		w.fill(from, len("[0000]")+3*hexColumn)
		w.s("  ")
		for _, c := range b[:n] {
			if c < ' ' || c >= 0x7f {
				c = '.'
			}
			w.b = append(w.b, c)
		}
		w.b = append(w.b, '\n')
		b, at = b[n:], at+n
	}
}

// trimmed removes package prefixes from an error text.
func trimmed(s string) string {
	for _, name := range []string{"bth: packet refused: ", "cm: ", "bth: "} {
		s = strings.ReplaceAll(s, name, "")
	}
	return s
}
