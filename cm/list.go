package cm

// A list holds connections in the order in which they were added.
type list struct {
	first, last *conn
	n           int
	of          listKind
}

// listKind selects the links that a list uses: a connection is on at most one list of each kind.
type listKind uint8

const (
	ofTimewait     listKind = iota // see timewait
	ofAnswered                     // connections in REP_SENT, of all addresses
	ofAnsweredPeer                 // connections in REP_SENT, of one address
	ofWaitingPeer                  // requests not answered by the program, of one address

	numLists = iota
)

// links are a connection's neighbours on a list.
type links struct {
	before, after *conn
	listed        bool // the connection is on the list
}

func (l *list) add(c *conn) {
	at := &c.links[l.of]
	at.listed, at.before = true, l.last
	if l.last == nil {
		l.first = c
	} else {
		l.last.links[l.of].after = c
	}
	l.last = c
	l.n++
}

// remove removes c from the list and reports whether c was on the list.
func (l *list) remove(c *conn) bool {
	at := &c.links[l.of]
	if !at.listed {
		return false
	}
	if at.before == nil {
		l.first = at.after
	} else {
		at.before.links[l.of].after = at.after
	}
	if at.after == nil {
		l.last = at.before
	} else {
		at.after.links[l.of].before = at.before
	}
	*at = links{}
	l.n--
	return true
}
