package bth_test

import (
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
)

func TestSyndromeKinds(t *testing.T) {
	tests := []struct {
		s                       bth.Syndrome
		ack, rnr, nak, reserved bool
		text                    string
	}{
		{bth.AckUnlimited, true, false, false, false, "ACK"},
		{0x00, true, false, false, false, "ACK credits 0"},
		{0x1e, true, false, false, false, "ACK credits 30"},
		{0x20, false, true, false, false, "RNR NAK timer 0"},
		{0x2c, false, true, false, false, "RNR NAK timer 12"},
		{0x3f, false, true, false, false, "RNR NAK timer 31"},
		{0x40, false, false, false, true, "reserved syndrome 0x40"},
		{0x5f, false, false, false, true, "reserved syndrome 0x5f"},
		{bth.NakPSNSequence, false, false, true, false, "NAK PSN sequence error"},
		{bth.NakInvalidRequest, false, false, true, false, "NAK invalid request"},
		{bth.NakRemoteAccess, false, false, true, false, "NAK remote access error"},
		{bth.NakRemoteOperational, false, false, true, false, "NAK remote operational error"},
		{bth.NakInvalidRD, false, false, true, false, "NAK invalid RD request"},
		{0x65, false, false, true, true, "reserved syndrome 0x65"},
		{0x7f, false, false, true, true, "reserved syndrome 0x7f"},
		{0x80, false, false, false, true, "reserved syndrome 0x80"},
		{0xff, false, false, false, true, "reserved syndrome 0xff"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			s := tt.s
			if s.IsAck() != tt.ack || s.IsRNR() != tt.rnr || s.IsNak() != tt.nak || s.IsReserved() != tt.reserved {
				t.Errorf("%#02x: ack %t rnr %t nak %t reserved %t, want %t %t %t %t", uint8(s),
					s.IsAck(), s.IsRNR(), s.IsNak(), s.IsReserved(), tt.ack, tt.rnr, tt.nak, tt.reserved)
			}
			if s.String() != tt.text {
				t.Errorf("String = %q", s)
			}
		})
	}
}

func TestEverySyndromeIsOfAtMostOneKind(t *testing.T) {
	for n := range 256 {
		s := bth.Syndrome(n)
		kinds := flag(s.IsAck()) + flag(s.IsRNR()) + flag(s.IsNak())
		if kinds > 1 || kinds == 0 && !s.IsReserved() {
			t.Errorf("%#02x is of %d kinds, reserved %t", n, kinds, s.IsReserved())
		}
		if s.String() == "" {
			t.Errorf("%#02x has no name", n)
		}
	}
}

func TestRNRCarriesItsTimer(t *testing.T) {
	for code := range uint8(64) {
		s := bth.RNR(code)
		if !s.IsRNR() || s.RNRTimer() != code%32 {
			t.Errorf("RNR(%d) = %s", code, s)
		}
	}
	if got := bth.AckUnlimited.Credits(); got != 31 {
		t.Errorf("AckUnlimited.Credits() = %d", got)
	}
}

// IBA 9.7.5.2.8, table 45.
func TestRNRDelay(t *testing.T) {
	for code, want := range map[uint8]time.Duration{
		0: 655360 * time.Microsecond, 1: 10 * time.Microsecond, 7: 120 * time.Microsecond, 12: 640 * time.Microsecond,
		16: 2560 * time.Microsecond, 24: 40960 * time.Microsecond, 31: 491520 * time.Microsecond,
		32: 655360 * time.Microsecond,
	} {
		if got := time.Duration(bth.RNRDelay(code)); got != want {
			t.Errorf("RNRDelay(%d) = %v, want %v", code, got, want)
		}
	}
	// From code 3 on, the delay doubles every second step.
	for code := uint8(3); code <= 29; code++ {
		if a, b := bth.RNRDelay(code), bth.RNRDelay(code+2); b != 2*a {
			t.Errorf("RNRDelay(%d) = %d, RNRDelay(%d) = %d, want twice as much", code, a, code+2, b)
		}
	}
}
