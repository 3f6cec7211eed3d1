package trace

import (
	"net/netip"
	"slices"

	"github.com/gorxe/gorxe/bth"
)

// conn is a flow with the state that the Analyzer needs to follow it. Flow is allocated
// separately: outputs and messages may keep it without keeping the rest.
type conn struct {
	*Flow
	// dir[i] are the requests that Ends[i] sends, and their state.
	dir    [2]stream
	halves []*half
	asking []asking // latest SIDR_REQs, a ring; only for queue pairs 1
	asked  int

	cm           *exchange
	ce           [2]int // latest frame from end i with ECN CE
	newer, older *conn  // list in order of the latest packet
	gapped       bool   // no packet since the latest gap
}

// half is one direction of a conversation. A BTH identifies only the destination queue pair, so
// directions are matched by pair.
type half struct {
	key  halfKey
	conn *conn
	from int // index in conn.Ends of the sender
	// paired reports whether the other direction is known.
	paired  bool
	port    uint16 // UDP source port
	packets int
	service bth.Service
	tries   int // acknowledgements that matched several directions equally
}

type halfKey struct {
	src, dst netip.Addr
	to       bth.QPN
	by       bth.QPN // source queue pair, for datagrams only
}

// way is a direction between two hosts.
type way struct{ src, dst netip.Addr }

func (w way) back() way { return way{w.dst, w.src} }

// table holds the flows that are followed.
type table struct {
	limit          int
	halves         map[halfKey]*half
	loose          map[way][]*half // halves that are not paired
	recent         [2]*half
	newest, oldest *conn
	count          int
	number         int
	evicted        uint64
	end            func(c *conn, cut bool)
}

// maxLoose limits the unpaired halves per way that pair searches.
const maxLoose = 64

func (t *table) init(limit int, end func(*conn, bool)) {
	t.limit, t.end = limit, end
	t.clear()
}

func (t *table) clear() {
	t.halves, t.loose = map[halfKey]*half{}, map[way][]*half{}
	t.recent = [2]*half{}
	t.newest, t.oldest, t.count = nil, nil, 0
}

// find returns the half of key, or nil.
func (t *table) find(key halfKey) *half {
	for i, h := range t.recent {
		if h != nil && h.key == key {
			if i == 1 {
				t.recent[0], t.recent[1] = t.recent[1], t.recent[0]
			}
			return h
		}
	}
	h := t.halves[key]
	if h != nil {
		t.recent[1], t.recent[0] = t.recent[0], h
	}
	return h
}

// add creates a conn whose first packet is p. At the limit it evicts the oldest.
func (t *table) add(service bth.Service, p *Packet) *conn {
	if t.count >= t.limit {
		t.evicted++
		t.drop(t.oldest, true)
	}
	t.number++
	c := &conn{Flow: &Flow{Number: t.number, Service: service, First: p.Number, Begin: p.Time, Last: p.Time}}
	t.count++
	t.link(c)
	return c
}

// attach makes key the direction of c that end from sends. It ends another conversation that had
// the key.
func (t *table) attach(key halfKey, c *conn, from int) *half {
	if old := t.halves[key]; old != nil {
		if old.conn == c {
			old.from = from
			return old
		}
		t.drop(old.conn, false)
	}
	h := &half{key: key, conn: c, from: from}
	t.halves[key] = h
	c.halves = append(c.halves, h)
	return h
}

// drop ends c and removes it.
func (t *table) drop(c *conn, cut bool) {
	t.end(c, cut)
	for _, h := range c.halves {
		t.forget(h)
	}
	t.unlink(c)
	t.count--
}

func (t *table) forget(h *half) {
	delete(t.halves, h.key)
	t.tighten(h)
	for i := range t.recent {
		if t.recent[i] == h {
			t.recent[i] = nil
		}
	}
}

// loosen adds h to the unpaired halves of its way, and drops the oldest at the limit.
func (t *table) loosen(h *half) {
	w := way{h.key.src, h.key.dst}
	l := t.loose[w]
	if len(l) >= maxLoose {
		l = slices.Delete(l, 0, 1)
	}
	t.loose[w] = append(l, h)
}

// tighten removes h from the unpaired halves.
func (t *table) tighten(h *half) {
	w := way{h.key.src, h.key.dst}
	l := t.loose[w]
	for i, x := range l {
		if x == h {
			l = slices.Delete(l, i, i+1) // Delete clears the pointer beyond the end
			if len(l) == 0 {
				delete(t.loose, w)
			} else {
				t.loose[w] = l
			}
			return
		}
	}
}

// touch makes c the conn with the latest packet.
func (t *table) touch(c *conn) {
	c.gapped = false
	if t.newest != c {
		t.unlink(c)
		t.link(c)
	}
}

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
