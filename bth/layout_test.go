package bth_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/bth"
)

// layouts are hand-encoded packets, with a group of digits for each field of IBA 9.2 and 9.3.
// All headers occur, including those that no capture contains.
var layouts = []struct {
	name string
	wire string // without ICRC
	want bth.Packet
}{
	{
		"BTH with every bit that has a meaning",
		"04 f0 8001 c0 123456 80 abcdef 00 000000",
		bth.Packet{
			Opcode: bth.RCSendOnly, Solicited: true, MigReq: true, Pad: 3, PKey: 0x8001, FECN: true, BECN: true,
			DestQP: 0x123456, AckReq: true, PSN: 0xabcdef, Payload: []byte{0},
		},
	},
	{
		"SEND with immediate data",
		"05 00 ffff 00 000011 80 000001 cafef00d 61626364",
		bth.Packet{Opcode: bth.RCSendOnlyImm, PKey: 0xffff, DestQP: 0x11, AckReq: true, PSN: 1, Imm: 0xcafef00d,
			Payload: []byte("abcd")},
	},
	{
		"SEND with invalidate",
		"17 10 ffff 00 000011 80 000002 00001234 616263 00",
		bth.Packet{
			Opcode: bth.RCSendOnlyInv, Pad: 1, PKey: 0xffff, DestQP: 0x11, AckReq: true, PSN: 2, InvalidateRKey: 0x1234,
			Payload: []byte("abc"),
		},
	},
	{
		"WRITE with immediate: RETH, then ImmDt",
		"0b 00 ffff 00 000011 80 000003 0011223344556677 8899aabb 00000004 01020304 61626364",
		bth.Packet{
			Opcode: bth.RCWriteOnlyImm, PKey: 0xffff, DestQP: 0x11, AckReq: true, PSN: 3,
			RETH: bth.RETH{VA: 0x0011223344556677, RKey: 0x8899aabb, DMALen: 4}, Imm: 0x01020304,
			Payload: []byte("abcd"),
		},
	},
	{
		"compare and swap",
		"13 00 ffff 00 000011 80 000004 0011223344556678 8899aabb 1111111122222222 3333333344444444",
		bth.Packet{
			Opcode: bth.RCCmpSwap, PKey: 0xffff, DestQP: 0x11, AckReq: true, PSN: 4,
			AtomicETH: bth.AtomicETH{VA: 0x0011223344556678, RKey: 0x8899aabb, SwapAdd: 0x1111111122222222,
				Compare: 0x3333333344444444},
		},
	},
	{
		"atomic acknowledge: AETH, then AtomicAckETH",
		"12 00 ffff 00 000011 00 000004 1f 00000a 5555555566666666",
		bth.Packet{
			Opcode: bth.RCAtomicAck, PKey: 0xffff, DestQP: 0x11, PSN: 4,
			AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: 10}, AtomicAck: 0x5555555566666666,
		},
	},
	{
		"FLUSH: FETH, then RETH",
		"1c 00 ffff 00 000011 80 000005 000000 12 0011223344556677 8899aabb 00001000",
		bth.Packet{
			Opcode: bth.RCFlush, PKey: 0xffff, DestQP: 0x11, AckReq: true, PSN: 5, FETH: bth.FETH{Type: 2, Level: 1},
			RETH: bth.RETH{VA: 0x0011223344556677, RKey: 0x8899aabb, DMALen: 4096},
		},
	},
	{
		"ATOMIC WRITE: RETH and 8 bytes",
		"1d 00 ffff 00 000011 80 000006 0011223344556678 8899aabb 00000008 6162636465666768",
		bth.Packet{
			Opcode: bth.RCAtomicWrite, PKey: 0xffff, DestQP: 0x11, AckReq: true, PSN: 6,
			RETH: bth.RETH{VA: 0x0011223344556678, RKey: 0x8899aabb, DMALen: 8}, Payload: []byte("abcdefgh"),
		},
	},
	{
		"UD SEND with immediate: DETH, then ImmDt",
		"65 00 ffff 00 000001 00 000007 80010000 00 000a0b 0000cdab 61626364",
		bth.Packet{
			Opcode: bth.UDSendOnlyImm, PKey: 0xffff, DestQP: bth.GSI, PSN: 7,
			DETH: bth.DETH{QKey: 0x80010000, SrcQP: 0x0a0b},
			Imm:  0xcdab, Payload: []byte("abcd"),
		},
	},
	{
		"zero-length UC SEND",
		"24 00 ffff 00 ffffff 00 ffffff",
		bth.Packet{Opcode: bth.UCSendOnly, PKey: 0xffff, DestQP: bth.MulticastQPN, PSN: bth.MaxPSN},
	},
	{
		"CNP: sixteen reserved bytes",
		"81 00 ffff 40 000118 00 000000 00000000000000000000000000000000",
		bth.Packet{Opcode: bth.CNP, PKey: 0xffff, BECN: true, DestQP: 0x118},
	},
}

func TestLayout(t *testing.T) {
	for _, tt := range layouts {
		t.Run(tt.name, func(t *testing.T) {
			wire := unhex(t, tt.wire)
			var got bth.Packet
			if err := got.Decode(append(wire[:len(wire):len(wire)], 1, 2, 3, 4)); err != nil {
				t.Fatal(err)
			}
			if len(got.Payload) == 0 {
				got.Payload = nil
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Decode (-want +got):\n%s", diff)
			}
			if b := tt.want.Append([]byte("before")); !bytes.Equal(b, append([]byte("before"), wire...)) {
				t.Errorf("Append\n got %x\nwant %x", b[6:], wire)
			}
			headers := wire[:tt.want.Opcode.Info().HeaderLen]
			if b := tt.want.AppendHeaders(nil); !bytes.Equal(b, headers) {
				t.Errorf("AppendHeaders\n got %x\nwant %x", b, headers)
			}
		})
	}
}

func TestReservedBitsAreIgnored(t *testing.T) {
	tests := []struct{ name, clean, dirty string }{
		{
			"BTH",
			"04 00 ffff 00 000011 00 000001",
			"04 00 ffff 3f 000011 7f 000001",
		},
		{
			"DETH",
			"64 00 ffff 00 000011 00 000001 11111111 00 000002",
			"64 00 ffff 00 000011 00 000001 11111111 ff 000002",
		},
		{
			"FETH",
			"1c 00 ffff 00 000011 00 000001 00000001 0000000000000000 00000000 00000000",
			"1c 00 ffff 00 000011 00 000001 ffffffc1 0000000000000000 00000000 00000000",
		},
		{
			"CNP",
			"81 00 ffff 40 000011 00 000000 00000000000000000000000000000000",
			"81 00 ffff 40 000011 00 000000 ffffffffffffffffffffffffffffffff",
		},
		{
			"pad bytes",
			"04 30 ffff 00 000011 00 000001 61 000000",
			"04 30 ffff 00 000011 00 000001 61 ffffff",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var clean, dirty bth.Packet
			if err := clean.Decode(unhex(t, tt.clean+"00000000")); err != nil {
				t.Fatal(err)
			}
			if err := dirty.Decode(unhex(t, tt.dirty+"00000000")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(clean, dirty); diff != "" {
				t.Errorf("reserved bits change the packet (-clean +dirty):\n%s", diff)
			}
			if got, want := dirty.Append(nil), unhex(t, tt.clean); !bytes.Equal(got, want) {
				t.Errorf("reserved bits survive Append\n got %x\nwant %x", got, want)
			}
		})
	}
}

func TestAppendCutsFieldsToTheirWidthOnTheWire(t *testing.T) {
	p := bth.Packet{
		Opcode: bth.RCAck, Pad: 0xff, Version: 0xf0, DestQP: 0xff000001, PSN: 0xff000002,
		AETH: bth.AETH{Syndrome: bth.NakPSNSequence, MSN: 0xff000003},
	}
	want := unhex(t, "11 30 0000 00 000001 00 000002 60 000003")
	if got := p.AppendHeaders(nil); !bytes.Equal(got, want) {
		t.Errorf("AppendHeaders\n got %x\nwant %x", got, want)
	}
}

func TestAppendOfAnUnknownOpcodeIsTheBareBTH(t *testing.T) {
	p := bth.Packet{Opcode: 0x1f, Version: 5, PKey: 0xffff, DestQP: 1, PSN: 2}
	want := unhex(t, "1f 05 ffff 00 000001 00 000002")
	if got := p.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("Append\n got %x\nwant %x", got, want)
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
