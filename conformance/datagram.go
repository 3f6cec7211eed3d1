package conformance

import (
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
)

// Message is a message of the device: a SEND or a WRITE.
type Message struct {
	Packets []*wire.Received
	Data    []byte
}

// maxMessage limits the bytes of a message that NextMessage collects.
const maxMessage = 1 << 20

// NextMessage returns the next whole message of the device, or nil if its last packet did not come
// within d. Other packets fail the case: an unreliable queue pair answers nothing. It is for
// programs over UC and UD, whose messages are not acknowledged.
func (c *Conn) NextMessage(d time.Duration) *Message {
	m := &Message{}
	var size held
	for end := time.Now().Add(d); ; {
		r := c.Next(time.Until(end))
		switch {
		case r == nil && len(m.Packets) > 0:
			c.t.Fail("a message of the device ends after %d packets without its last one", len(m.Packets))
		case r == nil:
			return nil
		case r.Err != nil:
			c.t.Fail("a packet came that cannot be decoded: %v", r.Err)
		case r.ICRC == wire.Wrong:
			c.t.Fail("a packet with a wrong ICRC came: %s", Describe(r))
		case !r.Opcode.Info().Request():
			c.t.Fail("a message was expected, but came %s", Describe(r))
		case !size.add(len(r.Payload), maxQueue, maxMessage):
			c.t.Fail("a message of the device does not end after %d packets and %d bytes", len(m.Packets), len(m.Data))
		}
		m.Packets = append(m.Packets, r)
		m.Data = append(m.Data, r.Payload...)
		if r.Opcode.Info().Ends() {
			return m
		}
	}
}

// NoMessage fails the case if anything comes within the silence time. why says what must have no
// effect.
func (c *Conn) NoMessage(why string) {
	if r := c.Next(c.t.run.silence()); r != nil {
		c.t.Fail("%s must be dropped silently, but came %s", why, Describe(r))
	}
}

// Datagram returns a SEND ONLY over UD of data with the Q_Key of the device.
func (c *Conn) Datagram(data []byte) *wire.Packet {
	p := c.Packet(bth.UDSendOnly, c.PSN)
	p.DETH = bth.DETH{QKey: c.Target.QKey, SrcQP: c.Local.QPN}
	p.Payload = data
	return p
}
