package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// Counters of one queue pair. Where Linux rxe has a hardware counter for the same
// event, Each uses its name.
type Counters struct {
	SentPackets       uint64 // all packets built
	ReceivedPackets   uint64 // all packets given to Receive
	Retransmitted     uint64 // request packets sent again
	Timeouts          uint64 // local ACK timeouts
	Probes            uint64 // packets sent again because no answer came when it should have
	ImpliedNAKs       uint64 // gaps in READ responses seen by the requester
	SequenceNAKsSent  uint64
	SequenceNAKsTaken uint64
	RNRNAKsSent       uint64
	RNRNAKsTaken      uint64
	ErrorNAKsSent     uint64
	ErrorNAKsTaken    uint64
	DuplicateRequests uint64
	OutOfSequence     uint64
	EarlyKept         uint64 // request packets kept until what was missing before them came
	EarlyDropped      uint64 // those that were not: too far ahead, there already, or no room
	RetryExceeded     uint64
	RNRRetryExceeded  uint64
	ReadsReplayed     uint64
	ReplaysRefused    uint64 // duplicate READs whose responses were sent again often enough
	QKeyViolations    uint64 // datagrams with a wrong Q_Key
	OversizeDatagrams uint64 // datagrams longer than the path takes, which do not leave
	CNPsTaken         uint64 // congestion notification packets
}

// counterTable has each counter with its name, in the order in which they are shown.
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

// Each calls f with the name and value of every counter, in a fixed order.
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

// Progress tells how far a queue pair has come.
type Progress struct {
	SendPSN bth.PSN // that the next packet will have which was never sent
	AckPSN  bth.PSN // oldest that was sent and is not acknowledged; SendPSN where there is none
	RecvPSN bth.PSN // expected from the peer

	Window  uint32 // packets that may be unacknowledged at the moment; 0 where nothing is acknowledged
	Reads   int    // READ and atomic requests that wait for their responses
	Retries uint8  // what is left of retry_cnt
	RNRLeft uint8  // what is left of rnr_retry
	RNRWait bool   // the peer asked for patience: it has no receive posted
	Early   int    // request packets that are held until an earlier one comes
}

// Progress returns how far the connection has come.
func (c *RC) Progress() Progress {
	r := &c.req
	p := Progress{
		SendPSN: c.qp.Attr.SQPSN, AckPSN: c.qp.Attr.SQPSN, RecvPSN: c.qp.Attr.RQPSN,
		Window: r.window, Reads: r.reads, Retries: r.retries, RNRLeft: r.rnrTries, RNRWait: r.waiting,
		Early: c.rsp.early.kept,
	}
	if r.window > 0 { // it was in RTS
		p.SendPSN, p.AckPSN = r.next, r.una
	}
	if c.rsp.started {
		p.RecvPSN = c.rsp.expected
	}
	return p
}

// Progress returns how far the connection has come.
func (c *UC) Progress() Progress {
	p := c.unreliable.Progress()
	p.RecvPSN = c.expected
	return p
}

// Progress returns how many datagrams have left; what is received is not numbered.
func (c *unreliable) Progress() Progress { return Progress{SendPSN: c.next, AckPSN: c.next} }

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
