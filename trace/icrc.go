package trace

import "github.com/gorxe/gorxe/bth"

// seed is the ICRC's seed for a packet of n bytes, whose identification is that much above the datagram's.
func (d *datagram) seed(step uint16, n int) uint32 {
	if d.ip.Version == 4 {
		d.h4.ID = d.ip.ID + step
		d.h4.UDPLen = bth.UDPHeaderLen + n
		return d.h4.Seed()
	}
	d.h6.UDPLen = bth.UDPHeaderLen + n
	return d.h6.Seed()
}

// right reports whether p, which was sent as the datagram's packet of that index, carries its ICRC.
func (d *datagram) right(index int, p []byte) bool {
	v := d.icrc(index, p).Verdict
	return v == Right || v == RightAsRxe
}

// icrc checks the ICRC of p, the packet with that index of the datagram. A sender with segmentation offload counts the
// identification up from packet to packet; some network cards leave it as it is.
func (d *datagram) icrc(index int, p []byte) ICRC {
	if len(p) < bth.BTHLen+bth.ICRCLen {
		return ICRC{}
	}
	body := p[:len(p)-bth.ICRCLen]
	v := ICRC{Verdict: Wrong, Wire: bth.ReadICRC(p)}
	seed := d.seed(uint16(index), len(p))
	v.Want = bth.ICRC(seed, body)
	switch {
	case v.Want == v.Wire:
		v.Verdict = Right
	case bth.CheckICRCRxeFlush(seed, p):
		v.Verdict = RightAsRxe
	case index > 0 && d.ip.Version == 4 && bth.ICRC(d.seed(0, len(p)), body) == v.Wire:
		v.Verdict, v.Want = Right, v.Wire
	case d.odd:
		v.Verdict = NotChecked // over headers that RoCEv2 does not have nobody says how
	}
	return v
}
