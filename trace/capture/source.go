package capture

import (
	"bufio"
	"io"
)

// bufferLen is the buffer size of a capture, and the maximum length of a record.
const bufferLen = 1 << 20

// source reads the bytes of a capture.
type source struct {
	r    *bufio.Reader
	at   int64 // offset of the next byte
	held int   // bytes returned by the last take, still in the buffer
}

func newSource(r io.Reader) *source { return &source{r: bufio.NewReaderSize(r, bufferLen)} }

// take returns the next n bytes, at most bufferLen, which are valid until the next call. If fewer
// are left, it returns these with io.ErrUnexpectedEOF or the reader's error; if none are left,
// io.EOF.
func (s *source) take(n int) ([]byte, error) {
	s.release()
	b, err := s.r.Peek(n)
	s.held = len(b)
	s.at += int64(len(b))
	if err == io.EOF && len(b) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// skip discards n bytes.
func (s *source) skip(n int64) error {
	s.release()
	m, err := io.CopyN(io.Discard, s.r, n)
	s.at += m
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// release discards the bytes that the last take returned.
func (s *source) release() {
	_, _ = s.r.Discard(s.held) // cannot fail: the bytes are buffered
	s.held = 0
}

// order is the byte order of a capture.
type order bool

const bigEndian order = true

func (o order) u16(b []byte) uint16 {
	if o == bigEndian {
		return uint16(b[0])<<8 | uint16(b[1])
	}
	return uint16(b[1])<<8 | uint16(b[0])
}

func (o order) u32(b []byte) uint32 {
	if o == bigEndian {
		return uint32(o.u16(b))<<16 | uint32(o.u16(b[2:]))
	}
	return uint32(o.u16(b[2:]))<<16 | uint32(o.u16(b))
}

func (o order) u64(b []byte) uint64 {
	if o == bigEndian {
		return uint64(o.u32(b))<<32 | uint64(o.u32(b[4:]))
	}
	return uint64(o.u32(b[4:]))<<32 | uint64(o.u32(b))
}
