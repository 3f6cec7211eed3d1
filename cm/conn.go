package cm

import (
	"crypto/sha256"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// A conn is a connection, or a request for a service ID, from its first message until it is
// forgotten.
type conn struct {
	local       mad.CommID
	remote      mad.CommID
	remoteKnown bool // remote holds
	state       State
	since       Time
	active      bool          // this side asked
	service     mad.ServiceID // for what
	source      uint16        // port of who asked, 0 if it is not known
	peer        Peer
	tid         uint64 // of the REQ or SIDR_REQ, which its answers return
	localQPN    bth.QPN
	peerQPN     bth.QPN
	peerGUID    mad.GUID
	lifetime    mad.Timeout // packet life time
	reply       int64       // ns to wait for the answer to what was sent last
	retries     uint8       // how often it may be sent again at most
	left        uint8       // how often it may be sent again from here
	rest        int64       // ns of timewait
	gap         int64       // ns between the last REP or RTU and the next
	patience    Time        // by which MRAs may still lengthen the wait for the RTU
	heard       bool        // a packet has come for its queue pair: the peer has sent its RTU
	until       Time        // when the wait for an answer to the REP ends, here or at the peer
	probes      uint8       // DREQs sent to ask whether the peer still knows the connection
	probe       uint64      // transaction ID of these, 0 before the first
	probeEnd    Time        // when it is no longer believed
	waits       *listener   // whose backlog it counts in, nil once the program has answered
	half        bool        // it counts as half-open

	// sent is the message that is sent again on a timeout or a duplicate, where has is true.
	sent [mad.Len]byte
	has  bool

	deadline Time
	at       int // place in the timers; -1 is none

	// digest is that of the REQ or SIDR_REQ received: see Manager.requests.
	digest [sha256.Size]byte

	links [numLists]links
}

// asked notes what is asked for, by whom of those who send from the peer's or this address.
func (c *conn) asked(service mad.ServiceID, private []byte) {
	c.service = service
	var h mad.IPHeader
	if _, err := h.Decode(private); err == nil {
		c.source = h.SourcePort
	}
}

// remoteID and remoteQPN are the names of a connection at the other end. The address is part
// of them, so that nobody at another one can take part by claiming the same GUID.
type (
	remoteID struct {
		gid  qp.GID
		guid mad.GUID // 0 for a request for a service ID
		id   mad.CommID
	}
	remoteQPN struct {
		gid  qp.GID
		guid mad.GUID
		qpn  bth.QPN
	}
)

func (c *conn) remoteID() remoteID { return remoteID{c.peer.GID, c.peerGUID, c.remote} }

func (c *conn) remoteQPN() remoteQPN { return remoteQPN{c.peer.GID, c.peerGUID, c.peerQPN} }

// requestID names a request before its sender is proven: the address and all bytes of the message.
// A communication ID is not enough. Linux numbers its connections one after the other, so anyone who
// has seen one can send a REQ with the next ID under the same address; that must not pass for the
// REQ of the owner of the address, nor keep it out. Any number of requests may name the same queue pair
// or communication ID of the peer: until one is proven, they are in the table of requests alone.
type requestID struct {
	from   Peer
	digest [sha256.Size]byte
}

func (c *conn) requestID() requestID { return requestID{c.peer, c.digest} }

// timers is a heap of connections by deadline.
type timers []*conn

func (h timers) Len() int           { return len(h) }
func (h timers) Less(i, j int) bool { return h[i].deadline < h[j].deadline }
func (h timers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *timers) Push(x any) {
	c := x.(*conn)
	c.at = len(*h)
	*h = append(*h, c)
}

func (h *timers) Pop() any {
	old := *h
	c := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	c.at = -1
	return c
}

// timewait lists the connections that rest, oldest first.
type timewait struct {
	list
	peers map[qp.GID]int // of n, none of 0
}

func (l *timewait) add(c *conn) {
	l.list.add(c)
	l.peers[c.peer.GID]++
}

func (l *timewait) remove(c *conn) {
	if l.list.remove(c) {
		countDown(l.peers, c.peer.GID)
	}
}
