package ulp_test

import (
	"bytes"
	"testing"

	"github.com/gorxe/gorxe/trace/ulp"
)

// Each protocol is recognized from some SENDs of its capture, and from none of another protocol's.
func TestDetectRecognizesOnlyTheSENDsOfTheProtocol(t *testing.T) {
	for proto := range names {
		sends, _ := payloads(t, proto)
		found := 0
		for i, s := range sends {
			switch got := ulp.Detect(s.payload, s.length); got {
			case proto:
				found++
				if ulp.FromClient(proto, s.payload, s.length) != s.client {
					t.Errorf("%v: SEND %d is from the client: %v", proto, i, s.client)
				}
				if i > 0 && (proto == ulp.NVMe || proto == ulp.ISER) && s.payload[0] != 0x7f {
					t.Errorf("%v: SEND %d is recognized", proto, i)
				}
			case ulp.None:
				if i == 0 {
					t.Errorf("%v: the first SEND is not recognized", proto)
				}
			default:
				t.Errorf("%v: SEND %d is taken for %v", proto, i, got)
			}
		}
	}
}

// A SEND that differs from the signature in any way that the specification rules out is not
// recognized.
func TestDetectDoesNotGuess(t *testing.T) {
	first := func(p ulp.Protocol) []byte {
		sends, _ := payloads(t, p)
		return bytes.Clone(sends[0].payload)
	}
	for _, x := range []struct {
		what  string
		proto ulp.Protocol
		edit  func(b []byte) []byte
	}{
		{"opcode", ulp.NVMe, func(b []byte) []byte { b[0] = 6; return b }},
		{"type", ulp.NVMe, func(b []byte) []byte { b[4] = 4; return b }},
		{"PRP", ulp.NVMe, func(b []byte) []byte { b[1] = 0; return b }},
		{"reserved bytes", ulp.NVMe, func(b []byte) []byte { b[60] = 1; return b }},
		{"data length", ulp.NVMe, func(b []byte) []byte { b[33] = 2; return b }},
		{"captured length", ulp.NVMe, func(b []byte) []byte { return b[:63] }},
		{"header type", ulp.ISER, func(b []byte) []byte { b[0] = 0x40; return b }},
		{"iSCSI opcode", ulp.ISER, func(b []byte) []byte { b[28] = 0x44; return b }},
		{"InitiatorName", ulp.ISER, func(b []byte) []byte { b[76] = 'i'; return b }},
		{"data segment length", ulp.ISER, func(b []byte) []byte { b[33] = 1; return b }},
		{"version", ulp.SMBDirect, func(b []byte) []byte { b[1] = 2; return b }},
		{"receive size", ulp.SMBDirect, func(b []byte) []byte { b[12], b[13] = 127, 0; return b }},
		{"fragmented size", ulp.SMBDirect, func(b []byte) []byte { b[18] = 0; return b }},
		{"length", ulp.SMBDirect, func(b []byte) []byte { return append(b, 0) }},
		{"version of RPC-over-RDMA", ulp.NFS, func(b []byte) []byte { b[7] = 2; return b }},
		{"XID", ulp.NFS, func(b []byte) []byte { b[3]++; return b }},
		{"program", ulp.NFS, func(b []byte) []byte { b[43]++; return b }},
		{"version of NFS", ulp.NFS, func(b []byte) []byte { b[47] = 5; return b }},
		{"message type", ulp.NFS, func(b []byte) []byte { b[35] = 1; return b }},
	} {
		b := first(x.proto)
		if got := ulp.Detect(b, len(b)); got != x.proto {
			t.Fatalf("%v: it is taken for %v", x.proto, got)
		}
		if b = x.edit(b); ulp.Detect(b, len(b)) != ulp.None {
			t.Errorf("%v with another %s is recognized", x.proto, x.what)
		}
	}
}

func TestDecodeAndDetectDoNotAllocate(t *testing.T) {
	for proto := range names {
		sends, _ := payloads(t, proto)
		var p ulp.PDU
		if n := testing.AllocsPerRun(10, func() {
			for _, s := range sends {
				_ = p.Decode(proto, ulp.Context{Client: s.client}, s.payload, s.length)
				ulp.Detect(s.payload, s.length)
			}
		}); n > 0 {
			t.Errorf("%v: %v allocations", proto, n)
		}
	}
}
