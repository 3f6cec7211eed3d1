package trace

// Finding is something that a reader should know of a packet, with the packets it came from.
type Finding struct {
	Kind  Kind
	Level Level
	// Text is one plain sentence: what happened and why.
	Text string
	// Frames are the numbers of the frames that it is concluded from, the finding's own last.
	Frames []int
}

// Level is how much a finding matters.
type Level uint8

const (
	Info    Level = iota // as it should be, and worth knowing
	Warning              // costs time
	Error                // breaks a rule, or ends a connection
)

func (l Level) String() string { return [...]string{"info", "warning", "error"}[min(l, Error)] }

// Kind names a finding. Its text is stable: it stands in JSON, and filters name it.
type Kind string

const (
	WrongICRC    Kind = "icrc_wrong"
	RxeICRC      Kind = "icrc_of_rxe"     // of a FLUSH
	Malformed    Kind = "malformed"       // it cannot be decoded
	Gap          Kind = "gap"             // a PSN is missing
	Duplicate    Kind = "duplicate"       // the same packet again, and nothing was lost
	Reordered    Kind = "reordered"       // it comes after one that was sent later
	SequenceNAK  Kind = "nak_sequence"    // a responder asks for what it misses
	ErrorNAK     Kind = "nak_error"       // a responder refuses: its text has address, length and key
	RNRNAK       Kind = "rnr_nak"         // no receive was posted
	AfterNAK     Kind = "again_after_nak" // sent again because a sequence NAK asked for it
	KeptEarly    Kind = "kept_early"      // a responder had kept what came after a gap
	AfterTimeout Kind = "again_after_timeout"
	AfterRNR     Kind = "again_after_rnr"
	ImpliedNAK   Kind = "implied_nak"     // a later response shows that one was lost
	ReadAgain    Kind = "read_again"      // the rest of a READ is asked for again
	AtomicReplay Kind = "atomic_replayed" // a duplicate atomic is answered from memory
	AckCoalesced Kind = "ack_coalesced"   // one acknowledgement for several requests
	NoCredit     Kind = "no_credit"       // the requester may not send
	ECNMarked    Kind = "ecn_ce"
	Congestion   Kind = "cnp"
	CMRetry      Kind = "cm_retry"
	CMRejected   Kind = "cm_rejected"
	NotGoBackN   Kind = "responder_breaks_go_back_n" // it acknowledges what it cannot have
	PadLies      Kind = "pad_or_length"              // payload and headers contradict each other
	NeverMigReq  Kind = "no_migreq"                  // a peer that never sets MigReq, which the CM's APM may take for a migration
	Misnumbered  Kind = "misnumbered"                // one PSN for two different packets
	Unanswered   Kind = "unanswered"                 // the capture or the connection ends before an answer
)
