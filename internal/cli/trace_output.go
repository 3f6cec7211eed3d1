package cli

import (
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/lesson"
	"github.com/gorxe/gorxe/trace/text"
)

// traceSink is an output of 'gorxe trace'. Packets are borrowed for the call. It may have more methods:
//
//	Begin(time.Time)            is told the time of the first frame, whatever that is
//	Frame(*trace.Frame) error   is shown the frames without packets, unless there is a filter
//	Flush() error               is called before the input is waited for
//	Message(*trace.Message) error, Flow(*trace.Flow) error
//	                            are told of those that end, if a packet of them was chosen
type traceSink interface {
	Packet(f *trace.Frame, p *trace.Packet) error
	Close() error // writes what is still held back
}

// traceOutput is a kind of output.
type traceOutput struct {
	asked  func(*traceParams) bool
	stdout bool // it goes there: of those only the first that is asked for is used
	open   func(*app, *traceParams) (traceSink, error)
}

// traceOutputs are all kinds; the last is what there is when no other is asked for.
var traceOutputs = []traceOutput{
	{asked: func(p *traceParams) bool { return p.pcapng != "" }, open: (*app).tracePcapng},
	{asked: func(p *traceParams) bool { return p.html != "" }, open: (*app).traceHTML},
	{asked: func(p *traceParams) bool { return p.json }, stdout: true, open: (*app).traceJSON},
	{asked: func(p *traceParams) bool { return p.messages || p.flows }, stdout: true, open: (*app).traceLines},
	{asked: func(p *traceParams) bool { return p.pcapng == "" && p.html == "" }, stdout: true, open: (*app).traceText},
}

// traceSinks opens the outputs that are asked for.
func (a *app) traceSinks(p *traceParams) (sinks []traceSink, err error) {
	used := false
	for _, o := range traceOutputs {
		if !o.asked(p) || o.stdout && used {
			continue
		}
		used = used || o.stdout
		s, err := o.open(a, p)
		if err != nil {
			for _, s := range sinks {
				_ = s.Close()
			}
			return nil, err
		}
		sinks = append(sinks, s)
	}
	return sinks, nil
}

// textSink writes a line a packet.
type textSink struct {
	*text.Writer
	teacher *lesson.Teacher // nil where nobody wants lessons
}

func (a *app) traceText(p *traceParams) (traceSink, error) {
	o := text.Options{Fields: p.verbose, Hex: p.hex, Payload: p.payload, Colour: newStyle(a.stdout).on}
	return &textSink{text.NewWriter(a.stdout, o), p.teacher()}, nil
}

func (s *textSink) Packet(_ *trace.Frame, p *trace.Packet) error {
	err := s.Writer.Packet(p)
	if s.teacher != nil {
		for _, l := range s.teacher.Teach(p) {
			err = s.Lesson(l)
		}
	}
	return err
}

func (s *textSink) Close() error { return s.Flush() }
