package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// Limits of Detect.
const (
	// maxSample is the maximum number of RoCEv2 packets per sample. A sample takes 16 bytes a
	// packet.
	maxSample = 1 << 18
	// sampleMargin is the time before the first frame of the later capture at which the sample of
	// the earlier one begins: the maximum error of both clocks that is expected.
	sampleMargin = time.Second
	// minShared is the number of packets in both samples that shows captures of the same traffic.
	minShared = 16
)

// Relation is how two captures relate.
type Relation struct {
	// Same reports whether both captures have the same packets, so that they can be joined. If not,
	// the packets of one follow those of the other, or belong to other traffic.
	Same   bool
	Shared int // number of packets in the samples of both
	Sample int // number of packets of the smaller sample
	// Offset is the time of a packet in the second capture minus that in the first: the median of
	// the shared packets. 0 if there are none.
	Offset time.Duration
	// Overlap reports whether the second capture begins before the first one ends.
	Overlap bool
}

// Detect compares samples of two captures. Both are the captures of the same traffic if at least 16
// packets are in both samples, or half of the smaller sample. The samples are the first 262,144
// RoCEv2 packets of each capture, and as many of the earlier capture from one second before the
// first frame of the later one. If the earlier capture ends before the later one begins, only half
// of the sample counts: retransmissions over the end of a rotated file are equal packets.
func Detect(ctx context.Context, a, b Input) (Relation, error) {
	var r Relation
	begins, err := beginsOf(a, b)
	if err != nil {
		return r, err
	}
	in, swapped := [2]Input{a, b}, begins[1].Before(begins[0])
	if swapped {
		slices.Reverse(in[:])
		slices.Reverse(begins[:])
	}
	late, _, err := sampleOf(ctx, in[1], time.Time{})
	if err != nil {
		return r, err
	}
	for i, from := range []time.Time{{}, begins[1]} {
		if i > 0 && from.Sub(begins[0]) < sampleMargin {
			break // the sample from the beginning has these packets
		}
		early, end, err := sampleOf(ctx, in[0], from)
		if err != nil {
			return r, err
		}
		shared, offset := compare(early, late)
		if r.Overlap = !end.Before(begins[1]); shared >= r.Shared {
			r.Shared, r.Sample, r.Offset = shared, min(len(early), len(late)), offset
		}
	}
	if swapped {
		r.Offset = -r.Offset
	}
	half := r.Shared > 0 && 2*r.Shared >= r.Sample
	r.Same = half || r.Overlap && r.Shared >= minShared
	return r, nil
}

// beginsOf returns the times of the first frames.
func beginsOf(in ...Input) (begins [2]time.Time, err error) {
	for i, x := range in {
		f := file{in: x}
		err := f.start()
		begins[i] = f.next.Time
		if e := f.stop(); err == nil {
			err = e
		}
		if errors.Is(err, io.EOF) {
			return begins, fmt.Errorf("%s: no frames", x.Name)
		} else if err != nil {
			return begins, err
		}
	}
	return begins, nil
}

// sampled is a packet of a sample.
type sampled struct {
	key uint64
	at  int64 // nanoseconds since 1970
}

// sampleOf returns the first maxSample RoCEv2 packets, in order of key. If from is not zero, it
// begins sampleMargin before from. end is the time of the last frame that was read. A capture that
// is damaged ends there.
func sampleOf(ctx context.Context, in Input, from time.Time) (s []sampled, end time.Time, err error) {
	f := file{in: in}
	if err := f.start(); err != nil {
		return nil, end, errors.Join(err, f.stop())
	}
	var d trace.Decoder
	begin := from.Add(-sampleMargin)
	for err == nil && len(s) < maxSample && ctx.Err() == nil {
		end = later(end, f.next.Time)
		if from.IsZero() || !f.next.Time.Before(begin) {
			d.Decode(&f.next, func(p *trace.Packet) {
				if p.Err == nil {
					s = append(s, sampled{keyOf(p), p.Time.UnixNano()})
				}
			})
		}
		err = f.advance()
	}
	if damaged := (*capture.ReadError)(nil); errors.Is(err, io.EOF) || errors.As(err, &damaged) {
		err = nil
	}
	slices.SortStableFunc(s, func(x, y sampled) int { return cmp.Compare(x.key, y.key) })
	return s, end, errors.Join(err, ctx.Err(), f.stop())
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// compare returns the number of packets in both samples, which are in order of key, and the median
// of their times in b minus those in a.
func compare(a, b []sampled) (shared int, offset time.Duration) {
	var diffs []int64
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].key < b[j].key:
			i++
		case a[i].key > b[j].key:
			j++
		default:
			diffs = append(diffs, saturatingSub(b[j].at, a[i].at))
			i, j = i+1, j+1
		}
	}
	if len(diffs) == 0 {
		return 0, 0
	}
	slices.Sort(diffs)
	return len(diffs), time.Duration(diffs[len(diffs)/2])
}

// saturatingSub returns x-y, or the closest value that fits.
func saturatingSub(x, y int64) int64 {
	d := x - y
	switch {
	case x > 0 && y < 0 && d < 0:
		return math.MaxInt64
	case x < 0 && y > 0 && d > 0:
		return math.MinInt64
	}
	return d
}
