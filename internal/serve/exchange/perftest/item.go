package perftest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Sizes of the items on the wire, in bytes.
const (
	VersionLen = 16
	WordLen    = 4
	MTULen     = 2
	FieldLen   = 8 // one field of a Report
)

// Done is what each end sends after the closing Key: the C string "done" with its NUL.
const Done = "done\x00"

// Version is the version that a tool announces, such as "6.06". The numbering differs from that of
// the package perftest.
type Version string

// Announced is the version that gorxe announces: that of the release whose order of exchanges
// Script implements. A peer that receives 6.28 or more also requires a C struct whose layout
// depends on the build of perftest; a peer that receives less than 5.70 rejects the version.
const Announced Version = "6.06"

// OldestPeer is the lowest version of a peer with this exchange.
const OldestPeer = 5.70

// AppendVersion appends the wire form: NUL-padded text. A longer version is truncated.
func AppendVersion(dst []byte, v Version) []byte {
	var b [VersionLen]byte
	copy(b[:VersionLen-1], v)
	return append(dst, b[:]...)
}

// ErrNoVersion does not quote the received bytes, which may be part of a key: errors are logged.
var ErrNoVersion = fmt.Errorf("not a version (%d bytes of NUL-terminated text): is the peer a perftest tool?",
	VersionLen)

// DecodeVersion decodes the wire form: printable text up to the first NUL. Bytes after the NUL
// are ignored, because peers send uninitialized memory there.
func DecodeVersion(b []byte) (Version, error) {
	if len(b) != VersionLen {
		return "", fmt.Errorf("version of %d bytes, want %d", len(b), VersionLen)
	}
	text, _, ok := bytes.Cut(b, []byte{0})
	if !ok || len(text) == 0 {
		return "", ErrNoVersion
	}
	for _, c := range text {
		if c < ' ' || c > '~' {
			return "", ErrNoVersion
		}
	}
	return Version(text), nil
}

// Number returns the version as the number that perftest compares: its leading digits with the
// first decimal point.
func (v Version) Number() float64 {
	end, dot := 0, false
	for end < len(v) && (v[end] >= '0' && v[end] <= '9' || v[end] == '.' && !dot) {
		dot = dot || v[end] == '.'
		end++
	}
	n, _ := strconv.ParseFloat(string(v[:end]), 64)
	return n
}

// AppendWord appends a page or cache line size: 32 bits, big endian.
func AppendWord(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }

// DecodeWord decodes a size, which must be 1 to limit bytes. The limit prevents a peer from making
// this end register excessive memory.
func DecodeWord(b []byte, limit uint32) (uint32, error) {
	if len(b) != WordLen {
		return 0, fmt.Errorf("size of %d bytes, want %d", len(b), WordLen)
	}
	v := binary.BigEndian.Uint32(b)
	if v == 0 || v > limit {
		return 0, fmt.Errorf("size %d is not within 1..%d", v, limit)
	}
	return v, nil
}

// AppendMTU appends a path MTU as its verbs number 1..5 (256..4096 bytes): an ASCII digit and a
// NUL.
func AppendMTU(dst []byte, enum uint8) []byte { return append(dst, '0'+enum, 0) }

// DecodeMTU decodes a path MTU number, which must be 1..5.
func DecodeMTU(b []byte) (uint8, error) {
	if len(b) != MTULen || b[0] < '1' || b[0] > '5' || b[1] != 0 {
		return 0, errors.New("what came is not a path MTU: want a digit 1..5 (256..4096 bytes) and a NUL")
	}
	return b[0] - '0', nil
}

// Report is the result of one end's bandwidth run, exchanged at the end. The server of a
// unidirectional test has measured nothing; stock tools send uninitialized memory there.
type Report struct {
	Size    uint64  // bytes per message
	Iters   uint64  // messages of all queue pairs together
	Peak    float64 // in the unit that the end prints: MiB/s or Gbit/s
	Average float64
	MsgRate float64 // million messages per second
}

// ReportFields is the number of items of a Report.
const ReportFields = 5

// ReportField returns the name of field i.
func ReportField(i int) string {
	return [ReportFields]string{"size", "iterations", "peak", "average", "message rate"}[i]
}

// AppendField appends field i: 64 bits, big endian, an integer or the bits of a double.
func (r *Report) AppendField(dst []byte, i int) []byte {
	v := [ReportFields]uint64{r.Size, r.Iters,
		math.Float64bits(r.Peak), math.Float64bits(r.Average), math.Float64bits(r.MsgRate)}
	return binary.BigEndian.AppendUint64(dst, v[i])
}

// DecodeField decodes field i. Any 64 bits are valid.
func (r *Report) DecodeField(i int, b []byte) error {
	if len(b) != FieldLen {
		return fmt.Errorf("report field of %d bytes, want %d", len(b), FieldLen)
	}
	v := binary.BigEndian.Uint64(b)
	switch i {
	case 0:
		r.Size = v
	case 1:
		r.Iters = v
	case 2:
		r.Peak = math.Float64frombits(v)
	case 3:
		r.Average = math.Float64frombits(v)
	case 4:
		r.MsgRate = math.Float64frombits(v)
	}
	return nil
}
