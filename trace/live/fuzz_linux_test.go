package live

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/fabric"
)

// FuzzFilter checks that each frame passes in which the decoder finds a packet, except iWARP.
func FuzzFilter(f *testing.F) {
	vm := machine(f, true)
	for _, name := range []string{"nested.pcap.gz", "mpls.pcap.gz", "ip6erspan2.pcap.gz", "gre_csum_key_seq.pcap.gz",
		"../specs/rocev1.pcap", "../specs/pause.pcap", "../specs/uet.pcap"} {
		for frame, err := range open(f, filepath.Join("..", "testdata", "tunnels", name)).Frames() {
			if err != nil {
				f.Fatal(err)
			}
			if frame.Number > 2 {
				break
			}
			f.Add(append([]byte(nil), frame.Data...))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		found := false
		d := trace.Decoder{Foreign: func(o *trace.Foreign) { found = found || o.Protocol != fabric.IWARP }}
		d.Decode(&capture.Frame{Number: 1, Link: capture.LinkEthernet, Length: len(b), Data: b},
			func(*trace.Packet) { found = true })
		if found && !passes(t, vm, b) {
			t.Errorf("the filter drops %x", b)
		}
	})
}

// FuzzControl reads arbitrary control messages.
func FuzzControl(f *testing.F) {
	message := func(level, kind int32, data []byte) []byte {
		b := make([]byte, unix.CmsgSpace(len(data)))
		ne.PutUint64(b, uint64(unix.CmsgLen(len(data))))
		ne.PutUint32(b[8:], uint32(level))
		ne.PutUint32(b[12:], uint32(kind))
		copy(b[unix.CmsgLen(0):], data)
		return b
	}
	aux := make([]byte, auxLen)
	ne.PutUint32(aux, unix.TP_STATUS_VLAN_VALID|unix.TP_STATUS_VLAN_TPID_VALID)
	ne.PutUint16(aux[auxTCI:], 7)
	ne.PutUint16(aux[auxTPID:], 0x88a8)
	f.Add(message(unix.SOL_SOCKET, unix.SCM_TIMESTAMPNS, make([]byte, 16)))
	f.Add(append(message(unix.SOL_PACKET, unix.PACKET_AUXDATA, aux), message(unix.SOL_SOCKET, unix.SCM_TIMESTAMPNS,
		make([]byte, 16))...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if at, tag := readControl(b); at.IsZero() || !tag.present && tag != (vlanTag{}) {
			t.Errorf("%v, %+v", at, tag)
		}
	})
}
