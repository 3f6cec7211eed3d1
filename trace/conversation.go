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
	dir        [2]stream
	directions []*direction
	asking     []asking // latest SIDR_REQs, a ring; only for queue pairs 1
	asked      int

	cm           *exchange
	ce           [2]int // latest frame from end i with ECN CE
	newer, older *conn  // list in order of the latest packet
	gapped       bool   // no packet since the latest gap
}

// direction is one direction of a conversation. A BTH identifies only the destination queue pair,
// so directions are matched by pair.
type direction struct {
	key  directionKey
	conn *conn
	from int // index in conn.Ends of the sender
	// paired reports whether the other direction is known.
	paired  bool
	port    uint16 // UDP source port
	packets int
	service bth.Service
	// ambiguous is the number of acknowledgements that matched several directions equally well.
	ambiguous int
}

type directionKey struct {
	src, dst netip.Addr
	to       bth.QPN
	by       bth.QPN // source queue pair, for datagrams only
}

// hostPair is the source and the destination host of a direction.
type hostPair struct{ src, dst netip.Addr }

func (w hostPair) back() hostPair { return hostPair{w.dst, w.src} }

// table holds the conversations that are being followed: each is a conn with the directions seen
// so far. Outputs show a conn as a flow.
type table struct {
	limit          int // maximum of count
	directions     map[directionKey]*direction
	unpaired       map[hostPair][]*direction // directions that are not paired
	recent         [2]*direction             // latest results of find, the latest first
	newest, oldest *conn                     // by the latest packet
	count          int
	number         int                         // of the latest flow
	evicted        uint64                      // flows evicted because of the limit
	end            func(c *conn, evicted bool) // called when a flow ends or is evicted
}

// maxUnpaired limits the unpaired directions per hostPair that pair searches.
const maxUnpaired = 64

func (t *table) init(limit int, end func(*conn, bool)) {
	t.limit, t.end = limit, end
	t.clear()
}

func (t *table) clear() {
	t.directions, t.unpaired = map[directionKey]*direction{}, map[hostPair][]*direction{}
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
func (t *table) attach(key directionKey, c *conn, from int) *direction {
	if old := t.directions[key]; old != nil {
		if old.conn == c {
			old.from = from
			return old
		}
		t.drop(old.conn, false)
	}
	h := &direction{key: key, conn: c, from: from}
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

func (t *table) forget(h *direction) {
	delete(t.directions, h.key)
	t.removeUnpaired(h)
	for i := range t.recent {
		if t.recent[i] == h {
			t.recent[i] = nil
		}
	}
}

// addUnpaired adds h to the unpaired directions of its hostPair, and drops the oldest at the limit.
func (t *table) addUnpaired(h *direction) {
	w := hostPair{h.key.src, h.key.dst}
	l := t.unpaired[w]
	if len(l) >= maxUnpaired {
		l = slices.Delete(l, 0, 1)
	}
	t.unpaired[w] = append(l, h)
}

// removeUnpaired removes h from the unpaired directions.
func (t *table) removeUnpaired(h *direction) {
	w := hostPair{h.key.src, h.key.dst}
	l := t.unpaired[w]
	for i, x := range l {
		if x == h {
			l = slices.Delete(l, i, i+1) // Delete clears the pointer beyond the end
			if len(l) == 0 {
				delete(t.unpaired, w)
			} else {
				t.unpaired[w] = l
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
