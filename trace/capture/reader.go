package capture

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxFrame is the longest frame that a capture may hold, in bytes: that of tcpdump and Wireshark.
const maxFrame = 1 << 18

// Reader reads a capture: pcap with timestamps in microseconds or nanoseconds, in both byte orders, or pcapng with any number
// of sections and interfaces; either may be compressed with gzip.
type Reader struct {
	src    *source
	format format
	frames int
	err    error
}

// format is a kind of file.
type format interface {
	// next reads a frame, without its number. It returns io.EOF at the end of the file, and the offset at which the record
	// of the frame begins.
	next(f *Frame) (at int64, err error)
}

// Open begins to read a capture. It waits for the first bytes of r and reads no more of it than the frames need, so that a
// pipe may still be written to.
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
			return nil, fmt.Errorf("capture: it has %d bytes: a pcap or pcapng file begins with a header", len(magic))
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
	return nil, fmt.Errorf("it begins with the bytes %x, and is neither pcap nor pcapng nor one of them in gzip", magic)
}

// otherFiles are what people take for captures, or make of them.
var otherFiles = []struct {
	magic        []byte
	what, advice string
}{
	{[]byte{0x28, 0xb5, 0x2f, 0xfd}, "a file compressed with zstd", "decompress it with 'zstd -dc FILE | gorxe trace -'"},
	{[]byte{0x04, 0x22, 0x4d, 0x18}, "a file compressed with lz4", "decompress it with 'lz4 -dc FILE | gorxe trace -'"},
	{[]byte{0xfd, '7', 'z', 'X'}, "a file compressed with xz", "decompress it with 'xz -dc FILE | gorxe trace -'"},
	{[]byte("BZh"), "a file compressed with bzip2", "decompress it with 'bzip2 -dc FILE | gorxe trace -'"},
	{[]byte("snoo"), "a capture of snoop", "convert it with 'editcap -F pcapng'"},
	{[]byte{0x34, 0xcd, 0xb2, 0xa1}, "a pcap of an old, patched libpcap", "convert it with 'editcap -F pcapng'"},
	{[]byte{0xa1, 0xb2, 0xcd, 0x34}, "a pcap of an old, patched libpcap", "convert it with 'editcap -F pcapng'"},
}

// Next reads the next frame into f. It returns io.EOF at the end, and a [*ReadError] where the capture cannot be read on;
// all frames before that were right.
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

// Frames are the frames that are left, each valid until the next. A capture that cannot be read on ends with the error of
// Next and no frame.
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

// ReadError says where and why a capture cannot be read on.
type ReadError struct {
	Frame  int   // number of the frame that would have been next
	Offset int64 // of its record in bytes from the beginning, uncompressed
	Err    error
}

func (e *ReadError) Error() string {
	return fmt.Sprintf("capture: frame %d, at byte %d: %v", e.Frame, e.Offset, e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }

// incomplete makes an error of what source.take and skip return in the middle of a record: got of want bytes were there.
func incomplete(what string, got, want int, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return truncated(fmt.Sprintf("the file ends inside %s (%d of %d bytes are there): it was cut off, or its writer has not finished",
			what, got, want))
	}
	return fmt.Errorf("%s: %w", what, err)
}

// truncated is what an io.ErrUnexpectedEOF means.
type truncated string

func (t truncated) Error() string { return string(t) }
func (truncated) Unwrap() error   { return io.ErrUnexpectedEOF }
