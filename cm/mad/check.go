package mad

import "github.com/gorxe/gorxe/qp"

// maxRejectInfo is the maximum length in bytes of the additional information of a Rejection: the
// length of a GID.
const maxRejectInfo = 16

// Rejection is the reason why a REQ cannot be accepted, for the method Reject of cm.Manager.
type Rejection struct {
	Reason RejectReason
	info   [maxRejectInfo]byte // additional reject information
	n      int                 // length of it in bytes
}

// ARI returns the additional reject information for the REJ.
func (r *Rejection) ARI() []byte { return r.info[:r.n] }

// Check reports whether a queue pair of this side can be connected as a REQ requests. The REQ came
// from peer to the local GID, whose link has the path MTU mtu. If ok is false, refuse is the
// reason. Check does not check the IP header and the resources; the program does.
//
// Check is stricter than Linux in one respect: the queue pair must be at the address that the REQ
// came from. Otherwise an attacker could direct the traffic of an accepting program at a third
// party.
func (r *REQ) Check(peer, local qp.GID, mtu qp.MTU) (refuse Rejection, ok bool) {
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

// CheckSender returns an error if the queue pair of a REQ is not at peer, the address that the REQ
// came from. The error is a [*DecodeError], for the method CountBadAddress of cm.Counters.
func (r *REQ) CheckSender(peer qp.GID) error {
	if r.Primary.LocalGID != peer {
		return refuse(ReasonIPSender)
	}
	return nil
}

// pkeyBase is the default partition, without the full-membership bit.
const pkeyBase = 0x7fff
