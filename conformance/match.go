package conformance

import (
	"fmt"
	"strings"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
)

// AckOf matches a positive acknowledgement with a PSN.
func AckOf(psn bth.PSN) Match {
	return Match{fmt.Sprintf("an ACK of PSN %d", psn), func(r *wire.Received) bool {
		return r.Opcode == bth.RCAck && r.PSN == psn && r.AETH.Syndrome.IsAck()
	}}
}

// AckFrom matches a positive acknowledgement with a PSN or a later one.
func AckFrom(psn bth.PSN) Match {
	return Match{fmt.Sprintf("an ACK of PSN %d or a later one", psn), func(r *wire.Received) bool {
		return r.Opcode == bth.RCAck && r.PSN.Diff(psn) >= 0 && r.AETH.Syndrome.IsAck()
	}}
}

// NakOf matches a NAK with a PSN and a syndrome.
func NakOf(psn bth.PSN, s bth.Syndrome) Match {
	return Match{fmt.Sprintf("%v of PSN %d", s, psn), func(r *wire.Received) bool {
		return r.Opcode == bth.RCAck && r.PSN == psn && r.AETH.Syndrome == s
	}}
}

// RNROf matches an RNR NAK with a PSN and any timer.
func RNROf(psn bth.PSN) Match {
	return Match{fmt.Sprintf("an RNR NAK of PSN %d", psn), func(r *wire.Received) bool {
		return r.Opcode == bth.RCAck && r.PSN == psn && r.AETH.Syndrome.IsRNR()
	}}
}

// DataOf matches a packet with a PSN and an opcode, such as a READ response.
func DataOf(psn bth.PSN, op bth.Opcode) Match {
	return Match{fmt.Sprintf("%v with PSN %d", op, psn), func(r *wire.Received) bool {
		return r.Opcode == op && r.PSN == psn
	}}
}

// Either matches what one of several conditions matches.
func Either(all ...Match) Match {
	var names []string
	for _, m := range all {
		names = append(names, m.What)
	}
	return Match{strings.Join(names, " or "), func(r *wire.Received) bool {
		for _, m := range all {
			if m.Is(r) {
				return true
			}
		}
		return false
	}}
}

// Describe describes a received packet for a result.
func Describe(r *wire.Received) string {
	if r.Err != nil {
		return fmt.Sprintf("%d bytes that cannot be decoded: %v", len(r.Bytes), r.Err)
	}
	s := fmt.Sprintf("%v with PSN %d", r.Opcode, r.PSN)
	if r.Opcode.Info().Headers&bth.HasAETH != 0 {
		s += fmt.Sprintf(" (%v, MSN %d)", r.AETH.Syndrome, r.AETH.MSN)
	}
	if n := len(r.Payload); n > 0 {
		s += fmt.Sprintf(", %d bytes", n)
	}
	return s
}
