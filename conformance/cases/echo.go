package cases

import (
	"bytes"
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// fill returns n bytes that differ from those of another seed.
func fill(seed byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = seed + byte(i)*7 + byte(i>>8)*13
	}
	return b
}

// echo is a conversation with UCPingpong or UDPingpong. The device answers each message that it
// received with one from the same memory.
type echo struct {
	*conformance.Conn
	t    *conformance.T
	send func(data []byte) []*wire.Packet // a correct message, with the PSNs that are next
}

// next gives packets the next PSNs.
func (e *echo) next(all ...*wire.Packet) []*wire.Packet {
	for _, p := range all {
		p.PSN, e.PSN = e.PSN, e.PSN.Add(1)
	}
	return all
}

// ucSend returns a message over UC of data in packets of the path MTU.
func (e *echo) ucSend(data []byte) []*wire.Packet {
	var all []*wire.Packet
	mtu := e.MTU()
	for at := 0; at == 0 || at < len(data); at += mtu {
		part := data[at:min(at+mtu, len(data))]
		first, last := at == 0, at+mtu >= len(data)
		op := bth.UCSendMiddle
		switch {
		case first && last:
			op = bth.UCSendOnly
		case first:
			op = bth.UCSendFirst
		case last:
			op = bth.UCSendLast
		}
		all = append(all, e.part(op, part))
	}
	return e.next(all...)
}

// part returns a packet with a payload; next or the script sets the PSN.
func (e *echo) part(op bth.Opcode, payload []byte) *wire.Packet {
	p := e.Packet(op, e.PSN)
	p.Payload = payload
	return p
}

// dialUC connects to UCPingpong, and checks that it answers.
func dialUC(t *conformance.T, setup ...conformance.Setup) *echo {
	e := &echo{Conn: t.Connect(setup...), t: t}
	e.send = e.ucSend
	e.control()
	return e
}

// dialUD connects to UDPingpong, and checks that it answers.
func dialUD(t *conformance.T) *echo {
	e := &echo{Conn: t.Connect(), t: t}
	e.send = func(data []byte) []*wire.Packet { return e.next(e.Datagram(data)) }
	e.control()
	return e
}

// control checks that the program answers. Whether the data is right, the test shows.
func (e *echo) control() {
	e.put(e.send(fill(1, 16))...)
	if e.NextMessage(e.t.Timeout()) == nil {
		e.t.Inconclusive("before the test: a correct message was not answered")
	}
}

// exchange sends a correct message and returns why the answer is wrong, "" if it is right.
func (e *echo) exchange(data []byte) string {
	e.put(e.send(data)...)
	m := e.NextMessage(e.t.Timeout())
	switch {
	case m == nil:
		return "a correct message was not answered"
	case !bytes.HasPrefix(m.Data, data):
		return fmt.Sprintf("the answer begins with %x, the message was %x", m.Data[:min(len(m.Data), 16)],
			data[:min(len(data), 16)])
	}
	return ""
}

// put sends packets.
func (e *echo) put(all ...*wire.Packet) {
	for _, p := range all {
		e.Send(p)
	}
}

// answer sends the packets of one message, which the device must receive, and returns the answer,
// which must begin with data.
func (e *echo) answer(what string, data []byte, all ...*wire.Packet) *conformance.Message {
	e.put(all...)
	m := e.NextMessage(e.t.Timeout())
	if m == nil {
		e.t.Fail("%s must be received, but the program did not answer", what)
	}
	if !bytes.HasPrefix(m.Data, data) {
		e.t.Fail("%s: the memory of the device begins with %x, sent was %x", what, m.Data[:min(len(m.Data), 16)],
			data[:min(len(data), 16)])
	}
	return m
}

// dropped sends packets, which the device must drop silently, and checks that a correct message is
// received afterwards.
func (e *echo) dropped(what string, all ...*wire.Packet) {
	e.put(all...)
	e.NoMessage(what)
	e.alive(what)
}

// alive checks that the device receives a correct message after why.
func (e *echo) alive(why string) {
	if wrong := e.exchange(fill(99, 16)); wrong != "" {
		e.t.Fail("after %s: %s", why, wrong)
	}
}

// droppedOrDead is dropped where the specification also permits that the receive completes with an
// error, which ends the program.
func (e *echo) droppedOrDead(what string, all ...*wire.Packet) {
	e.put(all...)
	e.NoMessage(what)
	if wrong := e.exchange(fill(99, 16)); wrong != "" {
		e.t.Unclear("the receive of %s completes with an error, or the queue pair stops (%s); other devices drop the message "+
			"and go on", what, wrong)
	}
}
