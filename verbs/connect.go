package verbs

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/gorxe/gorxe/qp"
)

// ConnInfo is what each end of a connection has to tell the other, in whatever way the two
// can talk before they are connected.
type ConnInfo struct {
	QPN QPN
	PSN PSN // the first that this end will send, see RandomPSN
	GID GID
	MTU MTU // the largest path MTU this end can use; 0 where the exchange does not tell
}

// Local returns what to tell the peer: this queue pair, at the entry gidIndex of the GID
// table, starting with psn.
func (q *QP) Local(gidIndex int, psn PSN) (ConnInfo, error) {
	g, err := q.ctx.dev.GID(gidIndex)
	if err != nil {
		return ConnInfo{}, err
	}
	return ConnInfo{QPN: q.QPN(), PSN: psn & maxPSN, GID: g.GID, MTU: g.MTU}, nil
}

const maxPSN = 1<<24 - 1

// RandomPSN returns a PSN to start with that nobody can guess: packets left over from an
// earlier connection, or made by a stranger, are not taken for this one's.
func RandomPSN() PSN { return PSN(random64() & maxPSN) }

// random64 returns 64 bits that nobody can guess.
func random64() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

// ConnAttr holds what the two ends of a connection choose. Start from [DefaultConnAttr].
type ConnAttr struct {
	// PathMTU must be the same at both ends. 0 takes the smaller of the two ends' MTU.
	PathMTU MTU
	// Access is what the peer may do, within the rights of each region.
	Access Access
	// MaxRdAtomic is how many READs this end has outstanding, MaxDestRdAtomic how many it
	// takes: 0 to 128. The one should not be more than the other at the peer.
	MaxRdAtomic, MaxDestRdAtomic uint8
	// Timeout t makes an unanswered packet wait 4.096 µs × 2^t, 1 to 31; 0 waits for ever.
	Timeout uint8
	// RetryCnt is how often it is sent again without progress, 0 to 7.
	RetryCnt uint8
	// RNRRetry is how often a peer without a receive is tried again, 0 to 6; 7 is without end.
	RNRRetry uint8
	// MinRNRTimer is the code of the wait asked of a peer that finds no receive posted (IBA
	// table 45: 1 is 10 µs, 12 is 640 µs, 0 is 655 ms).
	MinRNRTimer uint8
	// TrafficClass, HopLimit and FlowLabel go into the IP header. A HopLimit of 0 or 1
	// means 64.
	TrafficClass, HopLimit uint8
	FlowLabel              uint32
}

// DefaultConnAttr returns what perftest and rdma_cm use where they have a choice: remote
// WRITE and READ allowed, 16 READs each way, timeout 14 (67 ms), 7 retries, RNR retries
// without end after 640 µs each.
func DefaultConnAttr() ConnAttr {
	return ConnAttr{
		Access:      RemoteWrite | RemoteRead,
		MaxRdAtomic: 16, MaxDestRdAtomic: 16,
		Timeout: 14, RetryCnt: 7, RNRRetry: 7, MinRNRTimer: 12, HopLimit: 64,
	}
}

// Connect takes a queue pair from RESET (or INIT) by INIT and RTR to RTS. local is what
// [QP.Local] gave and the peer was told, remote what the peer told. On success the peer may
// not have connected yet: what is sent before it has is sent again.
func (q *QP) Connect(local, remote ConnInfo, attr ConnAttr) error {
	index, err := q.ctx.dev.gidIndex(local.GID)
	if err != nil {
		return err
	}
	if attr.PathMTU == 0 {
		attr.PathMTU = commonMTU(local.MTU, remote.MTU)
	}
	return q.connect(index, local.PSN, remote, attr)
}

// Init takes a queue pair of type RC or UC from RESET to INIT, where receives can be posted and
// nothing is received yet. In INIT it changes what the peer may do. A queue pair that is
// connected by [Device.Dial] or [ConnRequest.Accept] takes its rights from there.
func (q *QP) Init(access Access) error {
	needs, _, _ := qp.Requirements(q.qp.Type(), RESET, INIT)
	return q.Modify(&QPAttr{State: INIT, Port: 1, Access: access}, needs|AttrState)
}

// connect is Connect from the entry of the GID table with the given index, starting with psn.
func (q *QP) connect(index int, psn PSN, remote ConnInfo, attr ConnAttr) error {
	for from, step := range []QPAttr{
		{State: INIT, Port: 1, Access: attr.Access},
		{
			State: RTR, PathMTU: attr.PathMTU, DestQPN: remote.QPN, RQPSN: remote.PSN,
			MaxDestRdAtomic: attr.MaxDestRdAtomic, MinRNRTimer: attr.MinRNRTimer,
			AV: AddressVector{
				DGID: remote.GID, SGIDIndex: uint8(index), TrafficClass: attr.TrafficClass,
				HopLimit: attr.HopLimit, FlowLabel: attr.FlowLabel,
			},
		},
		{
			State: RTS, SQPSN: psn, Timeout: attr.Timeout, RetryCnt: attr.RetryCnt,
			RNRRetry: attr.RNRRetry, MaxRdAtomic: attr.MaxRdAtomic,
		},
	} {
		// The states up to RTS follow one another, and so do their numbers.
		needs, _, _ := qp.Requirements(q.qp.Type(), qp.State(from), step.State)
		if err := q.Modify(&step, needs|AttrState); err != nil {
			return fmt.Errorf("connecting to QP %#06x at %v: %w", uint32(remote.QPN), remote.GID, err)
		}
	}
	return nil
}

// commonMTU is the smaller of two path MTUs, where 0 does not count.
func commonMTU(a, b MTU) MTU {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
