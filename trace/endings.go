package trace

// endings are the messages and flows of which a [Pipeline] chose a packet, until they end: outputs are told then.
type endings struct {
	of       Options // of the pipeline: its functions are called, too
	messages map[*Message]bool
	flows    map[*Flow]bool

	endedMessages []*Message // by the packet in hand, in their order
	endedFlows    []*Flow
}

func (e *endings) message(m *Message) {
	e.endedMessages = append(e.endedMessages, m)
	if e.of.Message != nil {
		e.of.Message(m)
	}
}

func (e *endings) flow(f *Flow) {
	e.endedFlows = append(e.endedFlows, f)
	if e.of.Flow != nil {
		e.of.Flow(f)
	}
}

// choose notes that k is shown.
func (e *endings) choose(k *Packet) {
	if e.messages == nil {
		e.messages, e.flows = map[*Message]bool{}, map[*Flow]bool{}
	}
	if k.Message != nil {
		e.messages[k.Message] = true
	}
	if k.Flow != nil {
		e.flows[k.Flow] = true
	}
}

// tellEnded hands what has ended since the last call to the outputs.
func (p *Pipeline) tellEnded() {
	e := &p.ended
	for _, m := range e.endedMessages {
		if e.messages[m] {
			each(p, func(o messageOutput) error { return o.Message(m) })
		}
		delete(e.messages, m)
	}
	for _, f := range e.endedFlows {
		if e.flows[f] {
			each(p, func(o flowOutput) error { return o.Flow(f) })
		}
		delete(e.flows, f)
	}
	e.endedMessages, e.endedFlows = e.endedMessages[:0], e.endedFlows[:0]
}
