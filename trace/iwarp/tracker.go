package iwarp

import (
	"encoding/binary"
	"net/netip"
)

// MaxConnections is the number of connections that a Tracker follows. At the limit, it forgets the
// one silent for longest.
const MaxConnections = 4096

// Segment is a TCP segment.
type Segment struct {
	Src, Dst netip.AddrPort
	Seq      uint32
	SYN, RST bool
	Data     []byte // captured payload
	Len      int    // length of the payload on the wire
}

// Tracker follows iWARP connections. The zero value is ready to use. It keeps no state for other
// TCP connections.
type Tracker struct {
	conns          map[key]*conn
	oldest, newest *conn
	message        Message
}

// key identifies a connection: the lower end first.
type key struct{ a, b netip.AddrPort }

type conn struct {
	key          key
	older, newer *conn
	dirs         [2]stream // from key.a, from key.b
}

// stream is one direction of a connection.
type stream struct {
	synced  bool
	next    uint32 // sequence number of the next FPDU, if synced
	started bool   // start frame seen
	wantCRC bool   // C of the start frame
	usesCRC bool   // an FPDU had a right CRC
	markers bool   // the receiver requires markers
	// head holds the first bytes of the FPDU at next, if a segment ended within its headers.
	head [maxHeaders]byte
	held int
}

// Segment processes a segment. It reports whether the connection is iWARP, and calls show for each
// message that begins in the segment, or with one of the kinds Rest, Unsynced and Markers. The
// Message is valid until show returns. Segments without payload show nothing.
func (t *Tracker) Segment(s *Segment, show func(*Message)) bool {
	k, dir := keyOf(s)
	c := t.conns[k]
	if c != nil && (s.SYN || s.RST) {
		t.remove(c)
		return s.RST
	}
	if c == nil {
		if !isStart(s.Data) && !(plausible(s.Data) && checkCRC(s.Data) == Right) {
			return false
		}
		c = t.add(k)
	}
	t.touch(c)
	if s.Len > 0 {
		t.payload(c, dir, s, show)
	}
	return true
}

func keyOf(s *Segment) (k key, dir int) {
	if s.Src.Compare(s.Dst) > 0 {
		return key{s.Dst, s.Src}, 1
	}
	return key{s.Src, s.Dst}, 0
}

// payload processes the payload of a segment.
func (t *Tracker) payload(c *conn, dir int, s *Segment, show func(*Message)) {
	st := &c.dirs[dir]
	b, m := s.Data, &t.message
	if isStart(b) {
		m.decodeStart(b)
		st.started, st.wantCRC = true, m.Start.CRC
		c.dirs[1-dir].markers = m.Start.Markers
		st.moveTo(s.Seq + uint32(m.Len))
		show(m)
		if m.Len >= s.Len {
			return
		}
		b = b[min(len(b), m.Len):]
	} else if skipped := st.align(s); skipped > 0 {
		if skipped >= s.Len {
			*m = Message{Kind: Rest, Len: s.Len}
			show(m)
			return
		}
		b = b[min(len(b), skipped):]
	}
	if st.markers {
		*m = Message{Kind: Markers, Len: s.Len}
		show(m)
		return
	}
	t.fpdus(c, dir, s, b, show)
}

// moveTo sets the next FPDU boundary.
func (st *stream) moveTo(seq uint32) { st.synced, st.next, st.held = true, seq, 0 }

// align returns the number of payload bytes of s before the next byte that st needs. A segment after
// missing ones makes st lose the boundary.
func (st *stream) align(s *Segment) int {
	if !st.synced {
		return 0
	}
	ahead := int32(st.next + uint32(st.held) - s.Seq)
	if ahead < 0 {
		st.synced, st.held = false, 0
	}
	return max(0, int(ahead))
}

// fpdus processes the FPDUs in b, the end of the captured payload of s.
func (t *Tracker) fpdus(c *conn, dir int, s *Segment, b []byte, show func(*Message)) {
	st, m := &c.dirs[dir], &t.message
	truncated := len(s.Data) < s.Len
	seq := s.Seq + uint32(len(s.Data)-len(b))
	if !st.synced && !(plausible(b) && c.resyncs(dir, b, truncated)) {
		b = nil
	}
	shown := false
	for len(b) > 0 {
		if st.held == 0 {
			st.moveTo(seq)
		}
		head := st.header(b)
		if len(head) < headersNeeded(head) && !truncated {
			st.held = copy(st.head[:], head)
			if !shown {
				*m = Message{Kind: Rest, Len: s.Len}
				show(m)
			}
			return
		}
		if !plausible(head) {
			break
		}
		m.decode(head)
		if st.held == 0 {
			m.CRC = c.verdict(dir, b)
		}
		show(m)
		shown = true
		st.moveTo(st.next + uint32(fpduLen(m.Len)))
		left := int(int32(st.next - seq))
		if left >= len(b) {
			// An FPDU that ends in the bytes that were not captured hides those after it.
			st.synced = int32(st.next-s.Seq) >= int32(s.Len)
			return
		}
		b, seq = b[left:], st.next
	}
	st.synced, st.held = false, 0
	if !shown {
		*m = Message{Kind: Unsynced, Len: s.Len}
		show(m)
	}
}

// header returns the beginning of the FPDU at st.next: the bytes held from earlier segments, and b
// after them.
func (st *stream) header(b []byte) []byte {
	if st.held == 0 {
		return b
	}
	n := copy(st.head[st.held:], b)
	return st.head[:st.held+n]
}

// verdict checks the CRC of the FPDU that b begins with.
func (c *conn) verdict(dir int, b []byte) CRC {
	st, peer := &c.dirs[dir], &c.dirs[1-dir]
	v := checkCRC(b)
	switch {
	case v == Right:
		st.usesCRC = true
	case st.usesCRC || st.started && st.wantCRC || peer.started && peer.wantCRC:
	case st.started && peer.started:
		return NotUsed
	default:
		return NotChecked
	}
	return v
}

// resyncs reports whether b, with plausible headers at the beginning of a segment, begins with an
// FPDU: its CRC is right; or CRCs are not used and it ends with the segment or before; or the end of
// the segment was not captured (truncated), so that its headers must suffice.
func (c *conn) resyncs(dir int, b []byte, truncated bool) bool {
	fits := fpduLen(int(binary.BigEndian.Uint16(b))) <= len(b)
	switch c.verdict(dir, b) {
	case Right:
		return true
	case Wrong:
		return false
	case NotUsed:
		return fits || truncated
	}
	return truncated && !fits
}

func (t *Tracker) add(k key) *conn {
	if t.conns == nil {
		t.conns = map[key]*conn{}
	}
	if len(t.conns) >= MaxConnections {
		t.remove(t.oldest)
	}
	c := &conn{key: k}
	t.conns[k] = c
	t.push(c)
	return c
}

func (t *Tracker) remove(c *conn) {
	delete(t.conns, c.key)
	t.unlink(c)
}

// touch makes c the newest connection.
func (t *Tracker) touch(c *conn) {
	if t.newest != c {
		t.unlink(c)
		t.push(c)
	}
}

func (t *Tracker) push(c *conn) {
	c.older, c.newer = t.newest, nil
	if t.newest != nil {
		t.newest.newer = c
	} else {
		t.oldest = c
	}
	t.newest = c
}

func (t *Tracker) unlink(c *conn) {
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		t.oldest = c.newer
	}
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		t.newest = c.older
	}
}
