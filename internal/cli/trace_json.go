package cli

import (
	"bufio"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/json"
)

// jsonSink writes an object a line.
type jsonSink struct {
	w                        *json.Writer
	b                        *bufio.Writer
	packets, messages, flows bool
}

func (a *app) traceJSON(p *traceParams) (traceSink, error) {
	b := bufio.NewWriterSize(a.stdout, 64<<10)
	w := json.NewWriter(b)
	w.Payload = p.payload
	all := !p.messages && !p.flows
	return &jsonSink{w, b, all, all || p.messages, all || p.flows}, nil
}

func (s *jsonSink) Packet(_ *trace.Frame, p *trace.Packet) error {
	if !s.packets {
		return nil
	}
	return s.w.Packet(p)
}

func (s *jsonSink) Message(m *trace.Message) error {
	if !s.messages {
		return nil
	}
	return s.w.Message(m)
}

func (s *jsonSink) Flow(f *trace.Flow) error {
	if !s.flows {
		return nil
	}
	return s.w.Flow(f)
}

func (s *jsonSink) Flush() error { return s.b.Flush() }
func (s *jsonSink) Close() error { return s.b.Flush() }
