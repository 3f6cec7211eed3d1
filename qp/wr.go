package qp

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
)

// WROpcode is the operation of a send work request. The values are those of ibv_wr_opcode and
// the kernel's ib_wr_opcode.
type WROpcode uint8

const (
	WRWrite       WROpcode = 0
	WRWriteImm    WROpcode = 1
	WRSend        WROpcode = 2
	WRSendImm     WROpcode = 3
	WRRead        WROpcode = 4
	WRCmpSwap     WROpcode = 5
	WRFetchAdd    WROpcode = 6
	WRLocalInv    WROpcode = 7
	WRBindMW      WROpcode = 8
	WRSendInv     WROpcode = 9
	WRFlush       WROpcode = 14
	WRAtomicWrite WROpcode = 15
	WRRegMR       WROpcode = 0x20 // IB_WR_REG_MR of the kernel; libibverbs has no name for it
)

// SendFlags modify a send work request. The values are those of ibv_send_flags.
type SendFlags uint32

const (
	Fence     SendFlags = 1 << 0 // wait until earlier READs and atomics are complete
	Signaled  SendFlags = 1 << 1 // generate a completion even on success
	Solicited SendFlags = 1 << 2 // raise a solicited event at the receiver
	Inline    SendFlags = 1 << 3 // copy the data from InlineData when posting
)

// MaxMessage is the maximum length of a message in bytes (IBA C9-94).
const MaxMessage = 1 << 31

// SGE is a scatter/gather element: a range of local memory. Length may be 0.
type SGE struct {
	Addr   uint64
	Length uint32
	LKey   uint32
}

// SendWR is a work request for the send queue. Posting copies it, so that the caller can reuse
// it and everything it points to at once, except AH.
type SendWR struct {
	ID     uint64
	Opcode WROpcode
	Flags  SendFlags
	SGList []SGE

	// InlineData is the message if Flags has Inline; SGList must then be empty.
	InlineData []byte

	Imm uint32 // immediate data; R_Key to invalidate for WRSendInv and WRLocalInv

	RemoteAddr uint64
	RKey       uint32

	CompareAdd uint64 // WRCmpSwap: value to compare; WRFetchAdd: value to add
	Swap       uint64 // WRCmpSwap: value to store

	Flush Flush       // for WRFlush, with RemoteAddr and RKey
	Bind  *mr.Bind    // for WRBindMW
	Reg   *mr.FastReg // for WRRegMR

	// Receiver of a UD or GSI message. RemoteQPN is bth.MulticastQPN for a multicast group. If
	// the highest bit of RemoteQKey is set, the queue pair's own Q_Key is sent instead.
	AH         AH
	RemoteQPN  bth.QPN
	RemoteQKey uint32
}

// RecvWR is a work request for the receive queue. Posting copies it.
type RecvWR struct {
	ID     uint64
	SGList []SGE
}

// wrOpcode holds the properties of an opcode that CheckPost and completions need.
type wrOpcode struct {
	name   string
	types  typeSet  // types that support the opcode
	wc     WCOpcode // opcode of the completion
	flags  wrFlags
	length uint32 // exact message length in bytes with wrExact
}

// typeSet is a set of queue pair types: bit t is set for type t.
type typeSet uint8

func types(ts ...Type) (s typeSet) {
	for _, t := range ts {
		s |= 1 << t
	}
	return s
}

func (s typeSet) has(t Type) bool { return s>>t&1 != 0 }

type wrFlags uint8

const (
	wrInline wrFlags = 1 << iota // data may be inline
	wrExact                      // message length is fixed
	wrNoData                     // no message
	wrLocal                      // no packet is sent
)

var (
	anyType   = types(RC, UC, UD, GSI)
	connected = types(RC, UC)
	reliable  = types(RC)
)

// wrOpcodes follows the table of ibv_post_send(3), except that WRSendInv is limited to RC,
// because UC has no such opcode on the wire.
var wrOpcodes = [...]wrOpcode{
	WRWrite:       {"RDMA_WRITE", connected, WCWrite, wrInline, 0},
	WRWriteImm:    {"RDMA_WRITE_WITH_IMM", connected, WCWrite, wrInline, 0},
	WRSend:        {"SEND", anyType, WCSend, wrInline, 0},
	WRSendImm:     {"SEND_WITH_IMM", anyType, WCSend, wrInline, 0},
	WRRead:        {"RDMA_READ", reliable, WCRead, 0, 0},
	WRCmpSwap:     {"ATOMIC_CMP_AND_SWP", reliable, WCCmpSwap, wrExact, 8},
	WRFetchAdd:    {"ATOMIC_FETCH_AND_ADD", reliable, WCFetchAdd, wrExact, 8},
	WRLocalInv:    {"LOCAL_INV", connected, WCLocalInv, wrNoData | wrLocal, 0},
	WRBindMW:      {"BIND_MW", connected, WCBindMW, wrNoData | wrLocal, 0},
	WRSendInv:     {"SEND_WITH_INV", reliable, WCSend, wrInline, 0},
	WRFlush:       {"FLUSH", reliable, WCFlush, wrNoData, 0},
	WRAtomicWrite: {"ATOMIC_WRITE", reliable, WCAtomicWrite, wrInline | wrExact, 8},
	WRRegMR:       {"REG_MR", connected, WCRegMR, wrNoData | wrLocal, 0},
}

// Valid reports whether o is one of the opcodes above.
func (o WROpcode) Valid() bool { return int(o) < len(wrOpcodes) && wrOpcodes[o].name != "" }

// String returns the name without IBV_WR_, such as "RDMA_WRITE".
func (o WROpcode) String() string {
	if o.Valid() {
		return wrOpcodes[o].name
	}
	return fmt.Sprintf("WR(%d)", uint8(o))
}

// WCOpcode returns the opcode of the completion of a request with this opcode.
func (o WROpcode) WCOpcode() WCOpcode {
	if o.Valid() {
		return wrOpcodes[o].wc
	}
	return WCSend
}

// Allowed reports whether a queue pair of type t supports the opcode.
func (o WROpcode) Allowed(t Type) bool { return o.Valid() && t.Valid() && wrOpcodes[o].types.has(t) }
