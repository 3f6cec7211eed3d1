package ulp_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace/internal/ulptraffic"
	"github.com/gorxe/gorxe/trace/ulp"
)

// names are the generated captures by protocol.
var names = map[ulp.Protocol]string{ulp.NVMe: "nvme", ulp.ISER: "iser", ulp.SMBDirect: "smbdirect", ulp.NFS: "nfs"}

// sent is the first packet of a SEND in a generated capture.
type sent struct {
	client  bool
	payload []byte
	length  int
}

// payloads returns the SENDs of the capture of a protocol, and its CM messages as payloads of
// length 0.
func payloads(t testing.TB, proto ulp.Protocol) (sends []sent, mads [][]byte) {
	t.Helper()
	pcap := ulptraffic.Captures()[names[proto]]
	for at := 24; at < len(pcap); {
		n := int(binary.LittleEndian.Uint32(pcap[at+8:]))
		frame := pcap[at+16 : at+16+n]
		at += 16 + n
		var p bth.Packet
		if err := p.Decode(frame[14+20+8:]); err != nil {
			t.Fatal(err)
		}
		info := p.Opcode.Info()
		switch {
		case p.DestQP == bth.GSI:
			mads = append(mads, bytes.Clone(p.Payload))
		case info.Op == bth.OpSend && info.Starts():
			x := sent{client: p.DestQP >= 0x220, payload: bytes.Clone(p.Payload), length: len(p.Payload)}
			if !info.Ends() {
				x.length = ulp.UnknownLen
			}
			sends = append(sends, x)
		}
	}
	return sends, mads
}
