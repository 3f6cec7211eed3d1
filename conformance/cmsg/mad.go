package cmsg

import (
	"fmt"
	"net/netip"
)

// Len is the length of a MAD in bytes.
const Len = 256

// QKey is the Q_Key of queue pair 1 (Linux ib_mad.h, IB_QP1_QKEY).
const QKey = 0x80010000

// MAD is a management datagram.
type MAD [Len]byte

// Field is a field of up to 64 bits in a MAD.
type Field struct {
	Name string
	// Bit is the offset of the most significant bit from the start of the MAD, Width the number of
	// bits.
	Bit, Width int
}

// Get returns the value of f.
func (m *MAD) Get(f Field) uint64 {
	var v uint64
	for i := f.Bit; i < f.Bit+f.Width; i++ {
		v = v<<1 | uint64(m[i/8]>>(7-i%8)&1)
	}
	return v
}

// Set sets f to the low bits of v.
func (m *MAD) Set(f Field, v uint64) {
	for i := f.Bit + f.Width - 1; i >= f.Bit; i-- {
		mask := byte(1) << (7 - i%8)
		if m[i/8] &^= mask; v&1 != 0 {
			m[i/8] |= mask
		}
		v >>= 1
	}
}

// Attribute is the attribute ID of a MAD of the communication manager.
type Attribute uint16

// Attributes (IBA 16.7).
const (
	REQ     Attribute = 0x10
	MRA     Attribute = 0x11
	REJ     Attribute = 0x12
	REP     Attribute = 0x13
	RTU     Attribute = 0x14
	DREQ    Attribute = 0x15
	DREP    Attribute = 0x16
	SIDRREQ Attribute = 0x17
	SIDRREP Attribute = 0x18
	LAP     Attribute = 0x19
	APR     Attribute = 0x1a
)

var attributeNames = [...]string{"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP",
	"LAP", "APR"}

func (a Attribute) String() string {
	if a >= REQ && a <= APR {
		return attributeNames[a-REQ]
	}
	return fmt.Sprintf("attribute 0x%x", uint16(a))
}

// Attribute returns the attribute ID.
func (m *MAD) Attribute() Attribute { return Attribute(m.Get(AttrID)) }

// New returns a message with a correct header: class 7, version 2, method Send.
func New(a Attribute, tid uint64) *MAD {
	m := new(MAD)
	m.Set(BaseVersion, 1)
	m.Set(Class, 7)
	m.Set(ClassVersion, 2)
	m.Set(Method, 3)
	m.Set(TID, tid)
	m.Set(AttrID, uint64(a))
	return m
}

// Is reports whether m has the header of a message of the communication manager.
func (m *MAD) Is() bool { return m.Get(Class) == 7 && m.Get(ClassVersion) == 2 && m.Get(Method) == 3 }

// Describe names the message with the fields that matter in a result.
func (m *MAD) Describe() string {
	switch a := m.Attribute(); a {
	case REJ:
		return fmt.Sprintf("REJ reason %d (%s)", m.Get(REJReason), Reason(m.Get(REJReason)))
	case SIDRREP:
		return fmt.Sprintf("SIDR_REP status %d", m.Get(SIDRStatus))
	default:
		return a.String()
	}
}

// Reason names a reason for rejection (IBA 12.6.7.2), 1 to 33.
func Reason(r uint64) string {
	if s := reasons[r]; s != "" {
		return s
	}
	return "unknown"
}

var reasons = map[uint64]string{
	1: "no queue pair", 2: "no end-to-end context", 3: "no resources", 4: "timeout", 5: "unsupported request",
	6: "invalid communication ID", 7: "invalid communication instance", 8: "invalid service ID",
	9: "invalid transport type", 10: "stale connection", 11: "no RDC", 12: "invalid primary GID",
	13: "invalid primary LID", 14: "invalid primary SL", 15: "invalid primary traffic class",
	16: "invalid primary hop limit", 17: "invalid primary packet rate", 18: "invalid alternate GID",
	19: "invalid alternate LID", 20: "invalid alternate SL", 21: "invalid alternate traffic class",
	22: "invalid alternate hop limit", 23: "invalid alternate packet rate", 24: "port and CM redirection",
	25: "port redirection", 26: "invalid path MTU", 27: "insufficient responder resources", 28: "consumer",
	29: "RNR retry count", 30: "duplicate local communication ID", 31: "invalid class version",
	32: "invalid flow label", 33: "invalid alternate flow label",
}

// SetGID sets 16 bytes at a byte offset to the GID of an address.
func (m *MAD) SetGID(at int, a netip.Addr) {
	b := a.As16()
	copy(m[at:], b[:])
}
