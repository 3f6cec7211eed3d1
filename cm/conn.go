package cm

import (
	"crypto/sha256"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// A conn is a connection, or a request for a service ID, from its first message until it is
// removed.
type conn struct {
	local           mad.CommID
	remote          mad.CommID
	remoteKnown     bool // remote is valid
	state           State
	since           Time
	active          bool          // this side sent the REQ or SIDR_REQ
	service         mad.ServiceID // requested service
	source          uint16        // source port in the IP header of the request, 0 if it has none
	peer            Peer
	tid             uint64 // transaction ID of the REQ or SIDR_REQ and of the answers to it
	localQPN        bth.QPN
	peerQPN         bth.QPN
	peerGUID        mad.GUID
	lifetime        mad.Timeout // packet life time
	responseTimeout int64       // response timeout of the last message in ns
	retries         uint8       // maximum number of retransmissions of a message
	retriesLeft     uint8       // remaining retransmissions of the last message
	timewaitTime    int64       // duration of TIMEWAIT in ns
	interval        int64       // ns between the last REP or RTU and the next
	mraBudget       Time        // remaining time by which MRAs may extend the wait for the RTU
	sawPacket       bool        // in REP_SENT: a packet arrived for the queue pair, so the RTU is late or lost
	until           Time        // time at which the passive side (this side or the peer) stops waiting for the RTU
	probes          uint8       // DREQs sent to probe whether the peer still knows the connection
	probe           uint64      // transaction ID of the probes, 0 before the first
	probeEnd        Time        // time from which on an answer to the probes is ignored
	backlogOf       *listener   // listener whose backlog includes the request, nil once the program has answered
	halfOpen        bool        // counted in Manager.half and Manager.peers

	// sent is the message to retransmit on a timeout or a duplicate; it is valid if hasSent is
	// true.
	sent    [mad.Len]byte
	hasSent bool

	deadline  Time // expiry of the timer
	heapIndex int  // index in Manager.timers, -1 if the timer does not run

	// digest is the digest of the whole received REQ or SIDR_REQ: see requestID.
	digest [sha256.Size]byte

	links [numLists]links
}

// setService records the requested service, and the source port in the IP header with which the
// private data of the request may begin.
func (c *conn) setService(service mad.ServiceID, private []byte) {
	c.service = service
	var h mad.IPHeader
	if _, err := h.Decode(private); err == nil {
		c.source = h.SourcePort
	}
}

// remoteID and remoteQPN identify a connection by the peer's numbers. They include the address,
// so that a host at another address cannot interfere by claiming the same GUID.
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

// requestID identifies a request before its sender is proven, by the address and a digest of the
// whole message. An RTU proves the sender: it shows that the sender has received the REP, and so
// owns the address. A communication ID is not enough. Linux numbers its connections consecutively,
// so an attacker that has seen one ID can send a REQ with the next ID and the same address; that
// REQ must neither pass for the REQ of the address's owner nor exclude it. Several requests may
// contain the same queue pair or communication ID of the peer; until the RTU for one of them
// arrives, they are only in Manager.requests.
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
	h[i].heapIndex, h[j].heapIndex = i, j
}

func (h *timers) Push(x any) {
	c := x.(*conn)
	c.heapIndex = len(*h)
	*h = append(*h, c)
}

func (h *timers) Pop() any {
	old := *h
	c := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	c.heapIndex = -1
	return c
}

// timewait lists the connections in TIMEWAIT and the answered requests for a service ID, oldest
// first.
type timewait struct {
	list
	peers map[qp.GID]int // number of them per peer, without zero entries
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
