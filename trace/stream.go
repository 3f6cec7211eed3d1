package trace

import "github.com/gorxe/gorxe/bth"

// stream are the requests of one end of a connection as the capture shows them: where the requester stands, and where its
// responder must stand if it got what passed here.
type stream struct {
	open     bool // PSNs are known
	onlyAcks bool // from acknowledgements alone: no request was seen yet
	exact    bool // una is: the connection manager or an acknowledgement told
	whole    bool // the capture has it from its beginning

	began  bth.PSN // of the first request that was seen
	una    bth.PSN // the oldest that is not acknowledged
	expect bth.PSN // that the responder waits for
	pos    bth.PSN // behind the latest packet
	next   bth.PSN // behind the newest packet
	count  bth.PSN // behind the newest packet whose payload was counted

	recs  []record
	works works

	back    goingBack
	nak     nak
	implied implied
	id      uint16 // IP identification of the latest request
	acked   int    // frame of the latest acknowledgement
	acks    int    // how often it was repeated
	rnrs    int    // RNR NAKs in a row
	refused bool   // by an error NAK
	waits   int64  // since when only one request may be sent for want of credit
}

// record is what is remembered of one request packet.
type record struct {
	psn    bth.PSN
	used   bool
	ackReq bool
	op     bth.Opcode
	size   uint16
	id     uint16
	times  int   // how often it was seen
	first  int   // frame of the first and of the latest time
	latest int   //
	missed int   // frame that showed it to be missing, 0: none
	at     int64 // of the latest time
}

// goingBack is a repetition: from a PSN up to where the requester was before.
type goingBack struct {
	on    bool
	kind  Kind
	until bth.PSN
	from  bth.PSN // where the requester was
	tail  bool    // one of its packets so far follows another though nobody asked for it
	end   bth.PSN // behind them
	frame int     // where it began
	cause int     // frame that asked for it; 0: none
}

// nak is the latest NAK or RNR NAK, until the requester goes back.
type nak struct {
	fresh    bool
	late     bool // what it asks for was sent again before it came
	psn      bth.PSN
	syndrome bth.Syndrome
	frame    int
	at       int64
}

// implied is an answer that shows an earlier one to be missing.
type implied struct {
	fresh bool
	psn   bth.PSN // of the request or of the response that is missing
	frame int
}

const (
	firstRecords = 32
	maxRecords   = 4096
	allRecords   = 1 << 19 // of all streams, beyond the first of each
	fewWorks     = 16      // that each stream may have
	allWorks     = 1 << 16 // of all streams, beyond the few of each
)

// budget is what all streams of an Analyzer have in use.
type budget struct{ records, works int }

// start makes psn the first.
func (s *stream) start(psn bth.PSN) {
	recs := s.recs
	clear(recs)
	*s = stream{open: true, began: psn, una: psn, expect: psn, pos: psn, next: psn, count: psn, recs: recs, works: s.works}
}

// at returns what is remembered of psn, or nil.
func (s *stream) at(psn bth.PSN) *record {
	if len(s.recs) == 0 {
		return nil
	}
	if r := &s.recs[int(psn)&(len(s.recs)-1)]; r.used && r.psn == psn {
		return r
	}
	return nil
}

// slot returns the place of psn, whatever was in it is forgotten unless it is psn's.
func (s *stream) slot(psn bth.PSN, b *budget) *record {
	s.room(psn, b)
	r := &s.recs[int(psn)&(len(s.recs)-1)]
	if !r.used || r.psn != psn {
		*r = record{psn: psn, used: true}
	}
	return r
}

// room makes the records reach from what is not acknowledged to psn, as far as the bounds permit.
func (s *stream) room(psn bth.PSN, b *budget) {
	n := max(len(s.recs), firstRecords)
	for d := max(int(psn.Diff(s.una)), int(s.next.Diff(s.una))); n <= d && n < maxRecords && b.records+n <= allRecords; {
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

// work is a message and what has to be remembered of it.
type work struct {
	m     *Message
	first bth.PSN
	end   bth.PSN // behind its last, as far as it is known
	op    bth.Operation
	open  bool // its last packet has not come
	whole bool // end is right
	split bool // a WRITE that is sent as a WRITE for each packet, as gorxe noted
	over  bool // answered, failed or given up

	total   uint64 // of the RETH
	got     uint64 // bytes that came, each once
	va      uint64
	rkey    uint32
	reth    bool
	resp    bth.PSN // the response that is to come
	high    bth.PSN // behind the newest response
	value   uint64  // that an atomic found
	answers int
	request int // frame of the latest request
}

// dataOp reports whether the requester needs the response itself: its data.
func (w *work) dataOp() bool {
	return w.op == bth.OpReadRequest || w.op == bth.OpCmpSwap || w.op == bth.OpFetchAdd
}

// answerOp is what answers it besides an acknowledgement.
func (w *work) answerOp() bth.Operation {
	switch w.op {
	case bth.OpReadRequest, bth.OpFlush, bth.OpAtomicWrite:
		return bth.OpReadResponse
	case bth.OpCmpSwap, bth.OpFetchAdd:
		return bth.OpAtomicAck
	}
	return bth.OpAck
}

// works are the messages of one end in the order of their PSNs: those that wait for an answer, and some that have theirs.
type works struct {
	ring []work
	head int // of the oldest
	n    int
	done int // how many of the oldest are over
}

// kept is how many messages are remembered after their end, for what is repeated of them.
const kept = 64

// smallRing is the length that a ring of messages may keep whatever is in it: enough for those kept, and some more.
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

// insert makes room for a message that begins at psn and returns it.
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

// drop forgets the oldest.
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
