package qp

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
)

// Attr holds the attributes of a queue pair. It is ibv_qp_attr.
type Attr struct {
	State    State
	CurState State // Modify: state that the caller expects the QP to be in; Query: same as State
	PathMTU  MTU
	MigState MigState
	QKey     uint32
	RQPSN    bth.PSN // first PSN expected from the peer
	SQPSN    bth.PSN // first PSN to send
	DestQPN  bth.QPN
	Access   mr.Access // access rights of the peer; only the remote and flush rights are used
	AV       AddressVector

	PKeyIndex uint16
	Port      uint8

	MaxRdAtomic     uint8 // maximum number of outstanding READs and atomics as requester
	MaxDestRdAtomic uint8 // maximum number of outstanding READs and atomics as responder

	MinRNRTimer uint8 // 5-bit timer code of the RNR NAKs that the queue pair sends
	Timeout     uint8 // ACK timeout 4.096 µs * 2^Timeout; 0 means infinite
	RetryCnt    uint8 // number of retries after a timeout, 0 to 7; 7 is not infinite, unlike on rxe
	RNRRetry    uint8 // number of retries after an RNR NAK; 7 means infinite

	SQDAsyncNotify bool // raise SQ_DRAINED when the send queue is drained
	SQDraining     bool // Query: in SQD, started work is not complete yet
}

// AddressVector is the path to a peer. It is ibv_ah_attr with a GRH.
type AddressVector struct {
	DGID         GID
	FlowLabel    uint32 // 20 bits
	SGIDIndex    uint8  // index of the local address in the GID table
	TrafficClass uint8
	HopLimit     uint8
}

// MigState is the path migration state. It is ibv_mig_state. RoCE has no alternate path, so a
// queue pair is always Migrated.
type MigState uint8

const (
	Migrated MigState = iota
	Rearm
	Armed
)

// AttrMask is a set of queue pair attributes. The values are those of ibv_qp_attr_mask.
type AttrMask uint32

const (
	AttrState           AttrMask = 1 << 0
	AttrCurState        AttrMask = 1 << 1
	AttrSQDAsyncNotify  AttrMask = 1 << 2
	AttrAccess          AttrMask = 1 << 3
	AttrPKeyIndex       AttrMask = 1 << 4
	AttrPort            AttrMask = 1 << 5
	AttrQKey            AttrMask = 1 << 6
	AttrAV              AttrMask = 1 << 7
	AttrPathMTU         AttrMask = 1 << 8
	AttrTimeout         AttrMask = 1 << 9
	AttrRetryCnt        AttrMask = 1 << 10
	AttrRNRRetry        AttrMask = 1 << 11
	AttrRQPSN           AttrMask = 1 << 12
	AttrMaxRdAtomic     AttrMask = 1 << 13
	AttrAltPath         AttrMask = 1 << 14
	AttrMinRNRTimer     AttrMask = 1 << 15
	AttrSQPSN           AttrMask = 1 << 16
	AttrMaxDestRdAtomic AttrMask = 1 << 17
	AttrMigState        AttrMask = 1 << 18
	AttrCap             AttrMask = 1 << 19
	AttrDestQPN         AttrMask = 1 << 20
	AttrRateLimit       AttrMask = 1 << 25
)

var attrNames = [32]string{
	0: "STATE", 1: "CUR_STATE", 2: "EN_SQD_ASYNC_NOTIFY", 3: "ACCESS_FLAGS", 4: "PKEY_INDEX",
	5: "PORT", 6: "QKEY", 7: "AV", 8: "PATH_MTU", 9: "TIMEOUT", 10: "RETRY_CNT", 11: "RNR_RETRY",
	12: "RQ_PSN", 13: "MAX_QP_RD_ATOMIC", 14: "ALT_PATH", 15: "MIN_RNR_TIMER", 16: "SQ_PSN",
	17: "MAX_DEST_RD_ATOMIC", 18: "PATH_MIG_STATE", 19: "CAP", 20: "DEST_QPN", 25: "RATE_LIMIT",
}

// String joins the verbs names, such as "IBV_QP_STATE|IBV_QP_AV". Bits without a name are in
// hex. It returns "0" for no bits.
func (m AttrMask) String() string {
	if m == 0 {
		return "0"
	}
	var parts []string
	for m != 0 {
		i := bits.TrailingZeros32(uint32(m))
		m &^= 1 << i
		if attrNames[i] != "" {
			parts = append(parts, "IBV_QP_"+attrNames[i])
		} else {
			parts = append(parts, fmt.Sprintf("%#x", 1<<i))
		}
	}
	return strings.Join(parts, "|")
}
