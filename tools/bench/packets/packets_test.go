package packets

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
)

func TestAnAcknowledgementIsReadAsItWasSealed(t *testing.T) {
	ack := New(bth.RCAck, AckLen)
	for _, want := range []bth.PSN{0, 1, 0x123456, bth.MaxPSN} {
		SealAck(ack, want)
		if got, ok := ReadAck(ack); !ok || got != want {
			t.Errorf("%#x, %v; want %#x", got, ok, want)
		}
	}
	for i := range ack {
		ack[i] ^= 0x10
		if _, ok := ReadAck(ack); ok && i != 4 { // the ICRC does not cover the congestion bits
			t.Errorf("an acknowledgement with a wrong byte %d is taken", i)
		}
		ack[i] ^= 0x10
	}
	for _, b := range [][]byte{nil, ack[:AckLen-1], append(ack, 0)} {
		if _, ok := ReadAck(b); ok {
			t.Errorf("%d bytes are an acknowledgement", len(b))
		}
	}
}

func TestARequestIsReadAsItWasSealed(t *testing.T) {
	request := New(bth.RCReadRequest, RequestLen)
	want := bth.RETH{VA: 0x1122334455667788, RKey: 0x99aabbcc, DMALen: 8192}
	for _, psn := range []bth.PSN{0, 0x123456, bth.MaxPSN} {
		SealRequest(request, psn, want)
		if got, r, ok := ReadRequest(request); !ok || got != psn || r != want {
			t.Errorf("%#x, %+v, %v; want %#x", got, r, ok, psn)
		}
		var p bth.Packet
		if err := p.Decode(request); err != nil || p.Opcode != bth.RCReadRequest || p.PSN != psn || p.RETH != want {
			t.Errorf("decoded: %+v, %v", p, err)
		}
	}
	request[RequestLen-5] ^= 1
	if _, _, ok := ReadRequest(request); ok {
		t.Error("a request with a wrong length is taken")
	}
	request[RequestLen-5] ^= 1
	for _, b := range [][]byte{nil, request[:RequestLen-1], append(request, 0)} {
		if _, _, ok := ReadRequest(b); ok {
			t.Errorf("%d bytes are a request", len(b))
		}
	}
}

func TestAnAcknowledgementHasASyndrome(t *testing.T) {
	ack := New(bth.RCAck, AckLen)
	for _, want := range []bth.Syndrome{bth.AckUnlimited, bth.NakPSNSequence} {
		PutSyndrome(ack, want)
		SealAck(ack, 7)
		var p bth.Packet
		if err := p.Decode(ack); err != nil || p.AETH.Syndrome != want || Syndrome(ack) != want {
			t.Errorf("%v: %+v, %v", want, p, err)
		}
	}
}

// gorxe's decoder accepts the packets.
func TestPacketsAreThoseOfRoCE(t *testing.T) {
	for _, tt := range []struct {
		opcode  bth.Opcode
		payload int
	}{{bth.RCAck, 0}, {bth.RCSendOnly, 8}, {bth.RCSendMiddle, 4096}} {
		n := tt.opcode.Info().Headers.Len() + bth.BTHLen + tt.payload + bth.ICRCLen
		b := New(tt.opcode, n)
		PutPSN(b, 0x123456)
		Seal(Seed(n), b)
		var p bth.Packet
		if err := p.Decode(b); err != nil {
			t.Errorf("%v: %v", tt.opcode, err)
		}
		if p.Opcode != tt.opcode || p.PSN != PSN(b) || len(p.Payload) != tt.payload || !bth.CheckICRC(Seed(n), b) {
			t.Errorf("%v: %+v", tt.opcode, p)
		}
	}
}
