package scenario

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// A Scenario is all that decides a run. It is data: [Shrink] takes parts away.
type Scenario struct {
	Seed   uint64 // draws the faults and the order of turns
	Nodes  []NodeSpec
	Links  [][]LinkSpec // from node, to node
	Conns  []ConnSpec
	Groups []GroupSpec
	Acts   []Act
	Calm   Time // when the links stop to fail

	// Spared are fault decisions that are not carried out.
	Spared map[FaultID]bool
}

// NodeSpec describes a node.
type NodeSpec struct {
	IPv6    bool // its links carry IPv6 towards other nodes that have it as well
	Watched bool // its memory is reached by calls, not by pointer
	CQs     []CQSpec
	// Share is the number of PSNs that its reliable connections towards one node may have outstanding
	// together, 0 for no bound, and ShareTurn how many of them must be free for one to begin to send.
	Share, ShareTurn int
}

// CQSpec describes a CQ that any number of ends share.
type CQSpec struct {
	Depth int
	Every Time // how long its program waits to look into it; 0: it looks after each step
	Batch int  // completions that it takes out when it looks
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

// Member is an end of a connection, of type UD.
type Member struct{ Conn, End int }

// EndSpec is one queue pair of a connection.
type EndSpec struct {
	Node                        int
	SRQ                         bool    // it takes receives from one of the node's
	CQ                          int     // that it completes into: the node's from 1 on, 0 is one of its own
	PSN                         bth.PSN // first PSN it sends
	Config                      transport.Config
	SigAll                      bool
	MaxRdAtomic                 uint8
	Timeout, RetryCnt, RNRRetry uint8
	MinRNRTimer                 uint8
	Late                        Time // it stays in RTR as long
	Zero                        ZeroBased
	Trains                      bool // its link has segmentation offload
	HoldsACKs                   bool // it waits with acknowledgements of SENDs for a moment
}

// ZeroBased says which keys of an end count addresses from 0.
type ZeroBased struct{ Local, Region, Fast, Window bool }

// ActKind is what a program can do.
type ActKind uint8

// The acts.
const (
	ActPost       ActKind = iota // post a send work request, and its receive later
	ActError                     // move the queue pair to ERR
	ActReset                     // move the queue pair to RESET
	ActReconnect                 // move both ends to RESET and on to RTS, with other PSNs
	ActRevive                    // reconnect if an end is in RESET or ERR
	ActDrain                     // move the queue pair to SQD
	ActResume                    // and back to RTS
	ActDeregister                // the region that the peer uses goes away
	ActUnpin                     // the region that the queue pair itself uses goes away
	ActGhost                     // an answer to something that the queue pair has not asked, or not lately
	ActRise                      // go on from RTR to RTS
	ActLimit                     // arm the limit of the SRQ with Imm
	ActReregister                // the region that the peer uses has other rights or leads elsewhere
	ActResize                    // the CQ has Imm for its depth
	ActJoin                      // the queue pair joins Group or leaves it
	ActRepin                     // the region that the queue pair itself uses has another key
)

var actNames = [...]string{"post", "error", "reset", "reconnect", "revive", "drain", "resume", "deregister", "unpin", "ghost", "rise", "limit", "reregister", "resize", "join", "repin"}

// String names the act.
func (k ActKind) String() string { return actNames[k] }

// Wrong is what is wrong with a posted request on purpose.
type Wrong uint8

// The faults of programs.
const (
	WrongNothing Wrong = iota
	WrongRKey          // a key that nobody has
	WrongBounds        // ends one byte behind the region
	WrongLKey          // a local key that nobody has
	WrongAlign         // an atomic at an odd address
	WrongRoom          // the receive is one byte short
	WrongRecvKey       // the receive names a local key that nobody has
	WrongQKey          // a datagram with another Q_Key than the receiver's
)

// Key says by which key of the peer remote memory is named.
type Key uint8

// The keys.
const (
	KeyRegion Key = iota
	KeyFast
	KeyWindow
	KeyShared // that of the node's window of type 1
)

// Act is one thing that a program does. Addresses are final, keys are filled in when it
// happens.
type Act struct {
	At   Time
	Conn int
	End  int
	Kind ActKind

	Op     qp.WROpcode
	Flags  qp.SendFlags
	Wrong  Wrong
	SG     []qp.SGE
	Inline bool // SG is gathered when posted
	Remote uint64
	Imm    uint32
	Key    Key // by which the remote memory is named
	// Add is what a fetch and add adds or a compare and swap stores. One with Match
	// compares with what the reference memory holds when it is posted.
	Add   uint64
	Match bool
	Group int // that a datagram goes to, from 1 on; 0 is the peer
	// Notify asks for SQ_DRAINED.
	Notify bool

	// The receive that a SEND or a WRITE with immediate needs, posted Lag after it.
	Recv []qp.SGE
	Lag  Time
}

// Length is that of the message in bytes.
func (a *Act) Length() (n uint64) {
	for _, s := range a.SG {
		n += uint64(s.Length)
	}
	return n
}
