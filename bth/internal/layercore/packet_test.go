package layercore

import (
	"bytes"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

// seed returns a packet with the opcode op and some payload, if op has one.
func seed(op bth.Opcode) []byte {
	p := bth.Packet{Opcode: op, PKey: 0xffff, DestQP: 0x11, PSN: 5, FETH: bth.FETH{Type: 1}}
	if op.Info().Payload {
		p.Payload = []byte("payload!")
	}
	return bth.AppendICRC(p.Append(nil), 0x12345678)
}

func FuzzExtensionsAreTheBytesBetweenBTHAndPayload(f *testing.F) {
	for op := range bth.Opcodes() {
		f.Add(seed(op))
	}
	f.Add([]byte{})
	f.Add(seed(bth.RCWriteOnly)[:20])
	f.Fuzz(func(t *testing.T, data []byte) {
		var p bth.Packet
		_, cut, err := Decode(&p, data)
		if cut && err == nil {
			t.Fatal("cut without an error")
		}
		var headers []byte
		last := BTH
		Extensions(&p, data, func(k Kind, contents, payload []byte) {
			if k <= last || len(AppendExtension(nil, k, p)) != len(contents) {
				t.Errorf("%v of %d bytes after %v", k, len(contents), last)
			}
			last = k
			headers = append(headers, contents...)
			if end := len(data) - len(payload); !bytes.Equal(headers, data[bth.BTHLen:end]) {
				t.Errorf("%v ends at %d: %x", k, end, headers)
			}
		})
		if err != nil {
			return
		}
		if n := bth.BTHLen + len(headers) + len(p.Payload) + len(Tail(&p, data)); n != len(data) {
			t.Errorf("layers of %d bytes in a packet of %d", n, len(data))
		}
	})
}

func TestICRCsAreNotCheckedWithoutTheWholeDatagram(t *testing.T) {
	a4, a6 := make([]byte, 4), make([]byte, 16)
	whole := UDP{Len: 24, Payload: make([]byte, 16)}
	for _, tt := range []struct {
		name string
		ok   bool
		call func() (bool, bool)
	}{
		{"IPv4", true, func() (bool, bool) { return Check4(whole, a4, a4, 0, 0, 0, 20) }},
		{"IPv4 with options", false, func() (bool, bool) { return Check4(whole, a4, a4, 0, 0, 0, 24) }},
		{"IPv4 without addresses", false, func() (bool, bool) { return Check4(whole, nil, a4, 0, 0, 0, 20) }},
		{"IPv6", true, func() (bool, bool) { return Check6(whole, a6, a6) }},
		{"IPv6 without addresses", false, func() (bool, bool) { return Check6(whole, a6, nil) }},
		{"cut", false, func() (bool, bool) { return Check6(UDP{Len: 25, Payload: whole.Payload}, a6, a6) }},
	} {
		if _, ok := tt.call(); ok != tt.ok {
			t.Errorf("%s: checked %v", tt.name, ok)
		}
	}
}
