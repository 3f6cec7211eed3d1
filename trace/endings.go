package trace

// endings are the messages and flows that end by the packet in hand: outputs are told of those of which a [Pipeline] chose a
// packet. That is noted in the messages and flows themselves, so that nothing here keeps one that never ends.
type endings struct {
	of       Options // of the pipeline: its functions are called, too
	messages []*Message
	flows    []*Flow
}

func (e *endings) message(m *Message) {
	e.messages = append(e.messages, m)
	if e.of.Message != nil {
		e.of.Message(m)
	}
}

func (e *endings) flow(f *Flow) {
	e.flows = append(e.flows, f)
	if e.of.Flow != nil {
		e.of.Flow(f)
	}
}

// choose notes that k is shown. A message that had ended before k is not told again.
func (e *endings) choose(k *Packet) {
	if k.Message != nil {
		k.Message.chosen = true
	}
	if k.Flow != nil {
		k.Flow.chosen = true
	}
}

// tellEnded hands what has ended since the last call to the outputs.
func (p *Pipeline) tellEnded() {
	e := &p.ended
	for _, m := range e.messages {
		if m.chosen {
			each(p, func(o messageOutput) error { return o.Message(m) })
		}
	}
	for _, f := range e.flows {
		if f.chosen {
			each(p, func(o flowOutput) error { return o.Flow(f) })
		}
	}
	clear(e.messages)
	clear(e.flows)
	e.messages, e.flows = e.messages[:0], e.flows[:0]
}
