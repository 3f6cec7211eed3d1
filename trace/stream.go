package trace

import "github.com/gorxe/gorxe/bth"

// stream is the state of the requests of one end of a connection: of the requester, and of its
// responder if it received what was captured.
//
// If the capture may have missed packets, a finding names both explanations: a broken rule, or a
// packet that was not captured. The stream then continues from the response.
type stream struct {
	open     bool // PSNs are known
	onlyAcks bool // known from responses only, no request seen
	exact    bool // una is certain, from the CM or an acknowledgement
	whole    bool // captured from its first packet

	began      bth.PSN // PSN of the first captured request
	una        bth.PSN // oldest unacknowledged PSN
	expected   bth.PSN // PSN that the responder expects
	latestEnd  bth.PSN // PSN after the latest packet
	next       bth.PSN // PSN after the newest packet
	countedEnd bth.PSN // PSN after the newest packet whose payload was counted

	recs  []record
	works works

	back          goingBack
	nak           nak
	implied       implied
	id            uint16 // IP identification of the latest request
	acked         int    // frame of the latest acknowledgement
	acks          int    // repetitions of the latest acknowledgement
	rnrs          int    // consecutive RNR NAKs
	refused       bool   // failed with an error NAK
	noCreditSince int64  // time since which the requester is limited to one request by lack of credit, 0: not limited
}

// record is the state of one request packet.
type record struct {
	psn    bth.PSN
	used   bool
	ackReq bool
	op     bth.Opcode
	size   uint16
	id     uint16
	times  int   // times seen
	first  int   // frame of the first and of the latest sighting
	latest int   //
	missed int   // frame that showed it to be missing, 0: none
	at     int64 // time of the latest sighting
}

// goingBack is a retransmission: from a PSN to where the requester was before.
type goingBack struct {
	on      bool
	kind    Kind
	until   bth.PSN
	from    bth.PSN // PSN that the requester had reached
	goBackN bool    // it contains a packet that nothing requested: go-back-N, not a repair of single packets
	end     bth.PSN // PSN after its packets so far
	frame   int     // frame of its first packet
	cause   int     // frame that caused it, 0: none
}

// nak is the latest NAK or RNR NAK, until the requester goes back.
type nak struct {
	fresh    bool
	late     bool // the requested packet was retransmitted before the NAK
	psn      bth.PSN
	syndrome bth.Syndrome
	frame    int
	at       int64
}

// implied is an implied NAK: a response that shows that an earlier one is missing.
type implied struct {
	fresh bool
	psn   bth.PSN // PSN of the missing response
	frame int
}

const (
	minRecords   = 32
	maxRecords   = 4096
	totalRecords = 1 << 19 // of all streams, beyond minRecords of each
	minWorks     = 16      // guaranteed to each stream
	totalWorks   = 1 << 16 // of all streams, beyond minWorks of each
)

// budget is the usage of all streams of an Analyzer.
type budget struct{ records, works int }

// start opens the stream with psn as its first PSN.
func (s *stream) start(psn bth.PSN) {
	recs := s.recs
	clear(recs)
	*s = stream{open: true, began: psn, una: psn, expected: psn, latestEnd: psn, next: psn, countedEnd: psn, recs: recs,
		works: s.works}
}

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

// slot returns the record of psn. It replaces the record of another PSN in the same place.
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
	n := max(len(s.recs), minRecords)
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
	open  bool // its last packet was not seen
	whole bool // end is final
	split bool // a WRITE sent as one WRITE ONLY message per packet, as a SplitNote says
	over  bool // answered, failed or evicted

	total   uint64 // length from the RETH
	got     uint64 // payload bytes received, without duplicates
	va      uint64
	rkey    uint32
	reth    bool
	resp    bth.PSN // PSN of the next response
	high    bth.PSN // PSN after the newest response
	value   uint64  // original value returned by an atomic
	compare uint64  // of a compare and swap
	swap    uint64  // of a compare and swap
	answers int
	request int // frame of the latest request packet
}

// dataOp reports whether the response carries data that the requester needs.
func (w *work) dataOp() bool {
	return w.op == bth.OpReadRequest || w.op == bth.OpCmpSwap || w.op == bth.OpFetchAdd
}

// answerOp returns the operation of the response to w: OpAck, or that of a response of its own.
func (w *work) answerOp() bth.Operation {
	switch w.op {
	case bth.OpReadRequest, bth.OpFlush, bth.OpAtomicWrite:
		return bth.OpReadResponse
	case bth.OpCmpSwap, bth.OpFetchAdd:
		return bth.OpAtomicAck
	}
	return bth.OpAck
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

// insert inserts a message that begins at psn, in PSN order, and returns it.
func (q *works) insert(psn bth.PSN) *work {
	if q.n == len(q.ring) {
		q.resize(max(8, 2*len(q.ring)))
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

func (q *works) adopt(f *Flow, from int) {
	for i := range q.n {
		q.get(i).m.Flow, q.get(i).m.From = f, from
	}
}
