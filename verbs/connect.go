package verbs

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/gorxe/gorxe/qp"
)

// ConnInfo is what each end of a connection tells the other before they are connected, by any
// means of communication, such as a TCP connection.
type ConnInfo struct {
	QPN QPN
	PSN PSN // first PSN that this end sends; see RandomPSN
	GID GID
	MTU MTU // maximum path MTU of this end; 0 if the exchange does not include it
}

// Local returns the ConnInfo to send to the peer: this queue pair, at the entry gidIndex of the
// GID table, starting with psn.
func (q *QP) Local(gidIndex int, psn PSN) (ConnInfo, error) {
	g, err := q.ctx.dev.GID(gidIndex)
	if err != nil {
		return ConnInfo{}, err
	}
	return ConnInfo{QPN: q.QPN(), PSN: psn & maxPSN, GID: g.GID, MTU: g.MTU}, nil
}

const maxPSN = 1<<24 - 1

// RandomPSN returns an unpredictable initial PSN. Packets of an earlier connection and forged
// packets are then unlikely to match this connection.
func RandomPSN() PSN { return PSN(random64() & maxPSN) }

// random64 returns 64 unpredictable bits.
func random64() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

// ConnAttr holds the attributes that each end of a connection chooses. Start from
// [DefaultConnAttr].
type ConnAttr struct {
	// PathMTU is the path MTU, which must be the same at both ends. 0 means the smaller of the
	// two ends' maximum.
	PathMTU MTU
	// Access holds the rights of the peer, within the rights of each region.
	Access Access
	// MaxRdAtomic is the number of READs and atomics that this end may have outstanding,
	// MaxDestRdAtomic the number it accepts: 0 to 128. MaxRdAtomic should not exceed the peer's
	// MaxDestRdAtomic.
	MaxRdAtomic, MaxDestRdAtomic uint8
	// Timeout is the code of the acknowledgement timeout: 4.096 µs × 2^Timeout, 1 to 31; 0
	// disables it.
	Timeout uint8
	// RetryCnt is the number of retransmissions without progress, 0 to 7.
	RetryCnt uint8
	// RNRRetry is the number of retries after RNR NAKs, 0 to 6; 7 means unlimited.
	RNRRetry uint8
	// MinRNRTimer is the code of the delay that RNR NAKs request from a peer whose message finds
	// no receive posted (IBA table 45: 1 is 10 µs, 12 is 640 µs, 0 is 655 ms).
	MinRNRTimer uint8
	// TrafficClass, HopLimit and FlowLabel are fields of the IP header. A HopLimit of 0 or 1
	// means 64.
	TrafficClass, HopLimit uint8
	FlowLabel              uint32
}

// DefaultConnAttr returns the defaults of perftest and rdma_cm: remote WRITE and READ allowed, 16
// READs in each direction, timeout 14 (67 ms), 7 retries, unlimited RNR retries after 640 µs
// each.
func DefaultConnAttr() ConnAttr {
	return ConnAttr{
		Access:      RemoteWrite | RemoteRead,
		MaxRdAtomic: 16, MaxDestRdAtomic: 16,
		Timeout: 14, RetryCnt: 7, RNRRetry: 7, MinRNRTimer: 12, HopLimit: 64,
	}
}

// Connect moves a queue pair from RESET or INIT through RTR to RTS. local is the result of
// [QP.Local] that the peer received, remote the peer's. The peer may not have connected yet when
// Connect returns: packets that it drops until then are retransmitted.
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

// Init moves a queue pair of type RC or UC from RESET to INIT, where receives can be posted but
// nothing is received yet. For a queue pair in INIT, it changes the rights of the peer.
// [Device.Dial] and [ConnRequest.Accept] replace these rights by those of their parameters.
func (q *QP) Init(access Access) error {
	needs, _, _ := qp.Requirements(q.qp.Type(), RESET, INIT)
	return q.Modify(&QPAttr{State: INIT, Port: 1, Access: access}, needs|AttrState)
}

// connect is Connect from the GID table entry with the given index, starting with psn.
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
		// The states up to RTS and their numbers are consecutive.
		needs, _, _ := qp.Requirements(q.qp.Type(), qp.State(from), step.State)
		if err := q.Modify(&step, needs|AttrState); err != nil {
			return fmt.Errorf("connecting to QP %#06x at %v: %w", uint32(remote.QPN), remote.GID, err)
		}
	}
	return nil
}

// commonMTU returns the smaller of two path MTUs; 0 means unknown.
func commonMTU(a, b MTU) MTU {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
