package trace_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// vxlan returns an Ethernet frame of which wire is the length, in VXLAN (RFC 7348, section 5).
func vxlan(vni uint32, frame []byte, wire int) []byte {
	n := uint16(8 + 8 + wire)
	b := []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0}
	b = binary.BigEndian.AppendUint16(b, 20+n)
	b = append(b, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2, 0xc0, 0, 0x12, 0xb5)
	b = binary.BigEndian.AppendUint16(b, n)
	b = append(b, 0, 0, 8, 0, 0, 0)
	return append(binary.BigEndian.AppendUint32(b, vni<<8), frame...)
}

// overlaid returns the flows of a capture of untunnelled frames. in returns the VNIs in which each
// frame is captured: the interface of the host is 0.
func overlaid(t *testing.T, name string, in func(number int, p *trace.Packet) []uint32) []*trace.Flow {
	t.Helper()
	var flows []*trace.Flow
	a := trace.NewAnalyzer(trace.Options{Flow: func(f *trace.Flow) { flows = append(flows, f) }})
	var d trace.Decoder
	readAll(t, unzip(t, name), func(f *capture.Frame, p *trace.Packet) {
		for _, vni := range in(f.Number, p) {
			g := *f
			if g.Data = slices.Clone(f.Data); vni > 0 {
				g.Data = vxlan(vni, f.Data, f.Length)
				g.Length = len(g.Data) + f.Length - len(f.Data)
			}
			d.Decode(&g, a.Add)
		}
	})
	a.Finish()
	return flows
}

// counts are the fields of flows that do not depend on the network, in order.
func counts(flows []*trace.Flow) (all []string) {
	for _, f := range flows {
		all = append(all, fmt.Sprint(f.Service, f.Ends, f.Packets, f.Bytes, f.Payload, f.Messages, f.Again,
			f.Duplicates, f.LostBefore, f.LostBehind, f.NAKs, f.RNRs, f.CNPs, f.Timeouts, f.Undecided,
			f.RTT, f.Err, f.Window, f.MTU))
	}
	slices.Sort(all)
	return all
}

func constant(vnis ...uint32) func(int, *trace.Packet) []uint32 {
	return func(int, *trace.Packet) []uint32 { return vnis }
}

var overlayCaptures = []string{"loss_write.pcap.gz", "rcops.pcap.gz"}

// Tenants have equal addresses and queue pairs; each flow is that of its tenant.
func TestFlowsOfDifferentVirtualNetworksAreSeparate(t *testing.T) {
	for _, name := range overlayCaptures {
		plain := counts(overlaid(t, name, constant(0)))
		for _, vnis := range [][]uint32{{7, 8}, {0, 7}, {7, 0}, {8, 0, 7}} {
			flows := overlaid(t, name, constant(vnis...))
			seen := map[string][]*trace.Flow{}
			for _, f := range flows {
				k := fmt.Sprint(f.HasVNI, f.VNI)
				seen[k] = append(seen[k], f)
			}
			if len(seen) != len(vnis) {
				t.Errorf("%s in %v: networks %v", name, vnis, len(seen))
			}
			for k, f := range seen {
				if got := counts(f); !slices.Equal(got, plain) {
					t.Errorf("%s in %v, network %s:\n%q, not\n%q", name, vnis, k, got, plain)
				}
			}
		}
	}
}

// Without a second tenant, a direction in another network is that of the same connection:
// asymmetric routing, or a capture inside and outside of the tunnel.
func TestTheDirectionsOfAFlowMayHaveDifferentVNIs(t *testing.T) {
	for _, name := range overlayCaptures {
		plain := counts(overlaid(t, name, constant(0)))
		for _, vnis := range [][2]uint32{{7, 8}, {0, 7}, {7, 0}} {
			flows := overlaid(t, name, func(_ int, p *trace.Packet) []uint32 {
				if p.Src.Addr().Less(p.Dst.Addr()) {
					return vnis[:1]
				}
				return vnis[1:]
			})
			if got := counts(flows); !slices.Equal(got, plain) {
				t.Errorf("%s in %v:\n%q, not\n%q", name, vnis, got, plain)
			}
		}
	}
}

// A second tenant of which only responses were captured first is recognised by its requests.
func TestNetworksThatWereTakenForOneAreSeparatedLater(t *testing.T) {
	flows := overlaid(t, "loss_write.pcap.gz", func(n int, p *trace.Packet) []uint32 {
		switch {
		case n > 100:
			return []uint32{7, 8}
		case p.Src.Addr().Less(p.Dst.Addr()):
			return []uint32{7}
		}
		return []uint32{8}
	})
	late := map[uint32]uint64{}
	for _, f := range flows {
		if f.Packets > 100 {
			late[f.VNI] = f.Packets
		}
	}
	if len(late) != 2 {
		t.Errorf("%v", late)
	}
	for vni, n := range late {
		if n < 380 || n > 510 {
			t.Errorf("VNI %d: %d packets", vni, n)
		}
	}
}
