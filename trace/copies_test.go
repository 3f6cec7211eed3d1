package trace_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// seenAt passes each frame of a capture several times, as it is seen at several points.
type seenAt struct {
	frames []capture.Frame
	times  int
	change func(f *capture.Frame, point int)
	n      int
}

func (s *seenAt) Next(f *capture.Frame) error {
	if s.n == len(s.frames)*s.times {
		return io.EOF
	}
	*f = s.frames[s.n/s.times]
	f.Data = bytes.Clone(f.Data)
	s.change(f, s.n%s.times)
	s.n++
	f.Number = s.n
	return nil
}

// framesIn returns all frames of a capture in testdata.
func framesIn(t *testing.T, name string) (all []capture.Frame) {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	for {
		var f capture.Frame
		switch err := r.Next(&f); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		f.Data = bytes.Clone(f.Data)
		all = append(all, f)
	}
}

// cooked replaces the Ethernet header of f by a cooked one.
func cooked(f *capture.Frame, header []byte) {
	f.Data = append(header, f.Data[14:]...)
	f.Length += len(header) - 14
}

// A capture of several points has the same flows as one of a single point: nothing is lost,
// retransmitted or counted twice because of the copies.
func TestCopiesOfPacketsAtOtherPointsChangeNoFlow(t *testing.T) {
	once := func(f *capture.Frame, _ int) {}
	for _, name := range []string{"rcops.pcap.gz", "loss_write.pcap.gz"} {
		frames := framesIn(t, name)
		var want []string
		packets := countFlows(t, &trace.Pipeline{}, &seenAt{frames: frames, times: 1, change: once}, &want)
		for _, tt := range []struct {
			name   string
			times  int
			dedupe bool
			change func(*capture.Frame, int)
		}{
			{"two interfaces of a pcapng", 2, false, func(f *capture.Frame, i int) { f.InterfaceID = i + 1 }},
			{"the same, without copies in the output", 2, true,
				func(f *capture.Frame, i int) { f.InterfaceID = i + 1 }},
			{"four interfaces of any", 4, false, func(f *capture.Frame, i int) {
				h := make([]byte, 20)
				binary.BigEndian.PutUint16(h, binary.BigEndian.Uint16(f.Data[12:]))
				h[7] = byte(i/2 + 3)
				h[10] = byte(i % 2 * 4)
				f.Link = capture.LinkLinuxSLL2
				cooked(f, h)
			}},
			{"two directions of any without interface numbers", 2, false, func(f *capture.Frame, i int) {
				h := make([]byte, 16)
				h[1] = byte(i * 4)
				copy(h[14:], f.Data[12:14])
				f.Link = capture.LinkLinuxSLL
				cooked(f, h)
			}},
			{"merged without information on interfaces", 2, true, once},
		} {
			t.Run(fmt.Sprintf("%s/%s", name, tt.name), func(t *testing.T) {
				p := &trace.Pipeline{Dedupe: tt.dedupe}
				var got []string
				shown := countFlows(t, p, &seenAt{frames: frames, times: tt.times, change: tt.change}, &got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				if n := p.Copies(); n != packets*uint64(tt.times-1) {
					t.Errorf("%d copies of %d packets", n, packets)
				}
				if all := packets * uint64(tt.times); tt.dedupe && shown != packets || !tt.dedupe && shown != all {
					t.Errorf("%d packets are shown", shown)
				}
			})
		}
	}
}

// countFlows runs p on src, and appends the totals of each flow to flows. It returns the number of
// packets that are shown.
func countFlows(t *testing.T, p *trace.Pipeline, src trace.Source, flows *[]string) uint64 {
	t.Helper()
	p.Options.Flow = func(f *trace.Flow) {
		*flows = append(*flows, fmt.Sprint(f.Number, f.Packets, f.Payload, f.Messages, f.Again, f.Duplicates,
			f.LostBefore, f.LostBehind, f.NAKs, f.RNRs, f.Timeouts, f.Undecided, f.Window, f.RTT, f.Err != ""))
	}
	p.Outputs = []trace.Output{&recorder{}}
	if err := p.Run(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	return p.Shown()
}

func TestRepeatedPacketsOfACaptureAreCounted(t *testing.T) {
	frames := framesIn(t, "rcops.pcap.gz")
	p := &trace.Pipeline{}
	var flows []string
	n := countFlows(t, p, &seenAt{frames: frames, times: 2, change: func(*capture.Frame, int) {}}, &flows)
	if p.Copies() != 0 || p.Repeated() != n/2 {
		t.Errorf("%d copies, %d repeated of %d packets", p.Copies(), p.Repeated(), n)
	}
}
