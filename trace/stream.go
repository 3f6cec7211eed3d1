package trace

import "github.com/gorxe/gorxe/bth"

// stream is the state of the requests that one end of a connection sends: that of the requester,
// and that of the responder under the assumption that it received what was captured.
//
// A response that contradicts the responder's state has two explanations, and the finding names
// both: the responder broke a rule, or the capture missed packets. The stream then continues with
// the state that the response implies.
type stream struct {
	open     bool // PSNs are known
	onlyAcks bool // PSNs are known from responses only: no request was captured
	exact    bool // una is certain, from the CM or an acknowledgement
	whole    bool // captured from its first packet

	began      bth.PSN // PSN of the first captured request
	una        bth.PSN // oldest unacknowledged PSN
	expected   bth.PSN // PSN that the responder expects
	latestEnd  bth.PSN // PSN after the packet that was captured last
	next       bth.PSN // PSN after the packet with the newest PSN
	countedEnd bth.PSN // PSN after the newest packet whose payload Flow.Payload contains

	recs  []record // by PSN modulo the length, a power of two
	works works

	back          goingBack // latest retransmission
	nak           nak
	earlier       nak // NAK before nak, if the requester did not go back between the two
	implied       implied
	id            uint16  // IP identification of the latest request
	acked         int     // frame of the latest acknowledgement, 0: none
	acks          int     // repetitions of the latest acknowledgement
	rnrs          int     // consecutive RNR NAKs
	timer         int64   // shortest time in nanoseconds after which a request timed out, 0: none did
	heard         int64   // time of the latest response
	advanced      int64   // time of the response that moved una to advancedTo
	advancedTo    bth.PSN // una after the latest response
	beyond        bth.PSN // PSN before which all is acknowledged, except the READ or atomic of implied
	refused       bool    // failed with an error NAK
	noCreditSince int64   // time since which the requester is limited to one request by lack of credit, 0: not limited
}

// record is the state of one request packet. A sighting is a capture of the packet or of a
// retransmission.
type record struct {
	psn    bth.PSN
	used   bool // the slot contains a record
	ackReq bool // of the latest sighting, as are id and at
	op     bth.Opcode
	size   uint16 // payload bytes
	id     uint16 // IP identification
	times  uint8  // number of sightings, at most 255
	behind bool   // Flow.LostBehind counts the latest sighting
	// Frame numbers modulo 2^32: of the latest sighting, and of the frame that showed the packet to
	// be missing; 0: none.
	latestFrame, missedFrame uint32
	at                       int64 // time
}

// latest returns the frame of the latest sighting, 0 if there is none.
func (r *record) latest() int { return int(r.latestFrame) }

// missed returns the frame that showed the packet to be missing, 0 if there is none.
func (r *record) missed() int { return int(r.missedFrame) }

func (r *record) setLatest(frame int) { r.latestFrame, r.behind = uint32(frame), false }
func (r *record) setMissed(frame int) { r.missedFrame = uint32(frame) }

// goingBack is a retransmission: the requester goes back to an earlier PSN and continues from
// there.
type goingBack struct {
	on      bool    // still going on
	kind    Kind    // finding that tells its cause: AfterNAK, AfterRNR, ImpliedNAK, AfterTimeout or AfterUnknown
	until   bth.PSN // PSN from which on packets are new
	from    bth.PSN // PSN that the requester would have sent next if it had not gone back
	goBackN bool    // it contains a packet that nothing requested: go-back-N, not a repair of single packets
	end     bth.PSN // PSN after its packets so far
	frame   int     // frame of its first packet
	at      int64   // time of its latest packet
	cause   int     // frame that caused it, 0: none
}

// nak is the latest NAK or RNR NAK.
type nak struct {
	fresh    bool    // the requester has not gone back since
	late     bool    // the requested packet was retransmitted before the NAK
	answered bool    // the requester went back to psn
	passed   bool    // the requester went back to an earlier PSN
	psn      bth.PSN // requested PSN
	syndrome bth.Syndrome
	sequence int   // frame of a sequence NAK that followed an RNR NAK, 0: none
	took     int64 // nanoseconds from the request that it answers, 0: unknown
	frame    int
	at       int64
}

// implied is an implied NAK: a response that shows that an earlier one is missing.
type implied struct {
	fresh bool    // the requester has not gone back since
	psn   bth.PSN // PSN of the missing response
	frame int     // frame of the response that shows this
	at    int64   // time of that frame
}

const (
	minRecords   = 16      // records that each stream may have in any case
	usualRecords = 32      // records that each stream has if all together have less than three quarters of the maximum
	maxRecords   = 4096    // maximum for a stream
	totalRecords = 1 << 18 // maximum for all streams together, if some have more than minRecords
	minWorks     = 4       // messages that each stream may have in any case
	totalWorks   = 1 << 14 // maximum for all streams together, if some have more than minWorks
)

// nearPSNs is the number of PSNs after a requested one within which a retransmission is still taken
// for the answer to the request: the packets before it were lost.
const nearPSNs = 32

// budget is the number of records and of works that all streams of an Analyzer have.
type budget struct{ records, works int }

// start opens the stream with psn as its first PSN.
func (s *stream) start(psn bth.PSN) {
	recs := s.recs
	clear(recs)
	*s = stream{open: true, began: psn, una: psn, expected: psn, latestEnd: psn, next: psn, countedEnd: psn, recs: recs,
		works: s.works}
}

// outstanding reports whether the requester has sent requests that are not acknowledged.
func (s *stream) outstanding() bool { return s.open && s.next.Diff(s.una) > 0 }

// at returns the record of psn, or nil.
func (s *stream) at(psn bth.PSN) *record {
	if len(s.recs) == 0 {
		return nil
	}
	if r := &s.recs[int(psn)&(len(s.recs)-1)]; r.used && r.psn == psn {
		return r
	}
	return nil
}

// slot returns the record of psn. A new record replaces that of another PSN in the same place.
func (s *stream) slot(psn bth.PSN, b *budget) *record {
	s.room(psn, b)
	r := &s.recs[int(psn)&(len(s.recs)-1)]
	if !r.used || r.psn != psn {
		*r = record{psn: psn, used: true}
	}
	return r
}

// room grows the records to cover all PSNs from una to psn, within the limits.
func (s *stream) room(psn bth.PSN, b *budget) {
	n := len(s.recs)
	switch {
	case n > 0:
	case b.records < totalRecords*3/4:
		n = usualRecords
	default:
		n = minRecords
	}
	for d := max(int(psn.Diff(s.una)), int(s.next.Diff(s.una))); n <= d && n < maxRecords &&
		b.records+n <= totalRecords; {
		n *= 2
	}
	if n == len(s.recs) {
		return
	}
	b.records += n - len(s.recs)
	old := s.recs
	s.recs = make([]record, n)
	for i := range old {
		if old[i].used {
			s.recs[int(old[i].psn)&(n-1)] = old[i]
		}
	}
}

// work is a message with its state.
type work struct {
	m     *Message
	first bth.PSN
	end   bth.PSN // PSN after its last packet, as far as known
	op    bth.Operation
	open  bool // its last packet was not captured so far
	whole bool // end is final
	split bool // a WRITE sent as one WRITE ONLY message per packet, as a SplitNote says
	over  bool // answered, failed or evicted

	total   uint64 // length from the RETH
	got     uint64 // payload bytes received, without duplicates
	va      uint64
	rkey    uint32
	reth    bool    // its first packet had a RETH
	resp    bth.PSN // PSN of the next response in order
	high    bth.PSN // PSN after the captured response with the newest PSN
	value   uint64  // original value in the latest response to an atomic
	compare uint64  // of a compare and swap
	swap    uint64  // of a compare and swap
	answers int     // number of responses to an atomic
	request int     // frame of the latest request packet
}

// dataOp reports whether the response carries data that the requester needs.
func (w *work) dataOp() bool { return hasData(w.op) }

// hasData reports whether the response to an operation carries data that the requester needs.
func hasData(op bth.Operation) bool {
	return op == bth.OpReadRequest || op == bth.OpCmpSwap || op == bth.OpFetchAdd
}

// answerOp returns the operation of the packets that respond to w: OpAck, OpReadResponse or
// OpAtomicAck.
func (w *work) answerOp() bth.Operation {
	switch w.op {
	case bth.OpReadRequest, bth.OpFlush, bth.OpAtomicWrite:
		return bth.OpReadResponse
	case bth.OpCmpSwap, bth.OpFetchAdd:
		return bth.OpAtomicAck
	}
	return bth.OpAck
}

// evicts reports whether s has captured psn and has more PSNs in flight than records, so that the
// state of some is forgotten.
func (s *stream) evicts(psn bth.PSN) bool {
	return int(s.next.Diff(s.una)) > len(s.recs) && psn.Diff(s.began) >= 0 && psn.Diff(s.next) < 0
}

// works are the messages of one end in PSN order: those that await a response, and some that are
// over.
type works struct {
	ring []work
	head int // index of the oldest
	n    int
	done int // number of the oldest messages that are over
}

// kept is the number of messages that are remembered after their end, to recognize
// retransmissions.
const kept = 64

// smallRing is the length up to which a ring is never shrunk.
const smallRing = 2 * kept

// get returns the i-th message, 0 for the oldest.
func (q *works) get(i int) *work { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *works) newest() *work {
	if q.n == 0 {
		return nil
	}
	return q.get(q.n - 1)
}

// find returns the message that psn belongs to, or nil.
func (q *works) find(psn bth.PSN) *work {
	if i := q.index(psn); i >= 0 {
		return q.get(i)
	}
	return nil
}

// index returns the argument of get for the message that psn belongs to, or -1.
func (q *works) index(psn bth.PSN) int {
	lo, hi := 0, q.n
	for lo < hi {
		if mid := (lo + hi) / 2; q.get(mid).first.Diff(psn) <= 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || psn.Diff(q.get(lo-1).end) >= 0 {
		return -1
	}
	return lo - 1
}

// after returns the argument of get for the oldest message that begins after psn, n if there is
// none.
func (q *works) after(psn bth.PSN) int {
	i := q.n
	for i > 0 && q.get(i-1).first.Diff(psn) > 0 {
		i--
	}
	return i
}

// remove removes the i-th message.
func (q *works) remove(i int) {
	for ; i < q.n-1; i++ {
		*q.get(i) = *q.get(i + 1)
	}
	q.n--
	*q.get(q.n) = work{}
}

// insert inserts a message that begins at psn, in PSN order, and returns it.
func (q *works) insert(psn bth.PSN) *work {
	if q.n == len(q.ring) {
		q.resize(max(4, 2*len(q.ring)))
	}
	i := q.n
	for ; i > 0 && q.get(i-1).first.Diff(psn) > 0; i-- {
		*q.get(i) = *q.get(i - 1)
	}
	q.done = min(q.done, i)
	q.n++
	w := q.get(i)
	*w = work{first: psn, end: psn.Add(1), resp: psn, high: psn}
	return w
}

// drop removes the oldest message.
func (q *works) drop() {
	*q.get(0) = work{}
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	q.done = max(0, q.done-1)
	if n := len(q.ring); n > smallRing && q.n <= n/4 {
		q.resize(n / 2)
	}
}

func (q *works) resize(n int) {
	ring := make([]work, n)
	for i := range q.n {
		ring[i] = *q.get(i)
	}
	q.ring, q.head = ring, 0
}

// adopt makes all messages those of f, sent by end from.
func (q *works) adopt(f *Flow, from int) {
	for i := range q.n {
		q.get(i).m.Flow, q.get(i).m.From = f, from
	}
}
