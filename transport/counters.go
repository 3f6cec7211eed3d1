package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// Counters counts the events of one queue pair. If Linux rxe has a hardware counter for the same
// event, [Counters.Each] uses its name. All counters start at 0 with the machine and only grow;
// RESET does not clear them.
type Counters struct {
	SentPackets       uint64 // packets built
	ReceivedPackets   uint64 // packets passed to Receive
	Retransmitted     uint64 // request packets sent again
	Timeouts          uint64 // local ACK timeouts
	Probes            uint64 // packets sent again because an answer was overdue, before the timeout
	ImpliedNAKs       uint64 // responses that showed that a READ or atomic response was lost
	SequenceNAKsSent  uint64 // sequence NAKs sent, one for each gap
	SequenceNAKsTaken uint64 // sequence NAKs received, with or without effect
	RNRNAKsSent       uint64 // RNR NAKs sent: there was no receive
	RNRNAKsTaken      uint64 // RNR NAKs received
	ErrorNAKsSent     uint64 // other NAKs sent, which refuse a request
	ErrorNAKsTaken    uint64 // other NAKs received
	DuplicateRequests uint64
	OutOfSequence     uint64 // requests ahead of the expected PSN
	EarlyKept         uint64 // requests kept until the missing packets before them arrived
	EarlyDropped      uint64 // early requests dropped: too far ahead, already kept, or no room
	RetryExceeded     uint64 // queue pairs failed with RETRY_EXC_ERR
	RNRRetryExceeded  uint64 // queue pairs failed with RNR_RETRY_EXC_ERR
	ReadsReplayed     uint64 // duplicates of READs, atomics, FLUSHes and ATOMIC WRITEs, answered again
	ReplaysRefused    uint64 // such duplicates not answered: too many responses were sent again
	QKeyViolations    uint64 // datagrams with a wrong Q_Key
	OversizeDatagrams uint64 // datagrams longer than the path MTU, which are not sent
	CNPsTaken         uint64 // congestion notification packets received
}

// counterTable has the name of each counter and a function that returns the field, in the order of
// [Counters.Each].
var counterTable = [...]struct {
	name string
	of   func(*Counters) *uint64
}{
	{"sent_pkts", func(c *Counters) *uint64 { return &c.SentPackets }},
	{"rcvd_pkts", func(c *Counters) *uint64 { return &c.ReceivedPackets }},
	{"retransmitted_pkts", func(c *Counters) *uint64 { return &c.Retransmitted }},
	{"ack_timeouts", func(c *Counters) *uint64 { return &c.Timeouts }},
	{"ack_probes", func(c *Counters) *uint64 { return &c.Probes }},
	{"implied_naks", func(c *Counters) *uint64 { return &c.ImpliedNAKs }},
	{"sent_seq_err", func(c *Counters) *uint64 { return &c.SequenceNAKsSent }},
	{"rcvd_seq_err", func(c *Counters) *uint64 { return &c.SequenceNAKsTaken }},
	{"send_rnr_err", func(c *Counters) *uint64 { return &c.RNRNAKsSent }},
	{"rcvd_rnr_err", func(c *Counters) *uint64 { return &c.RNRNAKsTaken }},
	{"sent_error_naks", func(c *Counters) *uint64 { return &c.ErrorNAKsSent }},
	{"rcvd_error_naks", func(c *Counters) *uint64 { return &c.ErrorNAKsTaken }},
	{"duplicate_request", func(c *Counters) *uint64 { return &c.DuplicateRequests }},
	{"out_of_seq_request", func(c *Counters) *uint64 { return &c.OutOfSequence }},
	{"early_kept", func(c *Counters) *uint64 { return &c.EarlyKept }},
	{"early_dropped", func(c *Counters) *uint64 { return &c.EarlyDropped }},
	{"retry_exceeded_err", func(c *Counters) *uint64 { return &c.RetryExceeded }},
	{"retry_rnr_exceeded_err", func(c *Counters) *uint64 { return &c.RNRRetryExceeded }},
	{"replayed_reads", func(c *Counters) *uint64 { return &c.ReadsReplayed }},
	{"refused_read_replays", func(c *Counters) *uint64 { return &c.ReplaysRefused }},
	{"qkey_viol_cntr", func(c *Counters) *uint64 { return &c.QKeyViolations }},
	{"oversize_datagrams", func(c *Counters) *uint64 { return &c.OversizeDatagrams }},
	{"rp_cnp_handled", func(c *Counters) *uint64 { return &c.CNPsTaken }},
}

// Each calls f with the name and the value of every counter, in a fixed order.
func (c *Counters) Each(f func(name string, value uint64)) {
	for i := range counterTable {
		f(counterTable[i].name, *counterTable[i].of(c))
	}
}

// Add adds o to c, counter by counter.
func (c *Counters) Add(o *Counters) {
	for i := range counterTable {
		*counterTable[i].of(c) += *counterTable[i].of(o)
	}
}

// Progress is a snapshot of the position of a queue pair in its PSN spaces, and of its retry
// budgets.
type Progress struct {
	SendPSN bth.PSN // next PSN that was never sent
	AckPSN  bth.PSN // oldest unacknowledged PSN; SendPSN if there is none
	RecvPSN bth.PSN // PSN expected from the peer

	Window  uint32 // PSNs that may be outstanding; 0 for unreliable services
	Reads   int    // READ and atomic requests that wait for their responses
	Retries uint8  // remainder of retry_cnt
	RNRLeft uint8  // remainder of rnr_retry
	RNRWait bool   // an RNR timer runs: the peer had no receive
	Early   int    // request packets kept until an earlier one arrives
}

// Progress returns the current progress of the connection. Before RTR and RTS, the PSNs are those
// of the attributes.
func (c *RC) Progress() Progress {
	r := &c.req
	p := Progress{
		SendPSN: c.qp.Attr.SQPSN, AckPSN: c.qp.Attr.SQPSN, RecvPSN: c.qp.Attr.RQPSN,
		Window: r.window, Reads: r.reads, Retries: r.retries, RNRLeft: r.rnrTries, RNRWait: r.rnrWaiting,
		Early: c.rsp.early.kept,
	}
	if r.window > 0 { // the requester was started
		p.SendPSN, p.AckPSN = r.next, r.una
	}
	if c.rsp.started {
		p.RecvPSN = c.rsp.expected
	}
	return p
}

// Progress returns the current progress of the connection.
func (c *UC) Progress() Progress {
	p := c.unreliable.Progress()
	p.RecvPSN = c.expected
	return p
}

// Progress returns the PSN of the next packet to send. UC adds the expected PSN; UD has none.
func (c *unreliable) Progress() Progress { return Progress{SendPSN: c.next, AckPSN: c.next} }

// Verdict is the result of Receive for one packet. It is an index for counters and not an error:
// whatever the verdict, the machine has done what the IBA requires. RC answers a bad request with a
// NAK; UC and UD drop it silently (IBA C9-165).
type Verdict uint8

// The verdicts. Those up to Duplicate occur in normal operation; the others show a fault or a
// loss at the peer, in the network or in the program.
const (
	Accepted           Verdict = iota // executed, or advanced the requester
	Duplicate                         // a request executed before, or a response no longer expected
	OutOfSequence                     // a request or READ response ahead of the expected PSN
	NoReceive                         // no receive for a SEND or for a WRITE with immediate data
	RNRWait                           // the peer had no receive: the requester waits
	SequenceNAK                       // the peer missed a packet: the requester sends it again
	RemoteError                       // the peer refused a request: the queue pair is in ERR
	GhostResponse                     // a response to a PSN that was never sent
	BadResponse                       // a response that does not match its request
	InvalidRequest                    // an invalid request: RC answers with a NAK, UC drops it
	AccessRefused                     // refused with NAK remote access error
	OperationalError                  // refused with NAK remote operational error
	UnknownDuplicate                  // a duplicate READ or atomic that cannot be answered again
	WrongState                        // the state of the queue pair does not allow this packet
	WrongService                      // the opcode belongs to another service type
	ReservedSyndrome                  // an AETH syndrome that the IBA reserves
	ReplyPending                      // dropped while an error NAK waits to be sent
	LocalError                        // the payload could not be stored: the queue pair is in ERR
	BadQKey                           // a datagram with a wrong Q_Key
	TooLong                           // a datagram longer than the receive
	CongestionNotified                // a congestion notification packet
	NumVerdicts                       // number of verdicts
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

// noNAK means that no NAK refuses the packet.
const noNAK bth.Syndrome = 0

// A fatalNAK is the meaning of a NAK code that ends a connection, at both ends (IBA 9.7.5.2): the
// responder sends it once and enters ERR, and the requester fails the request that it names.
type fatalNAK struct {
	verdict Verdict // verdict of the responder on the request packet
	// event is the affiliated asynchronous error at the responder, raised unless a completion
	// reports the error (IBA 11.6.3.1).
	event  qp.EventType
	status qp.WCStatus // status of the work request at the requester (IBA table 58)
}

// fatalNAKs is indexed by the NAK code minus that of PSN sequence error, a NAK that does not end
// the connection.
var fatalNAKs = [...]fatalNAK{
	bth.NakInvalidRequest - bth.NakPSNSequence:    {InvalidRequest, qp.EventQPReqErr, qp.WCRemInvReqErr},
	bth.NakRemoteAccess - bth.NakPSNSequence:      {AccessRefused, qp.EventQPAccessErr, qp.WCRemAccessErr},
	bth.NakRemoteOperational - bth.NakPSNSequence: {OperationalError, qp.EventQPFatal, qp.WCRemOpErr},
	bth.NakInvalidRD - bth.NakPSNSequence:         {InvalidRequest, qp.EventQPReqErr, qp.WCRemInvRDReqErr},
}

// reservedNAK stands for the NAK codes that the IBA reserves. Responders of this package never
// send them; a requester treats one as a bad response.
var reservedNAK = fatalNAK{status: qp.WCBadRespErr}

// fatal returns the meaning of a NAK code other than PSN sequence error.
func fatal(s bth.Syndrome) *fatalNAK {
	if i := int(s) - int(bth.NakPSNSequence); i > 0 && i < len(fatalNAKs) {
		return &fatalNAKs[i]
	}
	return &reservedNAK
}
