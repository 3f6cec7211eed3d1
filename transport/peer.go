package transport

import "github.com/gorxe/gorxe/bth"

// peer is what is known of the implementation at the other end, for the places in which
// Linux rxe departs from the rules.
type peer uint8

const (
	peerUnknown peer = iota // nothing came from it yet
	peerRxe                 // it does not set MigReq
	peerRNIC                // it does
)

// peerOf tells who sent p: rxe never sets MigReq, RNICs do from the start (IBA 9.2.6).
func peerOf(p *bth.Packet) peer {
	if p.MigReq {
		return peerRNIC
	}
	return peerRxe
}
