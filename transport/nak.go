package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// nakNothing is the syndrome of a packet that is not refused.
const nakNothing bth.Syndrome = 0

// A fatalNAK is what a NAK code that ends a connection means at both ends.
type fatalNAK struct {
	verdict Verdict      // of the responder on the request packet
	event   qp.EventType // affiliated asynchronous error at the responder, unless a completion tells (IBA 11.6.3.1)
	status  qp.WCStatus  // of the work request at the requester (IBA table 58)
}

// fatalNAKs has the codes by their distance from that of a PSN sequence error, which ends nothing.
var fatalNAKs = [...]fatalNAK{
	bth.NakInvalidRequest - bth.NakPSNSequence:    {InvalidRequest, qp.EventQPReqErr, qp.WCRemInvReqErr},
	bth.NakRemoteAccess - bth.NakPSNSequence:      {AccessRefused, qp.EventQPAccessErr, qp.WCRemAccessErr},
	bth.NakRemoteOperational - bth.NakPSNSequence: {OperationalError, qp.EventQPFatal, qp.WCRemOpErr},
	bth.NakInvalidRD - bth.NakPSNSequence:         {InvalidRequest, qp.EventQPReqErr, qp.WCRemInvRDReqErr},
}

// reservedNAK is a code that the IBA gives no meaning: no responder here sends it, and a requester
// takes it for a response that makes no sense.
var reservedNAK = fatalNAK{status: qp.WCBadRespErr}

// fatal returns what a NAK code other than PSN sequence error means.
func fatal(s bth.Syndrome) *fatalNAK {
	if i := int(s) - int(bth.NakPSNSequence); i > 0 && i < len(fatalNAKs) {
		return &fatalNAKs[i]
	}
	return &reservedNAK
}
