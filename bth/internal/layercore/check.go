package layercore

import "github.com/gorxe/gorxe/bth"

// UDP holds the fields of the UDP header that the ICRC covers, and the payload of the datagram.
type UDP struct {
	Src, Dst uint16
	Len      uint16 // Length field: bytes of header and payload
	Payload  []byte
}

// whole reports whether the payload was captured completely.
func (u UDP) whole() bool { return len(u.Payload) == int(u.Len)-bth.UDPHeaderLen }

// Check4 reports whether the ICRC of a packet in IPv4 is correct. src and dst are addresses of 4
// bytes, flags the upper 3 bits of the flags and fragment field, offset the others. headerLen is
// the length of the IPv4 header in bytes. ok is false if the ICRC cannot be checked: the header has
// options, or the payload was not captured completely.
func Check4(u UDP, src, dst []byte, id, flags, offset uint16, headerLen int) (right, ok bool) {
	if headerLen != bth.IPv4HeaderLen || len(src) != 4 || len(dst) != 4 || !u.whole() {
		return false, false
	}
	h := bth.Header4{Src: [4]byte(src), Dst: [4]byte(dst), ID: id, FlagsFragment: flags<<13 | offset,
		SrcPort: u.Src, DstPort: u.Dst, UDPLen: int(u.Len)}
	return bth.CheckICRC(h.Seed(), u.Payload), true
}

// Check6 reports whether the ICRC of a packet in IPv6 is correct. ok is false if the payload was
// not captured completely.
func Check6(u UDP, src, dst []byte) (right, ok bool) {
	if len(src) != 16 || len(dst) != 16 || !u.whole() {
		return false, false
	}
	h := bth.Header6{Src: [16]byte(src), Dst: [16]byte(dst), SrcPort: u.Src, DstPort: u.Dst, UDPLen: int(u.Len)}
	return bth.CheckICRC(h.Seed(), u.Payload), true
}
