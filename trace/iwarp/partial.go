package iwarp

import (
	"encoding/binary"
	"hash/crc32"
)

// partial checks the CRC of an FPDU that spans segments. FPDUs whose headers span segments are not
// checked.
type partial struct {
	active bool
	next   uint32 // sequence number of the next byte of the FPDU
	left   int    // bytes of the FPDU from next on
	sum    uint32 // CRC of the bytes before next
	wire   [crcLen]byte
}

// begin starts with the FPDU of n bytes that b, at seq, begins with. It does nothing if b contains
// the whole FPDU, or if the end of the segment was not captured.
func (p *partial) begin(b []byte, n int, seq uint32, truncated bool) {
	*p = partial{active: len(b) < n && !truncated, next: seq, left: n}
	if p.active {
		p.add(b)
	}
}

// add adds the next bytes of the FPDU, at most left.
func (p *partial) add(b []byte) {
	body := min(len(b), max(0, p.left-crcLen))
	p.sum = crc32.Update(p.sum, castagnoli, b[:body])
	p.left -= body
	if rest := b[body:]; len(rest) > 0 {
		copy(p.wire[crcLen-p.left:], rest)
		p.left -= len(rest)
	}
	p.next += uint32(len(b))
}

// rest adds the first n payload bytes of s, which precede the next FPDU boundary. It returns the
// result of the CRC check if the FPDU ends in them, else NotChecked.
func (c *conn) rest(dir int, s *Segment, n int) CRC {
	p := &c.dirs[dir].open
	if !p.active || s.Seq != p.next {
		return NotChecked // headers in several segments, or a repeated segment
	}
	n = min(n, s.Len)
	if n > len(s.Data) || n > p.left {
		p.active = false
		return NotChecked
	}
	p.add(s.Data[:n])
	if p.left > 0 {
		return NotChecked
	}
	p.active = false
	v := Wrong
	if p.sum == binary.LittleEndian.Uint32(p.wire[:]) {
		v = Right
	}
	return c.verdict(dir, v)
}
