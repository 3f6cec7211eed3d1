package trace

import (
	"net/netip"
	"slices"

	"github.com/gorxe/gorxe/bth"
)

// conn is a flow and what has to be remembered to follow it. The flow is an allocation of its own: outputs and messages may keep it,
// and must not keep the rest with it.
type conn struct {
	*Flow
	// dir[i] are the requests that Ends[i] sends, and what became of them.
	dir    [2]stream
	halves []*half
	asking []asking // the latest SIDR_REQs, between queue pairs 1
	asked  int
	tell   [2]bool // that end i never sets MigReq was said

	cm           *exchange
	ce           [2]int // frame of the latest packet from end i that a switch marked
	newer, older *conn  // by the latest packet
	gapped       bool   // no packet came since the latest gap
}

// half is one direction of a conversation as the wire shows it: a BTH names its destination only.
type half struct {
	key  halfKey
	conn *conn
	from int // which of conn.Ends sends it
	// paired is set when the other direction is known.
	paired  bool
	port    uint16 // UDP source port
	packets int
	service bth.Service
	tries   int // acknowledgements that fit several conversations
}

type halfKey struct {
	src, dst netip.Addr
	to       bth.QPN
	by       bth.QPN // of datagrams alone
}

// way is a direction between two hosts.
type way struct{ src, dst netip.Addr }

func (w way) back() way { return way{w.dst, w.src} }

// table has the flows that are followed.
type table struct {
	limit          int
	halves         map[halfKey]*half
	loose          map[way][]*half // those that are not paired
	recent         [2]*half
	newest, oldest *conn
	count          int
	number         int
	evicted        uint64
	end            func(c *conn, cut bool)
}

// maxLoose is how many directions between two hosts are looked at for the partner of one.
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

// add makes a conn that begins with p.
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

// attach makes key a direction of c, from its end from. Another conversation that had the key is over.
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

// drop ends c and forgets it.
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

// loosen puts h among those that have no partner yet, the oldest of which gives way.
func (t *table) loosen(h *half) {
	w := way{h.key.src, h.key.dst}
	l := t.loose[w]
	if len(l) >= maxLoose {
		l = slices.Delete(l, 0, 1)
	}
	t.loose[w] = append(l, h)
}

// tighten takes h out of those that have no partner.
func (t *table) tighten(h *half) {
	w := way{h.key.src, h.key.dst}
	l := t.loose[w]
	for i, x := range l {
		if x == h {
			l = slices.Delete(l, i, i+1) // which leaves no pointer to x behind the end
			if len(l) == 0 {
				delete(t.loose, w)
			} else {
				t.loose[w] = l
			}
			return
		}
	}
}

// touch makes c the one with the latest packet.
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

// byNumber returns all conns in the order of their numbers.
func (t *table) byNumber() []*conn {
	all := make([]*conn, 0, t.count)
	for c := t.oldest; c != nil; c = c.newer {
		all = append(all, c)
	}
	sortByNumber(all)
	return all
}
