package cli

import (
	"errors"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/lesson"
	"github.com/gorxe/gorxe/trace/text"
)

// messageSink is an output that is told of messages when they end, flowSink one that is told of flows.
type (
	messageSink interface{ Message(*trace.Message) error }
	flowSink    interface{ Flow(*trace.Flow) error }
)

// endings are messages and flows of which a packet was chosen, until they end: those are shown whole.
type endings struct {
	messages map[*trace.Message]bool
	flows    map[*trace.Flow]bool

	endedMessages []*trace.Message // by the packet in hand
	endedFlows    []*trace.Flow
}

func (e *endings) message(m *trace.Message) { e.endedMessages = append(e.endedMessages, m) }

func (e *endings) flow(f *trace.Flow) { e.endedFlows = append(e.endedFlows, f) }

// choose notes that p is shown.
func (e *endings) choose(p *trace.Packet) {
	if e.messages == nil {
		e.messages, e.flows = map[*trace.Message]bool{}, map[*trace.Flow]bool{}
	}
	if p.Message != nil {
		e.messages[p.Message] = true
	}
	if p.Flow != nil {
		e.flows[p.Flow] = true
	}
}

// tell hands what ended to the outputs that want to know.
func (e *endings) tell(sinks []traceSink) (err error) {
	if len(e.endedMessages)+len(e.endedFlows) == 0 {
		return nil
	}
	for _, m := range e.endedMessages {
		for _, s := range sinks {
			if s, ok := s.(messageSink); ok && e.messages[m] {
				err = errors.Join(err, s.Message(m))
			}
		}
		delete(e.messages, m)
	}
	for _, f := range e.endedFlows {
		for _, s := range sinks {
			if s, ok := s.(flowSink); ok && e.flows[f] {
				err = errors.Join(err, s.Flow(f))
			}
		}
		delete(e.flows, f)
	}
	e.endedMessages, e.endedFlows = e.endedMessages[:0], e.endedFlows[:0]
	return err
}

// linesSink writes a line a message, a line a flow, or first the one and then the other.
type linesSink struct {
	messages *text.Messages
	flows    *text.Flows
}

func (a *app) traceLines(p *traceParams) (traceSink, error) {
	s, coloured := &linesSink{}, newStyle(a.stdout).on
	if p.messages {
		s.messages = text.NewMessages(a.stdout, coloured)
	}
	if p.flows {
		s.flows = text.NewFlows(a.stdout, coloured)
	}
	return s, nil
}

func (s *linesSink) Packet(*trace.Frame, *trace.Packet) error { return nil }

func (s *linesSink) Message(m *trace.Message) error {
	if s.messages == nil {
		return nil
	}
	s.messages.Write(m)
	return nil
}

func (s *linesSink) Flow(f *trace.Flow) error {
	if s.flows != nil {
		s.flows.Write(f)
	}
	return nil
}

// Flush writes what is held back.
func (s *linesSink) Flush() (err error) {
	if s.messages != nil {
		err = s.messages.Flush()
	}
	if s.flows != nil {
		err = errors.Join(err, s.flows.Flush())
	}
	return err
}

func (s *linesSink) Close() error { return s.Flush() }

// teacher gives the lessons of --explain; nil where nobody wants them.
func (p *traceParams) teacher() *lesson.Teacher {
	if !p.explain {
		return nil
	}
	return lesson.NewTeacher(0)
}
