package bth

import "strings"

// Headers is the set of extension headers that follow the BTH. The order of the constants is
// the order on the wire.
type Headers uint16

const (
	HasDETH         Headers = 1 << iota // datagram: Q_Key, source QP
	HasFETH                             // flush: placement type, selectivity level
	HasRETH                             // RDMA: address, R_Key, length
	HasAtomicETH                        // atomic: address, R_Key, swap or add, compare
	HasAETH                             // acknowledge: syndrome, MSN
	HasAtomicAckETH                     // atomic acknowledge: original value
	HasImmDt                            // immediate data
	HasIETH                             // R_Key to invalidate
	HasCNP                              // reserved bytes of a congestion notification packet
)

// Lengths of the parts of a packet, in bytes.
const (
	BTHLen          = 12
	DETHLen         = 8
	FETHLen         = 4
	RETHLen         = 16
	AtomicETHLen    = 28
	AETHLen         = 4
	AtomicAckETHLen = 8
	ImmDtLen        = 4
	IETHLen         = 4
	CNPReservedLen  = 16
	ICRCLen         = 4

	// MaxHeaderLen is the maximum length of BTH and extension headers, that of an atomic
	// request.
	MaxHeaderLen = BTHLen + AtomicETHLen
	// MaxPayload is the maximum length of payload and pad: the largest path MTU (256, 512,
	// 1024, 2048 or 4096).
	MaxPayload = 4096
	// MaxPacketLen is the maximum length of a RoCEv2 packet, which is a UDP payload.
	MaxPacketLen = MaxHeaderLen + MaxPayload + ICRCLen
)

// headerKinds describes the headers, indexed by the bit number of their constant.
var headerKinds = [...]struct {
	name string
	len  int
}{
	{"DETH", DETHLen},
	{"FETH", FETHLen},
	{"RETH", RETHLen},
	{"AtomicETH", AtomicETHLen},
	{"AETH", AETHLen},
	{"AtomicAckETH", AtomicAckETHLen},
	{"ImmDt", ImmDtLen},
	{"IETH", IETHLen},
	{"CNP", CNPReservedLen},
}

// Len returns the total length of the headers in bytes.
func (h Headers) Len() int {
	n := 0
	for i, k := range headerKinds {
		if h&(1<<i) != 0 {
			n += k.len
		}
	}
	return n
}

// String lists the headers in wire order, such as "RETH+ImmDt"; it returns "" for the empty
// set.
func (h Headers) String() string {
	var names []string
	for i, k := range headerKinds {
		if h&(1<<i) != 0 {
			names = append(names, k.name)
		}
	}
	return strings.Join(names, "+")
}
