package mad

import "github.com/gorxe/gorxe/qp"

// maxRefusalInfo is the longest additional information of a refusal, a GID.
const maxRefusalInfo = 16

// A Refusal is why a REQ cannot be accepted, for [Manager.Reject].
type Refusal struct {
	Reason RejectReason
	info   [maxRefusalInfo]byte
	n      int
}

// ARI is the additional information of the REJ.
func (r *Refusal) ARI() []byte { return r.info[:r.n] }

// Check says whether a queue pair of this side can be connected as a REQ asks that came from
// peer to the local GID, whose link carries the path MTU mtu; refuse holds why not if ok is
// false. What belongs to the program, its IP header and resources, is the program's to check.
//
// It is stricter than Linux in one thing: the queue pair must be at the address that the REQ
// comes from. Otherwise anybody could direct an answering program's traffic at a third party.
func (r *REQ) Check(peer, local qp.GID, mtu qp.MTU) (refuse Refusal, ok bool) {
	asked := qp.MTUFromEnum(int(r.PathMTU))
	switch {
	case r.TransportService != TransportRC:
		refuse.Reason = RejectInvalidTransportType
	case r.Primary.RemoteGID != local, r.PKey&pkeyBase != pkeyBase:
		refuse.Reason = RejectInvalidGID
		refuse.n = copy(refuse.info[:], local[:])
	case r.CheckSender(peer) != nil:
		refuse.Reason = RejectUnsupported
	case asked == 0 || asked > mtu:
		refuse.Reason = RejectInvalidMTU
		refuse.info[0], refuse.n = byte(mtu.Enum()), 1
	default:
		return refuse, true
	}
	return refuse, false
}

// CheckSender refuses a REQ whose queue pair is at another address than the REQ comes from. The
// error is a [*DecodeError], for [Counters.Distrusted].
func (r *REQ) CheckSender(peer qp.GID) error {
	if r.Primary.LocalGID != peer {
		return refuse(ReasonIPSender)
	}
	return nil
}

// pkeyBase is the default partition, without the bit of full membership.
const pkeyBase = 0x7fff
