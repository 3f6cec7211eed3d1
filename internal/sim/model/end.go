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

// machine is the common interface of the transports of all service types.
type machine interface {
	Receive(now scenario.Time, p *bth.Packet) transport.Verdict
	Transmit(now scenario.Time, path *packet.Path, dst *packet.Batch, limit int) (more bool)
	NextTimeout() (scenario.Time, bool)
	Timeout(now scenario.Time)
	Modified(now scenario.Time)
	Posted()
	Counters() *transport.Counters
}

// A node has memory, keys and queue pairs.
type node struct {
	index int
	spec  scenario.NodeSpec
	mem   memory
	keys  *mr.Table
	open  map[uint32]*keyModel // by key
	pd    *mr.PD
	qps   map[bth.QPN]*end
	cqs   []*completions
	srqs  [2]*receives // one for RC queue pairs, one for UC and UD

	shared *mr.Window // type 1 window, bound by all queue pairs of the node
	first  uint32     // key of shared before its first bind
	binds  uint32     // number of posted binds of shared
}

// A conn is two connected queue pairs. They may be connected several times.
type conn struct {
	index int
	spec  *scenario.ConnSpec
	ends  [2]*end
	epoch int        // number of times that it was connected
	flow  world.Flow // flow of the current epoch
}

// An end is a queue pair with its machine and its model.
type end struct {
	net  *Network
	conn *conn
	side int
	spec *scenario.EndSpec
	node *node
	path packet.Path
	ah   *transport.AH // address handle of datagrams to the peer

	qp            *qp.QP
	m             machine
	cq            *completions
	made          made
	local, remote *mr.Region // the region that this end uses itself, and the region that its peer uses
	fast          *mr.FastRegion
	window        *mr.Window
	gone          []uint32 // keys that this step must invalidate
	psn           bth.PSN  // first PSN of the epoch

	share *share // window share that the end is a member of, nil: none
	heard bool   // a packet of the peer was received since the queue pair was in RESET

	turn bool          // a turn to send is scheduled
	wake scenario.Time // time of the earliest scheduled timer event, 0: none

	sends  []*sent   // requests of this epoch, in posting order
	oldest int       // index of the first request that has not completed
	recvs  *receives // receives of its own queue or of the SRQ
	held   *posted   // receive into which a message is being stored
	want   []qp.WC   // receive completions that this step must produce
	cause  string    // why the queue pair may be in ERR, "": it may not
	broken string    // why the queue pair may be in SQE, "": it may not
	worked bool      // the turn to send began before cause and broken were set
	events events
	nextID uint64

	requester requester
	responder responder
}

// fail records a violation by e.
func (e *end) fail(format string, args ...any) {
	e.net.Fail(e.name(), format, args...)
}

func (e *end) name() string {
	return fmt.Sprintf("connection %d (%v), end %d, QP %#x", e.conn.index, e.conn.spec.Type, e.side, uint32(e.qp.Num))
}

func (e *end) peer() *end { return e.conn.ends[1-e.side] }

// state returns the state of the queue pair.
func (e *end) state() qp.State { return e.qp.State() }

// alive reports whether the queue pair accepts packets.
func (e *end) alive() bool {
	s := e.state()
	return s == qp.RTR || s == qp.RTS || s == qp.SQD || s == qp.SQE
}

// seq returns the position of a PSN that e sends, counted from the first PSN of the epoch; it is
// negative for PSNs before that.
func (e *end) seq(psn bth.PSN) int64 { return int64(psn.Diff(e.psn)) }

// A sent is a posted send work request.
type sent struct {
	act        *scenario.Act
	id         uint64
	op         qp.WROpcode
	sg         []qp.SGE
	data       []byte // data of an inline request, else nil
	length     uint64
	rkey       uint32
	remote     uint64 // remote address, in the address range of rkey
	bind       *mr.Bind
	group      *group // group that a datagram goes to, or nil
	imm        uint32 // immediate data, or a key to invalidate
	done       bool   // whether a local operation on keys, or an oversize datagram, was executed
	compareAdd uint64
	swap       uint64
	signaled   bool
	first, end int64 // PSNs [first, end), counted from the first of the epoch

	split    bool   // a WRITE that is sent as a message for each packet
	executed bool   // whether the peer has executed all packets of the request
	old      uint64 // value that an atomic found
}

// A posted is a posted receive work request.
type posted struct {
	id   uint64
	sg   []qp.SGE
	room uint64
}

// receives is a receive queue: the posted receives that no message has taken, oldest first.
type receives struct {
	list []*posted
	srq  *qp.SRQ // nil for the receive queue of a queue pair

	limit       int // SRQ limit below which SRQ_LIMIT_REACHED is due
	raised, due int // number of SRQ_LIMIT_REACHED events raised and due in this step
}

// take makes the oldest posted receive the held receive, unless there is a held receive. It reports
// whether there is one now.
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

const recvID = 1 << 63 // set in the WRIDs of receives

// at returns the request that the PSN at seq belongs to, or nil. A request that failed before all
// of it was sent keeps its PSNs up to the first of the next request.
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

// packets returns the number of PSNs that a message of n bytes takes.
func (e *end) packets(n uint64) int64 {
	mtu := uint64(e.conn.spec.MTU)
	if e.qp.Type == qp.UD {
		return 1
	}
	return max(1, int64((n+mtu-1)/mtu))
}

// message returns the n bytes at offset off of the data that s sends.
func (e *end) message(s *sent, off, n uint64) []byte {
	if s.data != nil {
		return s.data[off:][:n]
	}
	return e.node.mem.gathered(nil, s.sg, off, n)
}

// pinned reports whether all local keys of sg are valid.
func (e *end) pinned(sg []qp.SGE) bool {
	for _, s := range sg {
		if s.Length > 0 && e.node.keys.Lookup(s.LKey) == nil {
			return false
		}
	}
	return true
}

// grants reports whether e lets its peer access n bytes at addr by rkey.
func (e *end) grants(rkey uint32, addr, n uint64, need mr.Access) bool {
	return e.granted(rkey, addr, n, need) != nil
}
