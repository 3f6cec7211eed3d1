package ulp

import (
	"errors"
	"fmt"
	"strconv"
)

// Errors of [PDU.Decode] and [PDU.DecodePrivate]: the SEND is not a PDU of the protocol, or too
// little of it was captured.
var (
	ErrShort  = errors.New("ulp: payload ends within the header")
	ErrHeader = errors.New("ulp: payload does not begin with a header of the protocol")
)

// Field is a header field of a SEND.
type Field struct {
	Header      string // such as "NVMe command"
	Name        string // name in the specification
	Offset, Len int    // bytes, from the beginning of the payload
	Value       string // formatted
}

// UnknownLen is the length of a SEND of several packets whose last packet was not captured so far.
const UnknownLen = 1<<31 - 1

// AppendFields appends the header fields of a SEND to dst, in wire order: those that
// [PDU.Decode] reads from the same bytes. Fields of less than a byte share the byte with others.
func AppendFields(dst []Field, proto Protocol, c Context, b []byte, n int) []Field {
	var p PDU
	r := reader{b: b, n: n, record: true, fields: dst}
	_ = p.decode(proto, c, &r) // the fields before an error are valid
	return r.fields
}

// reader reads the fields of a header, and records them if it is for AppendFields. Its methods
// return 0 for a field that was not captured.
type reader struct {
	b      []byte // captured bytes
	n      int    // bytes on the wire
	header string
	record bool
	fields []Field
}

// under begins a header.
func (r *reader) under(header string) { r.header = header }

// has reports whether the first n bytes were captured.
func (r *reader) has(n int) bool { return n >= 0 && len(r.b) >= n }

// u8 reads a byte.
func (r *reader) u8(at int, name string) uint8 { return uint8(r.be(at, 1, name)) }

// be reads a big-endian number of size bytes.
func (r *reader) be(at, size int, name string) uint64 { return r.number(at, size, name, false, false) }

// xbe is be, recorded in hexadecimal.
func (r *reader) xbe(at, size int, name string) uint64 { return r.number(at, size, name, false, true) }

// le reads a little-endian number of size bytes.
func (r *reader) le(at, size int, name string) uint64 { return r.number(at, size, name, true, false) }

// xle is le, recorded in hexadecimal.
func (r *reader) xle(at, size int, name string) uint64 { return r.number(at, size, name, true, true) }

func (r *reader) number(at, size int, name string, little, hex bool) (v uint64) {
	if at < 0 || at > len(r.b)-size {
		return 0
	}
	for i := range size {
		if little {
			v |= uint64(r.b[at+i]) << (8 * i)
		} else {
			v = v<<8 | uint64(r.b[at+i])
		}
	}
	if r.record && name != "" {
		value := strconv.FormatUint(v, 10)
		if hex {
			value = fmt.Sprintf("0x%0*x", 2*size, v)
		}
		r.fields = append(r.fields, Field{r.header, name, at, size, value})
	}
	return v
}

// means adds the meaning of the latest field to its recorded value.
func (r *reader) means(text string) {
	if i := len(r.fields) - 1; r.record && i >= 0 && text != "" {
		r.fields[i].Value += " (" + text + ")"
	}
}

// zero reports whether the captured bytes in [from, to) are zero.
func (r *reader) zero(from, to int) bool {
	for _, c := range r.b[min(from, len(r.b)):min(to, len(r.b))] {
		if c != 0 {
			return false
		}
	}
	return true
}

// Decode parses b, the captured beginning of a SEND of n bytes (or UnknownLen), as a PDU of the
// protocol. It returns ErrShort or ErrHeader if b is none. It keeps no reference to b and does not
// allocate.
func (p *PDU) Decode(proto Protocol, c Context, b []byte, n int) error {
	return p.decode(proto, c, &reader{b: b, n: n})
}

func (p *PDU) decode(proto Protocol, c Context, r *reader) error {
	*p = PDU{Protocol: proto}
	switch proto {
	case NVMe:
		return p.nvme(c, r)
	case ISER:
		return p.iser(r)
	case SMBDirect:
		return p.smbDirect(c, r)
	case NFS:
		return p.rpcRDMA(r)
	}
	return ErrHeader
}
