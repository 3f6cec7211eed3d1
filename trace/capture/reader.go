package capture

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxFrame is the maximum length of a captured frame in bytes, as in tcpdump and Wireshark.
const maxFrame = 1 << 18

// Reader reads a capture: pcap with timestamps in microseconds or nanoseconds, in either byte
// order, or pcapng with any number of sections and up to 65,536 interfaces per section. Either
// may be compressed with gzip.
type Reader struct {
	src    *source
	format format
	frames int
	err    error
}

// format is a file format.
type format interface {
	// next reads a frame, except its number. at is the offset of the frame's record. The error is
	// io.EOF at the end of the file.
	next(f *Frame) (at int64, err error)
}

// Open starts to read a capture. It blocks until the first bytes of r are available, and reads no
// further than the frames require, so r may be a pipe that is still being written.
func Open(r io.Reader) (*Reader, error) {
	src := newSource(r)
	if b, _ := src.r.Peek(2); len(b) == 2 && b[0] == 0x1f && b[1] == 0x8b {
		z, err := gzip.NewReader(src.r)
		if err != nil {
			return nil, fmt.Errorf("capture: it begins like a gzip file: %w", err)
		}
		src = newSource(z)
	}
	magic, err := src.r.Peek(4)
	if len(magic) < 4 {
		if err == io.EOF {
			return nil, fmt.Errorf("capture: only %d bytes: too short for a pcap or pcapng header", len(magic))
		}
		return nil, fmt.Errorf("capture: %w", err)
	}
	f, err := openFormat(src, [4]byte(magic))
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	return &Reader{src: src, format: f}, nil
}

func openFormat(src *source, magic [4]byte) (format, error) {
	if magic == [4]byte{0x0a, 0x0d, 0x0d, 0x0a} {
		return &pcapng{src: src}, nil
	}
	for _, m := range pcapMagics {
		if m.magic == magic {
			return openPcap(src, m)
		}
	}
	for _, o := range otherFiles {
		if bytes.HasPrefix(magic[:], o.magic) {
			return nil, fmt.Errorf("this is %s: %s", o.what, o.advice)
		}
	}
	return nil, fmt.Errorf("unknown format: starts with %x; expected pcap or pcapng, optionally gzip-compressed", magic)
}

// otherFiles are formats that are commonly mistaken for supported captures.
var otherFiles = []struct {
	magic        []byte
	what, advice string
}{
	{[]byte{0x28, 0xb5, 0x2f, 0xfd}, "a file compressed with zstd",
		"decompress it with 'zstd -dc FILE | gorxe trace -'"},
	{[]byte{0x04, 0x22, 0x4d, 0x18}, "a file compressed with lz4", "decompress it with 'lz4 -dc FILE | gorxe trace -'"},
	{[]byte{0xfd, '7', 'z', 'X'}, "a file compressed with xz", "decompress it with 'xz -dc FILE | gorxe trace -'"},
	{[]byte("BZh"), "a file compressed with bzip2", "decompress it with 'bzip2 -dc FILE | gorxe trace -'"},
	{[]byte("snoo"), "a capture of snoop", "convert it with 'editcap -F pcapng'"},
	{[]byte{0x34, 0xcd, 0xb2, 0xa1}, "a pcap of an old, patched libpcap", "convert it with 'editcap -F pcapng'"},
	{[]byte{0xa1, 0xb2, 0xcd, 0x34}, "a pcap of an old, patched libpcap", "convert it with 'editcap -F pcapng'"},
}

// Next reads the next frame into f. It returns io.EOF at the end, and a [*ReadError] if the rest
// of the capture cannot be read; all frames before are valid. f.Data is valid until the next
// call.
func (r *Reader) Next(f *Frame) error {
	if r.err != nil {
		return r.err
	}
	at, err := r.format.next(f)
	switch {
	case err == nil:
		r.frames++
		f.Number = r.frames
	case errors.Is(err, io.EOF):
		r.err = io.EOF
	default:
		r.err = &ReadError{Frame: r.frames + 1, Offset: at, Err: err}
	}
	return r.err
}

// Frames iterates over the remaining frames, each valid until the next. If the capture cannot be
// read, the last iteration has a nil frame and the error of Next.
func (r *Reader) Frames() iter.Seq2[*Frame, error] {
	return func(yield func(*Frame, error) bool) {
		var f Frame
		for {
			switch err := r.Next(&f); {
			case err == io.EOF:
				return
			case err != nil:
				yield(nil, err)
				return
			case !yield(&f, nil):
				return
			}
		}
	}
}

// ReadError reports where and why a capture cannot be read.
type ReadError struct {
	Frame  int   // number of the frame that could not be read
	Offset int64 // offset of its record in the uncompressed file
	Err    error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("capture: frame %d, at byte %d: %v", e.Frame, e.Offset, e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }

// incomplete returns the error for a record of which only got of want bytes could be read; err is
// the error of source.take or source.skip.
func incomplete(what string, got, want int, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return truncated(fmt.Sprintf(
			"the file ends inside %s (%d of %d bytes are there): it was cut off, or its writer has not finished",
			what, got, want))
	}
	return fmt.Errorf("%s: %w", what, err)
}

// truncated is an error text that wraps io.ErrUnexpectedEOF.
type truncated string

func (t truncated) Error() string { return string(t) }
func (truncated) Unwrap() error   { return io.ErrUnexpectedEOF }
