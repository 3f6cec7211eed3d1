package record

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// framer makes the frames of a capture. A frame is valid until the next call.
type framer struct {
	frame capture.Frame
	data  []byte
}

// make returns the frame of e, whose data is in b, and a comment on the frame, "" for none.
func (m *framer) make(b *buffer, e *entry) (f *capture.Frame, comment string) {
	payload, t := b.data[e.off:e.off+e.len], &e.frame
	h := encap.Header{
		Src: t.Src, Dst: t.Dst, SrcPort: t.SrcPort, ID: t.ID, FlagsFragment: t.FlagsFragment,
		TrafficClass: t.TrafficClass, HopLimit: t.HopLimit,
	}
	if !t.HeaderSeen && t.Src.Is4() {
		h.ID = identification(t, payload)
	}
	n := h.Len()
	if cap(m.data) < n+len(payload) {
		m.data = make([]byte, 2*(n+len(payload)))
	}
	m.data = m.data[:n+len(payload)]
	h.Put(m.data, len(payload))
	copy(m.data[n:], payload)

	m.frame = capture.Frame{
		Time: e.at, Link: capture.LinkRaw, Direction: capture.Outbound, Interface: e.name,
		Data: m.data[encap.EthernetLen:],
	}
	if e.dir == packet.Incoming {
		m.frame.Direction = capture.Inbound
	}
	m.frame.Length = len(m.frame.Data)
	if e.lost > 0 {
		comment = trace.MissingNote(e.lost)
	}
	return &m.frame, comment
}

// identification returns the IPv4 identification of a received datagram whose IPv4 header the link
// did not see: the identification with which the ICRC is correct or, if there is none, the link's
// guess. b is the UDP payload.
func identification(f *packet.TapFrame, b []byte) uint16 {
	end := len(b) - bth.ICRCLen
	if end < bth.BTHLen {
		return f.ID
	}
	h := bth.Header4{
		Src: f.Src.As4(), Dst: f.Dst.As4(), ID: f.ID, FlagsFragment: f.FlagsFragment,
		SrcPort: f.SrcPort, DstPort: packet.Port, UDPLen: bth.UDPHeaderLen + len(b),
	}
	seed := h.Seed()
	got, want := bth.ICRC(seed, b[:end]), bth.ReadICRC(b)
	if got == want || bth.CheckICRCRxeFlush(seed, b) {
		return f.ID
	}
	id, ok := bth.SolveIDFrom(f.ID, got, want, len(b))
	if !ok && bth.IsFlush(b) {
		// rxe computes the CRC of a FLUSH over the bytes b[:end] twice, so end more bytes follow
		// the identification.
		id, ok = bth.SolveIDFrom(f.ID, bth.ICRCRxeFlush(seed, b[:end]), want, len(b)+end)
	}
	if !ok {
		return f.ID
	}
	return id
}
