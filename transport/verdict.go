package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// Verdict says what a machine made of a received packet. It is a counter index, not
// an error: whatever the verdict, the machine has done what the IBA asks for.
type Verdict uint8

// The verdicts. Those up to Duplicate are part of normal life, the others mean that
// the peer, the network or the application did something wrong.
const (
	Accepted           Verdict = iota // executed, or moved the requester forward
	Duplicate                         // a request seen before, or a response no longer waited for
	OutOfSequence                     // a request or READ response ahead of the expected PSN
	NoReceive                         // a SEND or WRITE with immediate found no receive: RNR NAK
	RNRWait                           // the peer had no receive: the requester waits
	SequenceNAK                       // the peer missed a packet: the requester goes back
	RemoteError                       // the peer refused a request: the QP is in error
	GhostResponse                     // a response to a PSN that was never sent
	BadResponse                       // a response that does not fit its request
	InvalidRequest                    // refused with NAK invalid request
	AccessRefused                     // refused with NAK remote access error
	OperationalError                  // refused with NAK remote operational error
	UnknownDuplicate                  // a duplicate READ or atomic that is no longer remembered
	WrongState                        // the queue pair's state does not take this packet
	WrongService                      // the opcode belongs to another service type
	ReservedSyndrome                  // an AETH syndrome that the IBA reserves
	ReplyPending                      // arrived while an error NAK waits to be sent
	LocalError                        // the response could not be stored: the QP is in error
	BadQKey                           // a datagram with another Q_Key than the queue pair's
	TooLong                           // a datagram for which the receive is too small
	CongestionNotified                // a congestion notification packet
	NumVerdicts                       // how many verdicts there are
)

var verdictNames = [NumVerdicts]string{
	Accepted: "accepted", Duplicate: "duplicate", OutOfSequence: "out_of_sequence",
	NoReceive: "no_receive", RNRWait: "rnr_wait", SequenceNAK: "sequence_nak",
	RemoteError: "remote_error", GhostResponse: "ghost_response", BadResponse: "bad_response",
	InvalidRequest: "invalid_request", AccessRefused: "access_refused",
	OperationalError: "operational_error", UnknownDuplicate: "unknown_duplicate",
	WrongState: "wrong_state", WrongService: "wrong_service",
	ReservedSyndrome: "reserved_syndrome", ReplyPending: "reply_pending", LocalError: "local_error",
	BadQKey: "bad_q_key", TooLong: "too_long", CongestionNotified: "congestion_notified",
}

// String returns the verdict's name as used for counters.
func (v Verdict) String() string {
	if v < NumVerdicts {
		return verdictNames[v]
	}
	return "unknown"
}

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
