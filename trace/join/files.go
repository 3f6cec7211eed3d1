package join

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gorxe/gorxe/trace/capture"
)

// Input is a capture that can be opened several times.
type Input struct {
	Name string
	Open func() (io.ReadCloser, error)
}

const (
	// maxOpen is the maximum number of captures that overlap in time. Each open one buffers up to
	// 2 MiB.
	maxOpen = 32
	// maxRanges is the maximum number of [Range] values of a [Files].
	maxRanges = 1024
)

// Files reads captures as one, in order of time: the next frame is the one with the lowest time of
// all captures. Frames of one capture stay in their order. Numbers of frames count on over all
// captures; Ranges has the captures that they belong to. Files opens a capture when its first frame
// is due and closes it after its last one.
type Files struct {
	waiting []*file // in order of time, without those that are open
	open    []*file // with their next frame read
	last    *file   // file of the frame that Next returned, whose next frame is not read yet
	frames  int
	ranges  []Range
	left    bool // ranges has not all ranges
	errs    []error
}

// Range is a run of frames that come from the same capture.
type Range struct {
	Name        string
	First, Last int // frame numbers of Files
	Own         int // frame number of First in the capture
}

// file is one capture of a Files.
type file struct {
	in    Input
	begin time.Time // time of the first frame
	close io.Closer
	r     *capture.Reader
	next  capture.Frame
}

// NewFiles returns the captures of in as one. It reads the first frame of each. Captures without
// frames are left out. An error names the capture.
func NewFiles(in []Input) (*Files, error) {
	s := &Files{}
	for _, i := range in {
		f := &file{in: i}
		err := f.start()
		if err == nil {
			f.begin = f.next.Time
			s.waiting = append(s.waiting, f)
		}
		if e := f.stop(); err == nil || errors.Is(err, io.EOF) {
			err = e
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(s.waiting, func(a, b *file) int { return a.begin.Compare(b.begin) })
	return s, nil
}

// start opens the capture and reads its first frame. At the end of an empty one it returns io.EOF.
func (f *file) start() error {
	c, err := f.in.Open()
	if err != nil {
		return err
	}
	f.close = c
	if f.r, err = capture.Open(c); err != nil {
		return fmt.Errorf("%s: %w", f.in.Name, err)
	}
	return f.advance()
}

// advance reads the next frame.
func (f *file) advance() error {
	err := f.r.Next(&f.next)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: %w", f.in.Name, err)
	}
	return err
}

// stop closes the capture.
func (f *file) stop() error {
	if f.close == nil {
		return nil
	}
	err := f.close.Close()
	f.close, f.r = nil, nil
	return err
}

// Next reads the next frame into f. If a capture is damaged, the others are read on; Next returns
// the errors instead of io.EOF at the end.
func (s *Files) Next(f *capture.Frame) error {
	if s.last != nil {
		s.advance(s.last)
		s.last = nil
	}
	if err := s.fill(); err != nil {
		return err
	}
	if len(s.open) == 0 {
		return cmp.Or(errors.Join(s.errs...), io.EOF)
	}
	first := s.open[0]
	for _, o := range s.open[1:] {
		if o.next.Time.Before(first.next.Time) {
			first = o
		}
	}
	s.frames++
	s.note(first)
	*f = first.next
	f.Number = s.frames
	s.last = first
	return nil
}

// advance reads the next frame of o and closes o at its end.
func (s *Files) advance(o *file) {
	err := o.advance()
	if err == nil {
		return
	}
	if !errors.Is(err, io.EOF) {
		s.errs = append(s.errs, err)
	}
	if err := o.stop(); err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s: %w", o.in.Name, err))
	}
	s.open = slices.DeleteFunc(s.open, func(x *file) bool { return x == o })
}

// fill opens the captures whose first frame may be the next one.
func (s *Files) fill() error {
	for len(s.waiting) > 0 {
		f := s.waiting[0]
		if len(s.open) > 0 && !slices.ContainsFunc(s.open, func(o *file) bool { return !o.next.Time.Before(f.begin) }) {
			return nil
		}
		if len(s.open) >= maxOpen {
			return fmt.Errorf("%s: more than %d captures overlap in time; merge some with mergecap first",
				f.in.Name, maxOpen)
		}
		s.waiting = s.waiting[1:]
		if err := f.start(); err != nil {
			s.errs = append(s.errs, err, f.stop())
			continue
		}
		s.open = append(s.open, f)
	}
	return nil
}

// note adds the next frame, which is the one of o, to the ranges.
func (s *Files) note(o *file) {
	if n := len(s.ranges); n > 0 {
		l := &s.ranges[n-1]
		if l.Name == o.in.Name && !s.left && l.Own+s.frames-l.First == o.next.Number {
			l.Last = s.frames
			return
		}
	}
	if len(s.ranges) >= maxRanges {
		s.left = true
		return
	}
	s.ranges = append(s.ranges, Range{o.in.Name, s.frames, s.frames, o.next.Number})
}

// Ranges returns the captures that the frames so far come from. all reports whether these are all
// ranges; there are more than the limit if captures overlap in time.
func (s *Files) Ranges() (ranges []Range, all bool) { return s.ranges, !s.left }

// Close closes all captures that are open.
func (s *Files) Close() error {
	var errs []error
	for _, o := range s.open {
		errs = append(errs, o.stop())
	}
	s.open, s.waiting, s.last = nil, nil, nil
	return errors.Join(errs...)
}
