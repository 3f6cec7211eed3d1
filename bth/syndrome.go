package bth

import "strconv"

// Syndrome is the first byte of the AETH (IBA 9.7.5):
//
//	000ccccc  ACK, c: credit count code (31: no credit information)
//	001ttttt  RNR NAK, t: timer code
//	011nnnnn  NAK, n: reason
//
// All other values of the upper three bits are reserved.
type Syndrome uint8

const (
	// AckUnlimited is an ACK without credit information.
	AckUnlimited Syndrome = 0x1f

	NakPSNSequence       Syndrome = 0x60 // PSN sequence error: a gap; the PSN of the NAK is the expected one
	NakInvalidRequest    Syndrome = 0x61 // request malformed, or not allowed on the queue pair
	NakRemoteAccess      Syndrome = 0x62 // R_Key, bounds or access rights violated
	NakRemoteOperational Syndrome = 0x63 // the responder could not execute the request
	NakInvalidRD         Syndrome = 0x64 // Reliable Datagram only

	syndromeType = 0xe0
	syndromeAck  = 0x00
	syndromeRNR  = 0x20
	syndromeNak  = 0x60
	syndromeCode = 0x1f
)

// RNR returns the RNR NAK syndrome with the given timer code, see [RNRDelay]. It drops all
// except the lower five bits of code.
func RNR(code uint8) Syndrome { return syndromeRNR | Syndrome(code&syndromeCode) }

// IsAck reports whether s is an ACK.
func (s Syndrome) IsAck() bool { return s&syndromeType == syndromeAck }

// IsRNR reports whether s is an RNR NAK.
func (s Syndrome) IsRNR() bool { return s&syndromeType == syndromeRNR }

// IsNak reports whether s is a NAK other than RNR. Reserved reasons (0x65 to 0x7f) are
// included: the responder has rejected the request, whatever the reason.
func (s Syndrome) IsNak() bool { return s&syndromeType == syndromeNak }

// IsReserved reports whether s is a reserved value: type 010 or 1xx, or a NAK reason above
// 0x64.
func (s Syndrome) IsReserved() bool {
	return !s.typeDefined() || s.IsNak() && s > NakInvalidRD
}

// typeDefined reports whether the upper three bits of s have a defined value.
func (s Syndrome) typeDefined() bool {
	return s&0x80 == 0 && s&syndromeType != 0x40
}

// Credits returns the credit count code of an ACK, 0 to 31.
func (s Syndrome) Credits() uint8 { return uint8(s) & syndromeCode }

// RNRTimer returns the timer code of an RNR NAK, 0 to 31; see [RNRDelay].
func (s Syndrome) RNRTimer() uint8 { return uint8(s) & syndromeCode }

// String returns the syndrome in words, such as "ACK", "RNR NAK timer 12" or "NAK remote access
// error".
func (s Syndrome) String() string {
	switch {
	case s == AckUnlimited:
		return "ACK"
	case s.IsAck():
		return "ACK credits " + strconv.Itoa(int(s.Credits()))
	case s.IsRNR():
		return "RNR NAK timer " + strconv.Itoa(int(s.RNRTimer()))
	case s.IsReserved():
		return "reserved syndrome 0x" + strconv.FormatUint(uint64(s), 16)
	}
	return nakNames[s-NakPSNSequence]
}

var nakNames = [...]string{
	"NAK PSN sequence error",
	"NAK invalid request",
	"NAK remote access error",
	"NAK remote operational error",
	"NAK invalid RD request",
}
