package scenario

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// A Scenario determines a run. It is plain data, so that sim.Shrink can remove parts of it.
type Scenario struct {
	Seed      uint64 // seed of the faults and of the order of turns
	Nodes     []NodeSpec
	Links     [][]LinkSpec // indexed by sending node, then by receiving node
	Conns     []ConnSpec
	Groups    []GroupSpec
	Acts      []Act
	FaultsEnd Time // time after which links apply no random faults

	// Suppressed is the set of faults that are not applied.
	Suppressed map[FaultID]bool
}

// NodeSpec describes a node.
type NodeSpec struct {
	IPv6       bool // uses IPv6 to other nodes that have it set
	CallMemory bool // memory is accessed by calls, not by pointer
	CQs        []CQSpec
	// Share is the number of PSNs that its reliable connections towards one node may have
	// outstanding together, 0 for no limit. ShareTurn is the number of them that must be free for
	// a connection to begin to send.
	Share, ShareTurn int
}

// CQSpec describes a CQ that several ends may share.
type CQSpec struct {
	Depth int
	Every Time // delay from a completion until the program polls; 0: it polls after each step
	Batch int  // maximum number of completions that one poll takes
}

// ConnSpec describes a connected pair of queue pairs.
type ConnSpec struct {
	Type qp.Type
	MTU  qp.MTU
	Ends [2]EndSpec
}

// GroupSpec is a multicast group.
type GroupSpec struct {
	IPv6    bool
	Members []Member
}

// Member identifies a UD queue pair: one end of a connection.
type Member struct{ Conn, End int }

// EndSpec describes one queue pair of a connection.
type EndSpec struct {
	Node                        int
	SRQ                         bool    // uses one of the node's SRQs
	CQ                          int     // CQ of the node, from 1 on; 0: a CQ of its own
	PSN                         bth.PSN // first PSN that it sends
	Config                      transport.Config
	SigAll                      bool
	MaxRdAtomic                 uint8
	Timeout, RetryCnt, RNRRetry uint8
	MinRNRTimer                 uint8
	RTRTime                     Time // time that it stays in RTR
	Zero                        ZeroBased
	Trains                      bool // its link has segmentation offload
	HoldsACKs                   bool // it waits with acknowledgements of SENDs for a moment
}

// ZeroBased selects the keys of an end that are zero-based: their addresses start at 0.
type ZeroBased struct{ Local, Region, Fast, Window bool }

// ActKind is a kind of program action.
type ActKind uint8

// The acts.
const (
	ActPost            ActKind = iota // post a send work request, and later the peer's receive for it
	ActError                          // move the queue pair to ERR
	ActReset                          // move the queue pair to RESET
	ActReconnect                      // move both ends to RESET and on to RTS, with other PSNs
	ActReconnectIfDown                // reconnect if an end is in RESET or ERR
	ActDrain                          // move the queue pair to SQD
	ActResume                         // move the queue pair from SQD to RTS
	ActDeregister                     // deregister the region that the peer uses
	ActDeregisterLocal                // deregister the region that the queue pair itself uses
	ActForgeResponse                  // deliver a forged response outside the PSNs that await one
	ActToRTS                          // move the queue pair from RTR to RTS
	ActLimit                          // set the SRQ limit to Imm
	ActReregister                     // change access or translation of the region that the peer uses
	ActResize                         // resize the CQ to Imm entries
	ActJoin                           // join Group, or leave it
	ActReregisterLocal                // give the region that the queue pair itself uses another key
)

var actNames = [...]string{"post", "error", "reset", "reconnect", "reconnect-if-down", "drain", "resume", "deregister",
	"deregister-local", "forge-response", "to-rts", "limit", "reregister", "resize", "join", "reregister-local"}

// String returns the name of k.
func (k ActKind) String() string { return actNames[k] }

// Wrong is an intended error in a posted request.
type Wrong uint8

// The intended errors.
const (
	WrongNothing Wrong = iota
	WrongRKey          // an R_Key that no node has
	WrongBounds        // ends one byte beyond the region
	WrongLKey          // an L_Key that no node has
	WrongAlign         // an atomic at an address that is not 8-byte aligned
	WrongRoom          // a receive that is one byte too short
	WrongRecvKey       // a receive with an L_Key that no node has
	WrongQKey          // a datagram with a Q_Key that is not the receiver's
)

// Key selects the key of the peer by which a request names remote memory.
type Key uint8

// The remote keys.
const (
	KeyRegion Key = iota
	KeyFast
	KeyWindow
	KeyShared // key of the type 1 window of the peer's node
)

// Act is one action of a program. Addresses in SG, Remote and Recv are node memory addresses,
// from MemBase on. When the act is performed, they are translated for the keys, which are filled
// in then.
type Act struct {
	At   Time
	Conn int
	End  int
	Kind ActKind

	Op     qp.WROpcode
	Flags  qp.SendFlags
	Wrong  Wrong
	SG     []qp.SGE
	Inline bool // gather SG when posting
	Remote uint64
	Imm    uint32
	Key    Key // key that names the remote memory
	// Add is the addend of a fetch-and-add or the swap value of a compare-and-swap. If Match is
	// set, a compare-and-swap compares with the value that the reference memory holds when it is
	// posted. ActReregister, ActReregisterLocal, FLUSHes and binds use Add and Match in other ways:
	// see package model.
	Add   uint64
	Match bool
	Group int // multicast group that a datagram is sent to, from 1 on; 0: the peer
	// Notify requests SQ_DRAINED.
	Notify bool

	// Recv is the receive for a SEND or a WRITE with immediate, posted RecvDelay after it.
	Recv      []qp.SGE
	RecvDelay Time
}

// Length returns the length of the message in bytes.
func (a *Act) Length() (n uint64) {
	for _, s := range a.SG {
		n += uint64(s.Length)
	}
	return n
}
