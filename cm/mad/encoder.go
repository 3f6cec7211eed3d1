package mad

import (
	"encoding/binary"
	"fmt"
)

// FieldError is the error of [Message.Encode] for a value that does not fit its field.
type FieldError struct {
	Message    Attribute
	Field      string // such as "LocalQPN" or "length of ARI"
	Value, Max uint64
}

// Error describes the message, the field and the value.
func (e *FieldError) Error() string {
	return fmt.Sprintf("cm: %s of %s is %d, the maximum is %d", e.Field, e.Message, e.Value, e.Max)
}

// An encoder writes fields into the data of a zeroed MAD, and keeps the error of the first value
// that does not fit. Offsets are those of the IBA's tables: bytes after the MAD header.
type encoder struct {
	data    *[dataLen]byte
	message Attribute
	err     error
}

// fits reports whether v is at most limit. If not, it records the error.
func (e *encoder) fits(field string, v, limit uint64) bool {
	if v > limit && e.err == nil {
		e.err = &FieldError{Message: e.message, Field: field, Value: v, Max: limit}
	}
	return v <= limit
}

func (e *encoder) u8(at int, v uint8)   { e.data[at] = v }
func (e *encoder) u16(at int, v uint16) { binary.BigEndian.PutUint16(e.data[at:], v) }
func (e *encoder) u32(at int, v uint32) { binary.BigEndian.PutUint32(e.data[at:], v) }
func (e *encoder) u64(at int, v uint64) { binary.BigEndian.PutUint64(e.data[at:], v) }

// u24 writes three bytes.
func (e *encoder) u24(at int, field string, v uint32) {
	if e.fits(field, uint64(v), max24) {
		e.data[at], e.data[at+1], e.data[at+2] = byte(v>>16), byte(v>>8), byte(v)
	}
}

// bits writes v, of width bits, into the byte at offset at, above the lowest shift bits.
func (e *encoder) bits(at, shift, width int, field string, v uint8) {
	if e.fits(field, uint64(v), 1<<width-1) {
		e.data[at] |= v << shift
	}
}

// flag writes v into bit shift of the byte at offset at; bit 0 is the lowest.
func (e *encoder) flag(at, shift int, v bool) {
	if v {
		e.data[at] |= 1 << shift
	}
}

// bytes writes p at the start of a field of limit bytes.
func (e *encoder) bytes(at, limit int, field string, p []byte) {
	if e.fits(field, uint64(len(p)), uint64(limit)) {
		copy(e.data[at:], p)
	}
}

// privateData writes p into the rest of the MAD.
func (e *encoder) privateData(at int, p []byte) {
	e.bytes(at, dataLen-at, "length of PrivateData", p)
}

const max24 = 1<<24 - 1

func u24(b []byte) uint32 { return binary.BigEndian.Uint32(b) >> 8 }

// rest returns the bytes from offset at to the end of the MAD, without copying.
func rest(d *[dataLen]byte, at int) []byte { return d[at:dataLen:dataLen] }
