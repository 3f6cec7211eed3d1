package model

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// machine is what the transports of all service types offer.
type machine interface {
	Receive(now scenario.Time, p *bth.Packet) transport.Verdict
	Transmit(now scenario.Time, path *packet.Path, dst *packet.Batch, limit int) (more bool)
	NextTimeout() (scenario.Time, bool)
	Timeout(now scenario.Time)
	Modified(now scenario.Time)
	Posted()
	Counters() *transport.Counters
}

// A node is memory, keys and the queue pairs that use them.
type node struct {
	index int
	spec  scenario.NodeSpec
	mem   memory
	keys  *mr.Table
	open  map[uint32]*opening // by key
	pd    *mr.PD
	qps   map[bth.QPN]*end
	cqs   []*completions
	srqs  [2]*receives // for reliable and for unreliable queue pairs

	shared *mr.Window // of type 1, for all queue pairs
	first  uint32     // its key before it was bound
	binds  uint32     // how often it was to be bound
}

// A conn is two queue pairs that are connected, perhaps several times in a row.
type conn struct {
	index int
	spec  *scenario.ConnSpec
	ends  [2]*end
	epoch int        // how often it was connected
	flow  world.Flow // of this epoch
}

// An end is a queue pair with its machine and with the model of what they must do.
type end struct {
	net  *Network
	conn *conn
	side int
	spec *scenario.EndSpec
	node *node
	path packet.Path
	ah   *transport.AH // of datagrams to the peer

	qp            *qp.QP
	m             machine
	cq            *completions
	made          made
	local, remote *mr.Region // what this end uses, what it lets its peer use
	fast          *mr.FastRegion
	window        *mr.Window
	gone          []uint32 // keys that this step must end
	psn           bth.PSN  // first PSN of the epoch

	share *share // nil for none
	heard bool   // a packet of the peer was taken since the queue pair was in RESET

	turn bool          // it waits for its turn to send
	wake scenario.Time // of its earliest timer event, 0 is none

	sends  []*sent   // of this epoch, in the order they were posted
	oldest int       // index of the first that has not completed
	recvs  *receives // of its own or shared
	held   *posted   // the receive that a message is being stored in
	want   []qp.WC   // completions of receives that this step must bring
	cause  string    // why the queue pair may be in ERR
	broken string    // why it may be in SQE
	worked bool      // its turn to send began before cause and broken: work on keys is done before packets leave
	events events
	nextID uint64

	requester requester
	responder responder
}

// fail notes a violation by e.
func (e *end) fail(format string, args ...any) {
	e.net.Fail(e.name(), format, args...)
}

func (e *end) name() string {
	return fmt.Sprintf("connection %d (%v), end %d, QP %#x", e.conn.index, e.conn.spec.Type, e.side, uint32(e.qp.Num))
}

func (e *end) peer() *end { return e.conn.ends[1-e.side] }

// state of the queue pair.
func (e *end) state() qp.State { return e.qp.State() }

// alive reports whether the queue pair takes packets.
func (e *end) alive() bool {
	s := e.state()
	return s == qp.RTR || s == qp.RTS || s == qp.SQD || s == qp.SQE
}

// seq is the place of a PSN that e sends in the order of this epoch; it is negative for
// those before the first.
func (e *end) seq(psn bth.PSN) int64 { return int64(psn.Diff(e.psn)) }

// A sent is a send work request that was posted.
type sent struct {
	act        *scenario.Act
	id         uint64
	op         qp.WROpcode
	sg         []qp.SGE
	data       []byte // of an inline request, else nil
	length     uint64
	rkey       uint32
	remote     uint64 // address, as rkey counts
	bind       *mr.Bind
	group      *group // that a datagram goes to, or nil
	imm        uint32 // immediate data or a key to invalidate
	done       bool   // of work on keys: it was executed
	compareAdd uint64
	swap       uint64
	signaled   bool
	first, end int64 // PSNs it takes, counted from the first of the epoch

	split    bool // a WRITE that is sent as a message for each packet
	executed bool
	old      uint64 // what an atomic found
}

// A posted is a receive work request that was posted.
type posted struct {
	id   uint64
	sg   []qp.SGE
	room uint64
}

// receives are what was posted to a receive queue and not taken, the oldest first.
type receives struct {
	list []*posted
	srq  *qp.SRQ // nil for that of a queue pair

	limit       int // below which SRQ_LIMIT_REACHED is due
	raised, due int // how often it was, in this step
}

// take makes the oldest receive the held one, unless one is held.
func (e *end) take() bool {
	if e.held == nil && len(e.recvs.list) > 0 {
		r := e.recvs
		e.held, r.list = r.list[0], r.list[1:]
		if len(r.list) < r.limit {
			r.limit = 0
			r.due++
		}
	}
	return e.held != nil
}

// qkey is the Q_Key of all datagram queue pairs.
const qkey = 0x1111

const recvID = 1 << 63 // in WRIDs of receives

// at returns the request that the PSN at seq belongs to, or nil. One that failed before all
// of it was sent keeps its PSNs up to where the next one begins.
func (e *end) at(seq int64) *sent {
	lo, hi := 0, len(e.sends)
	for lo < hi {
		if mid := (lo + hi) / 2; e.sends[mid].first <= seq {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || seq >= e.sends[lo-1].end {
		return nil
	}
	return e.sends[lo-1]
}

// head returns the oldest request that has not completed, or nil.
func (e *end) head() *sent {
	if e.oldest == len(e.sends) {
		return nil
	}
	return e.sends[e.oldest]
}

// packets is how many PSNs a message of n bytes takes.
func (e *end) packets(n uint64) int64 {
	mtu := uint64(e.conn.spec.MTU)
	if e.qp.Type == qp.UD {
		return 1
	}
	return max(1, int64((n+mtu-1)/mtu))
}

// message returns n bytes from offset off of the data that s sends.
func (e *end) message(s *sent, off, n uint64) []byte {
	if s.data != nil {
		return s.data[off:][:n]
	}
	return e.node.mem.gathered(nil, s.sg, off, n)
}

// pinned reports whether all local keys of sg are good.
func (e *end) pinned(sg []qp.SGE) bool {
	for _, s := range sg {
		if s.Length > 0 && e.node.keys.Lookup(s.LKey) == nil {
			return false
		}
	}
	return true
}

// grants says whether e lets its peer use n bytes at an address by this key.
func (e *end) grants(rkey uint32, addr, n uint64, need mr.Access) bool {
	return e.granted(rkey, addr, n, need) != nil
}
