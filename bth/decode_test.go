package bth_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

const (
	bthHex  = " 00 ffff 00 000011 80 000001 "
	rethHex = " 0011223344556677 8899aabb 00000004 "
	icrcHex = " 01020304"
)

// Malformed packets, at least one for each reason.
var hostile = []struct {
	name   string
	wire   string
	reason bth.Reason
}{
	{"empty", "", bth.ReasonShortBTH},
	{"one byte", "04", bth.ReasonShortBTH},
	{"BTH cut by one byte", "04 00 ffff 00 000011 80 0000", bth.ReasonShortBTH},

	{"version 1", "04 01 ffff 00 000011 80 000001" + icrcHex, bth.ReasonVersion},
	{"version 15 of an unknown opcode", "ff 0f ffff 00 000011 80 000001", bth.ReasonVersion},

	{"48-byte UDP datagram with an unknown opcode, the one that panics Linux rxe",
		"1f" + bthHex + strings.Repeat("00", 24) + icrcHex, bth.ReasonUnknownOpcode},
	{"hole in the RC opcodes", "15" + bthHex + icrcHex, bth.ReasonUnknownOpcode},
	{"Reliable Datagram", "44" + bthHex + icrcHex, bth.ReasonUnknownOpcode},
	{"XRC", "a4" + bthHex + icrcHex, bth.ReasonUnknownOpcode},
	{"UC READ does not exist", "2c" + bthHex + rethHex + icrcHex, bth.ReasonUnknownOpcode},
	{"unknown opcode without ICRC", "ff" + bthHex, bth.ReasonUnknownOpcode},

	{"WRITE without its RETH", "0a" + bthHex, bth.ReasonShortHeader},
	{"RETH cut by one byte", "0a" + bthHex + "0011223344556677 8899aabb 000000", bth.ReasonShortHeader},
	{"ACK without its AETH", "11" + bthHex, bth.ReasonShortHeader},
	{"CNP of a bare BTH", "81" + bthHex, bth.ReasonShortHeader},
	{"atomic with the ICRC where its header should end", "13" + bthHex + rethHex + icrcHex, bth.ReasonShortHeader},

	{"BTH alone", "04" + bthHex, bth.ReasonShortICRC},
	{"ICRC cut by one byte", "04" + bthHex + "010203", bth.ReasonShortICRC},
	{"RETH and no ICRC", "0a" + bthHex + rethHex, bth.ReasonShortICRC},
	{"pad count where not even an ICRC is", "04 30 ffff 00 000011 80 000001 01", bth.ReasonShortICRC},

	{"payload of 1 byte without pad", "04" + bthHex + "61" + icrcHex, bth.ReasonUnaligned},
	{"payload of 2 bytes, pad count 2, pad missing", "04 20 ffff 00 000011 80 000001 6162" + icrcHex,
		bth.ReasonUnaligned},
	{"ACK and one byte", "11" + bthHex + "1f000001 00" + icrcHex, bth.ReasonUnaligned},

	{"payload of 4100 bytes", "04" + bthHex + strings.Repeat("00", 4100) + icrcHex, bth.ReasonOversize},
	{"a datagram as long as UDP allows", "04" + bthHex + strings.Repeat("00", 65504-16) + icrcHex, bth.ReasonOversize},

	{"READ request with payload", "0c" + bthHex + rethHex + "61626364" + icrcHex, bth.ReasonUnexpectedPayload},
	{"ACK with payload", "11" + bthHex + "1f000001 61626364" + icrcHex, bth.ReasonUnexpectedPayload},
	{"FLUSH with payload", "1c" + bthHex + "00000001" + rethHex + "61626364" + icrcHex, bth.ReasonUnexpectedPayload},
	{"CNP longer than it is", "81" + bthHex + strings.Repeat("00", 20) + icrcHex, bth.ReasonUnexpectedPayload},

	{"pad count 1 and no payload", "04 10 ffff 00 000011 80 000001" + icrcHex, bth.ReasonPad},
	{"pad count 3 and no payload", "04 30 ffff 00 000011 80 000001" + icrcHex, bth.ReasonPad},
	{"pad count on an ACK", "11 10 ffff 00 000011 80 000001 1f000001" + icrcHex, bth.ReasonPad},

	{"syndrome of type 010", "11" + bthHex + "40000001" + icrcHex, bth.ReasonSyndrome},
	{"syndrome of type 100", "11" + bthHex + "9f000001" + icrcHex, bth.ReasonSyndrome},
	{"syndrome of type 111 on a READ response", "10" + bthHex + "ff000001 61626364" + icrcHex, bth.ReasonSyndrome},
	{"syndrome of type 010 on an atomic acknowledge", "12" + bthHex + "5f000001 0011223344556677" + icrcHex,
		bth.ReasonSyndrome},
}

func TestDecodeRefuses(t *testing.T) {
	seen := map[bth.Reason]bool{}
	for _, tt := range hostile {
		seen[tt.reason] = true
		t.Run(fmt.Sprintf("%s/%s", tt.reason, tt.name), func(t *testing.T) {
			b := unhex(t, tt.wire)
			p := bth.Packet{Payload: []byte("stale")}
			err := p.Decode(b[:len(b):len(b)])
			if got := bth.ReasonOf(err); got != tt.reason {
				t.Fatalf("Decode = %v, reason %s, want %s", err, got, tt.reason)
			}
			var decodeError *bth.DecodeError
			if !errors.As(err, &decodeError) || decodeError.Reason != tt.reason {
				t.Errorf("errors.As finds %v", decodeError)
			}
			if p.Payload != nil {
				t.Errorf("Payload = %q after an error, want nil", p.Payload)
			}
			explained := bth.Explain(b)
			if !errors.Is(explained, err) || len(explained.Error()) <= len(err.Error()) {
				t.Errorf("Explain = %q, want %q and more", explained, err)
			}
			if len(b) >= bth.BTHLen && (p.Opcode != bth.Opcode(b[0]) || p.DestQP != 0x11 || p.PSN != 1) {
				t.Errorf("BTH not readable after %s: %+v", tt.reason, p)
			}
		})
	}
	for r := bth.ReasonNone + 1; r < bth.ReasonIPVersion; r++ {
		if !seen[r] {
			t.Errorf("no hostile packet for reason %s", r)
		}
	}
}

func TestDecodeAccepts(t *testing.T) {
	tests := []struct {
		name    string
		wire    string
		payload int
	}{
		{"zero-length SEND", "04" + bthHex, 0},
		{"zero-length LAST, a fault for the transport to judge", "02" + bthHex, 0},
		{"payload of 4096 bytes", "04" + bthHex + strings.Repeat("00", 4096), 4096},
		{"payload of 4093 bytes", "04 30 ffff 00 000011 80 000001" + strings.Repeat("00", 4096), 4093},
		{"pad count 3 of 4 bytes", "04 30 ffff 00 000011 80 000001 61000000", 1},
		{"pad count 1 of 8 bytes", "04 10 ffff 00 000011 80 000001 6162636465666700", 7},
		{"reserved NAK reason: a refusal all the same", "11" + bthHex + "7f000001", 0},
		{"READ response of length 0, the answer to FLUSH and ATOMIC WRITE", "10" + bthHex + "1f000001", 0},
		{"queue pair 0, for the demultiplexer to judge", "04 00 ffff 00 000000 80 000001", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.wire+icrcHex)
			var p bth.Packet
			if err := p.Decode(b); err != nil {
				t.Fatalf("Decode: %v", bth.Explain(b))
			}
			if len(p.Payload) != tt.payload {
				t.Errorf("payload of %d bytes, want %d", len(p.Payload), tt.payload)
			}
			if cap(p.Payload) != len(p.Payload) {
				t.Errorf("an append to Payload could write over pad and ICRC: cap %d, len %d", cap(p.Payload),
					len(p.Payload))
			}
			if err := bth.Explain(b); err != nil {
				t.Errorf("Explain = %v for a packet Decode accepts", err)
			}
		})
	}
}

// Every prefix of a valid packet of every opcode is rejected or decodes within its bounds,
// without a panic.
func TestDecodeOfEveryTruncation(t *testing.T) {
	for o := range bth.Opcodes() {
		p := bth.Packet{Opcode: o, AETH: bth.AETH{Syndrome: bth.AckUnlimited}}
		if o.Info().Payload {
			p.Payload = make([]byte, 8)
		}
		whole := bth.AppendICRC(p.Append(nil), 0)
		if err := p.Decode(whole); err != nil {
			t.Errorf("%s: %v", o, err)
		}
		for n := range whole {
			err := p.Decode(whole[:n:n])
			short := n < o.Info().HeaderLen+bth.ICRCLen
			if short && err == nil || !short && n%4 != 0 && bth.ReasonOf(err) != bth.ReasonUnaligned {
				t.Errorf("%s cut to %d bytes: %v", o, n, err)
			}
		}
	}
}
