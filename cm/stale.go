package cm

import "github.com/gorxe/gorxe/cm/mad"

// probeTime is how long the answer to a probe is accepted, and how long further probes use the
// same transaction ID, in nanoseconds.
const probeTime = Time(10e9)

// staleProbes is how many times an established connection is probed when messages claim its queue
// pair for another connection. A later REQ or REP that does is rejected without a probe.
const staleProbes = 3

// probe probes whether the peer of an established connection still has it, because a REQ, a REP or
// an RTU uses the peer's queue pair for another connection. Either the peer has lost the connection
// without notice, or an attacker has sent that message (RFC 5961 section 4 answers a SYN in the
// same way). sent is false if no probe was sent: c is not established, or staleProbes probes were
// sent before.
//
// The probe is a DREQ with both communication IDs, an unpredictable transaction ID, and queue
// pair number 0, which no connection has. A peer that has the connection drops the DREQ, because
// the queue pair is not its own (IBA 12.6.10 defines the field, and Linux compares it). A peer
// that does not have it answers with DREP, which ends the connection here. Meanwhile the REQ or
// RTU is dropped; it is accepted when its sender repeats it. One of every four messages that find
// the connection still present is rejected; an RTU cannot be rejected and is dropped.
func (m *Manager) probe(now Time, c *conn) (sent bool) {
	if c.state != StateEstablished {
		return false
	}
	if c.probes++; c.probes > staleProbes {
		c.probes = 0
		return false
	}
	if now >= c.probeEnd {
		c.probe, c.probeEnd = m.ids.probe(), now+probeTime
	}
	m.sendDREQ(c, c.probe, 0)
	return true
}

// answersProbe reports whether msg answers a probe of the connection, which means that the peer
// does not have the connection.
func (c *conn) answersProbe(now Time, msg *mad.Message) bool {
	return c.probe != 0 && msg.TransactionID == c.probe && now < c.probeEnd
}
