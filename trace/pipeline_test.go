package trace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// A recorder records what it is shown. It fails at the call named by failAt.
type recorder struct {
	calls  []string
	failAt string
}

var errRecorder = errors.New("no room")

func (r *recorder) note(call string) error {
	r.calls = append(r.calls, call)
	if call == r.failAt {
		return errRecorder
	}
	return nil
}

func (r *recorder) Begin(t time.Time)              { _ = r.note(fmt.Sprint("begin ", t.Unix())) }
func (r *recorder) Frame(f *capture.Frame) error   { return r.note(fmt.Sprint("frame ", f.Number)) }
func (r *recorder) Packet(p *trace.Packet) error   { return r.note(fmt.Sprint("packet ", p.BTH.PSN)) }
func (r *recorder) Message(m *trace.Message) error { return r.note(fmt.Sprint("message ", m.Number)) }
func (r *recorder) Flow(f *trace.Flow) error       { return r.note(fmt.Sprint("flow ", f.Packets)) }
func (r *recorder) Flush() error                   { return r.note("flush") }

// scripted returns frames, and then err.
type scripted struct {
	frames []capture.Frame
	err    error
}

func (s *scripted) Next(f *capture.Frame) error {
	if len(s.frames) == 0 {
		return s.err
	}
	*f = s.frames[0]
	s.frames = s.frames[1:]
	return nil
}

// conversation returns a SEND, a packet that is not RoCEv2, the acknowledgement, and another SEND
// without response.
func conversation() *scripted {
	packet := func(op bth.Opcode, psn bth.PSN) []byte {
		return ip4(nil, udp(roce4(0, bth.Packet{Opcode: op, DestQP: 0x11, PSN: psn, AckReq: true})))
	}
	data := [][]byte{packet(bth.RCSendOnly, 5), {1, 2, 3}, packet(bth.RCSendOnly, 6)}
	s := &scripted{err: io.EOF}
	for i, b := range data {
		s.frames = append(s.frames, capture.Frame{
			Number: i + 1, Time: time.Unix(int64(100+i), 0), Link: capture.LinkRaw, Length: len(b), Data: b,
		})
	}
	s.frames[1].Comments = []string{trace.MissingNote(3)}
	return s
}

type onlyPSN bth.PSN

func (psn onlyPSN) Match(p *trace.Packet) bool { return p.BTH.PSN == bth.PSN(psn) }

func TestPipelineShowsWhatIsChosen(t *testing.T) {
	for _, tt := range []struct {
		name   string
		filter interface{ Match(*trace.Packet) bool }
		shown  uint64
		want   []string
	}{
		{"without a filter all frames", nil, 2, []string{
			"begin 100", "packet 5", "frame 2", "packet 6", "message 1", "message 2", "flow 2", "flush",
		}},
		{"with one neither other frames nor messages without a chosen packet", onlyPSN(6), 1, []string{
			"begin 100", "packet 6", "message 2", "flow 2", "flush",
		}},
		{"nothing chosen", onlyPSN(7), 0, []string{"begin 100", "flush"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var messages int
			out := &recorder{}
			p := trace.Pipeline{
				Filter: tt.filter, Outputs: []trace.Output{out},
				Options: trace.Options{Message: func(*trace.Message) { messages++ }},
			}
			if err := p.Run(t.Context(), conversation()); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(out.calls, tt.want) {
				t.Errorf("%q", out.calls)
			}
			if c := p.Counts(); c.Frames != 3 || c.Packets != 2 || p.Shown() != tt.shown || p.Missing() != 3 ||
				messages != 2 {
				t.Errorf("%+v, %d shown, %d missing, %d messages", c, p.Shown(), p.Missing(), messages)
			}
		})
	}
}

func TestPipelineEndsAtTheFirstErrorOfAnOutput(t *testing.T) {
	for _, tt := range []struct {
		failAt string
		want   []string
	}{
		{"packet 5", []string{"begin 100", "packet 5"}},
		{"frame 2", []string{"begin 100", "packet 5", "frame 2"}},
		{"message 1", []string{"begin 100", "packet 5", "frame 2", "packet 6", "message 1"}},
		{"flow 2", []string{"begin 100", "packet 5", "frame 2", "packet 6", "message 1", "message 2", "flow 2"}},
		{"flush", []string{"begin 100", "packet 5", "frame 2", "packet 6", "message 1", "message 2",
			"flow 2", "flush"}},
	} {
		out := &recorder{failAt: tt.failAt}
		p := trace.Pipeline{Outputs: []trace.Output{out}}
		err := p.Run(t.Context(), conversation())
		var e *trace.OutputError
		if !errors.As(err, &e) || !errors.Is(err, errRecorder) {
			t.Errorf("%s: %v", tt.failAt, err)
		}
		if !slices.Equal(out.calls, tt.want) {
			t.Errorf("%s: %q", tt.failAt, out.calls)
		}
	}
}

func TestPipelineShowsWhatIsBeforeAnError(t *testing.T) {
	src := conversation()
	src.err = &capture.ReadError{Frame: 4, Err: io.ErrUnexpectedEOF}
	out := &recorder{}
	p := trace.Pipeline{Outputs: []trace.Output{out}}
	if err := p.Run(t.Context(), src); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if n := len(out.calls); n != 8 || out.calls[n-1] != "flush" {
		t.Errorf("%q", out.calls)
	}
}

func TestPipelineEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := &recorder{}
	p := trace.Pipeline{Outputs: []trace.Output{out}}
	if err := p.Run(ctx, conversation()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if !slices.Equal(out.calls, []string{"flush"}) {
		t.Errorf("%q", out.calls)
	}
}

// Packets behind the limit change no totals: not even those of their flow.
func TestALimitEndsThePipeline(t *testing.T) {
	for _, tt := range []struct {
		limit uint64
		want  []string
	}{
		{0, []string{"begin 100", "packet 5", "frame 2", "packet 6", "message 1", "message 2", "flow 2", "flush"}},
		{1, []string{"begin 100", "packet 5", "message 1", "flow 1", "flush"}},
		{2, []string{"begin 100", "packet 5", "frame 2", "packet 6", "message 1", "message 2", "flow 2", "flush"}},
	} {
		r := &recorder{}
		src := conversation()
		p := trace.Pipeline{Limit: tt.limit, Outputs: []trace.Output{r}}
		if err := p.Run(t.Context(), src); err != nil || !slices.Equal(r.calls, tt.want) {
			t.Errorf("limit %d: %q, %v, want %q", tt.limit, r.calls, err, tt.want)
		}
		if tt.limit == 1 && len(src.frames) != 2 {
			t.Errorf("limit 1: %d frames are left", len(src.frames))
		}
	}
}
