package gobackn

import "github.com/gorxe/gorxe/bth"

// queuePair is a queue pair: a requester and a responder.
type queuePair struct {
	sim  *sim
	conn *Conn
	end  int
	host *host
	peer *queuePair

	// Requester.
	posted   bth.PSN // PSN after the messages posted
	una      bth.PSN // oldest unacknowledged PSN
	next     bth.PSN // PSN to send next
	newest   bth.PSN // PSN after the newest packet sent
	oldest   int     // index of the message that una belongs to
	sinceAck int     // messages since the latest AckReq
	back     *GoBack // latest go-back
	pending  bool    // a go-back is about to begin
	waiting  bool    // for the RNR timer
	retried  bool    // a go-back has begun since una advanced
	implied  bool    // an implied NAK was handled since una advanced
	expiry   int64   // time at which the acknowledge timer expires, 0: stopped
	ticking  bool    // an event for expiry is scheduled
	reqTurn  bool    // in host.turns with requests

	// Responder.
	expected   bth.PSN
	msn        uint32
	nakked     bool // a sequence NAK for expected was sent
	refused    bool // an RNR NAK for expected was sent
	responses  []response
	respTurn   bool // in host.turns with responses
	notifiedAt int64
}

func newQueuePair(s *sim, c *Conn, end int) *queuePair {
	q := &queuePair{sim: s, conn: c, end: end, host: s.hosts[c.Ends[end].Host], notifiedAt: -cnpInterval}
	start := c.Ends[end].Start
	q.posted, q.una, q.next, q.newest = start, start, start, start
	q.expected = c.Ends[1-end].Start
	return q
}

// cnpInterval is the minimum time between CNPs of a queue pair, in nanoseconds.
const cnpInterval = 50_000

// notify sends a CNP, unless the latest one was sent recently (IBA A17.9.3).
func (q *queuePair) notify() {
	if q.sim.now-q.notifiedAt < cnpInterval {
		return
	}
	q.notifiedAt = q.sim.now
	q.host.ready = append(q.host.ready, q.packet(bth.CNP, 0))
	q.host.wake()
}

func (q *queuePair) packet(op bth.Opcode, psn bth.PSN) *Sent {
	return &Sent{Conn: q.conn, From: q.end, Opcode: op, PSN: psn}
}

func (q *queuePair) messages() []*Message { return q.conn.Ends[q.end].Messages }

// post posts a message and schedules the next post.
func (q *queuePair) post() {
	s := q.sim
	e := &q.conn.Ends[q.end]
	unfinished := len(e.Messages) - q.oldest
	if unfinished < s.Depth {
		m := s.message()
		m.First, m.index = q.posted, len(e.Messages)
		e.Messages = append(e.Messages, m)
		q.posted = m.End()
		q.wantRequest()
	}
	if len(e.Messages) < s.Messages {
		s.after(1+s.upTo(2*s.Think), q.post)
	}
}

// message returns a random message.
func (s *sim) message() *Message {
	v := &s.Verbs
	m := &Message{PSNs: 1}
	n := s.rand.IntN(v.Send + v.Write + v.WriteImm + v.Read + v.Atomic)
	for i, weight := range []int{v.Send, v.Write, v.WriteImm, v.Read, v.Atomic} {
		if n -= weight; n < 0 {
			m.Verb = Verb(i)
			break
		}
	}
	if m.Verb == Atomic {
		m.Len = 8
		return m
	}
	m.Len = 1 + s.rand.IntN(s.MaxLen)
	if s.rand.IntN(3) == 0 {
		m.Len = 1 + s.rand.IntN(min(s.MaxLen, 512))
	}
	m.PSNs = (m.Len + s.MTU - 1) / s.MTU
	return m
}

func (q *queuePair) wantRequest() {
	if !q.reqTurn {
		q.reqTurn = true
		q.host.turns = append(q.host.turns, turn{q: q})
	}
	q.host.wake()
}

func (q *queuePair) wantResponse() {
	if !q.respTurn {
		q.respTurn = true
		q.host.turns = append(q.host.turns, turn{q: q, responses: true})
	}
	q.host.wake()
}
