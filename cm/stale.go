package cm

import "github.com/gorxe/gorxe/cm/mad"

// probeTime is how long the answer to a probe is believed, and for how long further probes are the same.
const probeTime = Time(10e9)

// staleProbes is how many messages that name the queue pair of an established connection for another
// one make this side ask the peer, before one is refused.
const staleProbes = 3

// suspect asks the peer of an established connection whether it still knows it, because a REQ, a REP
// or an RTU is for another connection with its queue pair. Either the peer has lost the connection
// without our knowing, or somebody else has sent that message (RFC 5961 section 4 answers a SYN so).
//
// The question is a DREQ with both communication IDs, a transaction ID that cannot be guessed, and
// queue pair number 0, which no connection has. A peer that has the connection drops the DREQ,
// because the queue pair is not its own (IBA 12.6.10 has the field for that, and Linux compares it).
// A peer that has not answers with DREP, which ends the connection here. The REQ or the RTU is
// dropped meanwhile, and taken when its sender repeats it. Of every four that find the connection
// still there one is refused; an RTU has no refusal and is dropped.
func (m *Manager) suspect(now Time, c *conn) (asked bool) {
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

// deniedBy reports whether msg answers a probe of the connection: its peer does not know it.
func (c *conn) deniedBy(now Time, msg *mad.Message) bool {
	return c.probe != 0 && msg.TransactionID == c.probe && now < c.probeEnd
}
