package trace

import (
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace/internal/near"
	"github.com/gorxe/gorxe/trace/internal/overlay"
	"github.com/gorxe/gorxe/trace/ulp"
)

// conn is a flow with the state that the Analyzer needs to follow it. Flow is allocated
// separately: outputs and messages may keep it without keeping the rest.
type conn struct {
	*Flow
	// dir[i] is the state of the requests that Ends[i] sends; nil before the first one and the
	// first response to one.
	dir        [2]*stream
	directions []*direction
	sidrREQs   []sidrREQ // latest SIDR_REQs, a ring; only for datagrams between queue pairs 1
	sidrCount  int       // number of SIDR_REQs so far

	cm           *exchange    // nil if the capture shows no CM exchange
	ce           [2]int       // for each end, the latest frame that it sent with ECN CE; 0: none
	notified     [2]bool      // for each end, it has sent a CNP
	at           int64        // time of the latest packet, except CM messages; noTime: none
	busy         bool         // requests were outstanding after that packet
	newer, older *conn        // list in order of the latest packet
	gapped       bool         // no packet since the latest call of Gap
	upper        *ulp.Session // nil if the upper-layer protocol is unknown
	probes       uint8        // SENDs that did not show the upper-layer protocol
}

// side returns the state of the requests that end i sends.
func (c *conn) side(i int) *stream {
	if c.dir[i] == nil {
		c.dir[i] = &stream{}
	}
	return c.dir[i]
}

// noStream is the state of requests before the first one.
var noStream stream

// seen returns side(i), or noStream, which must not be changed.
func (c *conn) seen(i int) *stream {
	if st := c.dir[i]; st != nil {
		return st
	}
	return &noStream
}

// direction is one direction of a conversation. A BTH identifies only the destination queue pair,
// so Analyzer.pair has to find the two directions of a connection.
type direction struct {
	key  directionKey
	conn *conn
	from int // index in conn.Ends of the end that sends it
	// paired reports whether the other direction is known.
	paired  bool
	port    uint16 // UDP source port of the latest packet
	service bth.Service

	*pairing // nil when the direction is paired
}

// pairing is the state of a direction whose other direction is unknown.
type pairing struct {
	place     near.Place   // place in the unpairedSet
	rivals    []*direction // directions that matched every ambiguous packet so far, at most maxRivals
	ambiguous int          // number of packets that matched several directions equally well
	alone     bool         // the latest packet matched no direction
	aloneEnd  bth.PSN      // if alone, the PSN after that packet and the READ responses that continue it
	responds  bool         // counted in unpairedSet.responding
}

// unpairedSet holds the directions from one host to another whose other direction is unknown. There
// may be thousands.
type unpairedSet struct {
	near.Set[*direction]
	responding int // number of directions with responses
}

// note counts h, which is in s, if it has responses.
func (s *unpairedSet) note(h *direction) {
	if !h.responds && h.conn.seen(1-h.from).open {
		h.responds = true
		s.responding++
	}
}

// Place returns the place of h in an unpairedSet.
func (h *direction) Place() *near.Place { return &h.place }

// hosts returns the hosts of h.
func (h *direction) hosts() hostPair { return hostPair{h.key.src, h.key.dst, h.key.net} }

type directionKey struct {
	src, dst netip.Addr
	to       bth.QPN // destination queue pair
	by       bth.QPN // source queue pair with datagramMark, for datagrams only
	net      overlay.Network
}

// hostPair is the source and the destination host of a direction.
type hostPair struct {
	src, dst netip.Addr
	net      overlay.Network
}

// back returns the pair of the opposite direction.
func (w hostPair) back() hostPair { return hostPair{w.dst, w.src, w.net} }

// table holds the conversations that are being followed: a conn for each, and the directions seen
// so far. Outputs show a conn as a flow.
type table struct {
	limit          int // maximum of count
	directions     map[directionKey]*direction
	unpaired       map[hostPair]*unpairedSet   // directions that are not paired, by hosts
	recent         [2]*direction               // the two latest results of find, the latest first
	newest, oldest *conn                       // ends of the list in order of the latest packet
	count          int                         // number of conns
	number         int                         // Number of the latest flow
	evicted        uint64                      // flows evicted because of the limit
	end            func(c *conn, evicted bool) // called when a flow ends or is evicted
}

func (t *table) init(limit int, end func(*conn, bool)) {
	t.limit, t.end = limit, end
	t.clear()
}

func (t *table) clear() {
	t.directions, t.unpaired = map[directionKey]*direction{}, map[hostPair]*unpairedSet{}
	t.recent = [2]*direction{}
	t.newest, t.oldest, t.count = nil, nil, 0
}

// find returns the direction with the given key, or nil.
func (t *table) find(key directionKey) *direction {
	for i, h := range t.recent {
		if h != nil && h.key == key {
			if i == 1 {
				t.recent[0], t.recent[1] = t.recent[1], t.recent[0]
			}
			return h
		}
	}
	h := t.directions[key]
	if h != nil {
		t.recent[1], t.recent[0] = t.recent[0], h
	}
	return h
}

// add creates a conn whose first packet is p. At the limit it evicts the conn that has been silent
// for longest.
func (t *table) add(service bth.Service, p *Packet) *conn {
	if t.count >= t.limit {
		t.evicted++
		t.drop(t.oldest, true)
	}
	t.number++
	c := &conn{
		Flow: &Flow{Number: t.number, Service: service, First: p.Number, Begin: p.Time, Last: p.Time},
		at:   noTime,
	}
	c.VNI, c.HasVNI = overlay.VNI(p.Outer)
	t.count++
	t.link(c)
	return c
}

// attach adds the direction key to c, as the one that end from sends, and returns it. If another
// conversation has the key, that conversation ends.
func (t *table) attach(key directionKey, c *conn, from int) *direction {
	if old := t.directions[key]; old != nil {
		if old.conn == c {
			old.from = from
			return old
		}
		t.drop(old.conn, false)
	}
	h := &direction{key: key, conn: c, from: from, pairing: &pairing{}}
	t.directions[key] = h
	c.directions = append(c.directions, h)
	return h
}

// drop ends c and removes it; evicted reports whether it is removed because of the limit on flows.
func (t *table) drop(c *conn, evicted bool) {
	t.end(c, evicted)
	for _, h := range c.directions {
		t.forget(h)
	}
	t.unlink(c)
	t.count--
}

// forget removes h from all lookups.
func (t *table) forget(h *direction) {
	delete(t.directions, h.key)
	t.removeUnpaired(h)
	for i := range t.recent {
		if t.recent[i] == h {
			t.recent[i] = nil
		}
	}
}

// addUnpaired adds h to the unpaired directions.
func (t *table) addUnpaired(h *direction) {
	s := t.unpaired[h.hosts()]
	if s == nil {
		s = &unpairedSet{}
		t.unpaired[h.hosts()] = s
	}
	s.Add(h)
	s.note(h)
}

// removeUnpaired removes h from the unpaired directions.
func (t *table) removeUnpaired(h *direction) {
	s := t.unpaired[h.hosts()]
	if s == nil || h.pairing == nil {
		return
	}
	t.silence(h)
	if s.Remove(h); s.Len() == 0 {
		delete(t.unpaired, h.hosts())
	}
}

// silence forgets that h, if it is unpaired, has responses.
func (t *table) silence(h *direction) {
	if h.pairing != nil && h.responds {
		h.responds = false
		t.unpaired[h.hosts()].responding--
	}
}

// setPaired marks h as paired.
func (t *table) setPaired(h *direction) {
	t.removeUnpaired(h)
	h.paired, h.pairing = true, nil
}

// noteUnpaired records a packet of h, which is unpaired.
func (t *table) noteUnpaired(h *direction, psn bth.PSN) {
	if s := t.unpaired[h.hosts()]; s != nil {
		s.Note(h, h.port, psn)
		s.note(h)
	}
}

// answered reports whether a direction of w has responses and is unpaired.
func (t *table) answered(w hostPair) bool {
	s := t.unpaired[w]
	return s != nil && s.responding > 0
}

// touch makes c the conn with the latest packet.
func (t *table) touch(c *conn) {
	c.gapped = false
	if t.newest != c {
		t.unlink(c)
		t.link(c)
	}
}

// link makes c the newest connection.
func (t *table) link(c *conn) {
	c.older, c.newer = t.newest, nil
	if t.newest != nil {
		t.newest.newer = c
	}
	t.newest = c
	if t.oldest == nil {
		t.oldest = c
	}
}

// unlink removes c from the list of connections in order of use.
func (t *table) unlink(c *conn) {
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		t.newest = c.older
	}
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		t.oldest = c.newer
	}
	c.newer, c.older = nil, nil
}

// byNumber returns all conns in order of number.
func (t *table) byNumber() []*conn {
	all := make([]*conn, 0, t.count)
	for c := t.oldest; c != nil; c = c.newer {
		all = append(all, c)
	}
	sortByNumber(all)
	return all
}
