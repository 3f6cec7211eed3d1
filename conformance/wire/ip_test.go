package wire

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/rxelab/icrc"
)

var pairs = []struct {
	name     string
	src, dst netip.Addr
}{
	{"IPv4", netip.MustParseAddr("198.18.44.1"), netip.MustParseAddr("198.18.44.2")},
	{"IPv6", netip.MustParseAddr("fd00:44::1"), netip.MustParseAddr("fd00:44::2")},
}

// anyPacket returns a packet with random fields.
func anyPacket(r *rand.Rand) *Packet {
	var all []bth.Opcode
	for op := range bth.Opcodes() {
		all = append(all, op)
	}
	payload := make([]byte, r.IntN(1200))
	for i := range payload {
		payload[i] = byte(r.Uint32())
	}
	return &Packet{
		Packet: bth.Packet{Opcode: all[r.IntN(len(all))], Solicited: r.IntN(2) == 0, MigReq: r.IntN(2) == 0,
			Pad: bth.PadFor(len(payload)), PKey: uint16(r.Uint32()), FECN: r.IntN(2) == 0, BECN: r.IntN(2) == 0,
			DestQP: bth.QPN(r.Uint32() & 0xffffff), AckReq: r.IntN(2) == 0, PSN: bth.PSN(r.Uint32() & 0xffffff),
			RETH: bth.RETH{VA: r.Uint64(), RKey: r.Uint32(), DMALen: r.Uint32()}, Imm: r.Uint32(), Payload: payload},
		SrcPort: uint16(r.Uint32()), TOS: uint8(r.Uint32()), TTL: uint8(r.Uint32()), NoChecksum: r.IntN(2) == 0,
	}
}

// ipOf returns the IP packet of p with the identification id.
func ipOf(p *Packet, src, dst netip.Addr, id uint16) []byte {
	src, port := p.source(src)
	b := p.ipPacket(src, dst, port, id, p.payload(src, dst, port, id))
	fixIPv4(b)
	return b
}

func etherFrame(ip []byte) []byte {
	b := make([]byte, etherLen, etherLen+len(ip))
	binary.BigEndian.PutUint16(b[12:], 0x86dd)
	if ip[0]>>4 == 4 {
		binary.BigEndian.PutUint16(b[12:], 0x0800)
	}
	return append(b, ip...)
}

// The laboratory's reader has its own CRC and its own parser.
func TestPacketsHaveTheICRCThatTheIndependentReaderComputes(t *testing.T) {
	for _, pair := range pairs {
		t.Run(pair.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var pcap bytes.Buffer
			w := pcapgo.NewWriter(&pcap)
			w.WriteFileHeader(65536, layers.LinkTypeEthernet)
			const packets = 2000
			for range packets {
				frame := etherFrame(ipOf(anyPacket(r), pair.src, pair.dst, uint16(r.Uint32())))
				w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(0, 0), CaptureLength: len(frame),
					Length: len(frame)}, frame)
			}
			s, err := icrc.Check(&pcap)
			if err != nil {
				t.Fatal(err)
			}
			if s.Packets != packets || s.Bad != 0 || s.Merged != 0 {
				t.Errorf("%d packets, %d bad, %d merged: %v", s.Packets, s.Bad, s.Merged, s.Faults)
			}
		})
	}
}

// The header checksums are compared with those of gopacket.
func TestPacketsHaveRightChecksums(t *testing.T) {
	for _, pair := range pairs {
		t.Run(pair.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			for range 500 {
				p := anyPacket(r)
				frame := etherFrame(ipOf(p, pair.src, pair.dst, 7))
				d := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
				ip, udp := d.NetworkLayer(), d.Layer(layers.LayerTypeUDP).(*layers.UDP)
				udp.SetNetworkLayerForChecksum(ip)
				if p.NoChecksum != (udp.Checksum == 0) {
					t.Fatalf("UDP checksum %#x", udp.Checksum)
				}
				out := gopacket.NewSerializeBuffer()
				opt := gopacket.SerializeOptions{ComputeChecksums: true}
				body, err := out.AppendBytes(len(udp.Payload))
				copy(body, udp.Payload)
				if err != nil {
					t.Fatal(err)
				}
				sent := udp.Checksum
				if err := udp.SerializeTo(out, opt); err != nil || !p.NoChecksum && udp.Checksum != sent {
					t.Fatalf("UDP checksum %#x, want %#x (%v)", sent, udp.Checksum, err)
				}
				if v4, ok := ip.(*layers.IPv4); ok {
					sent := v4.Checksum
					if err := v4.SerializeTo(gopacket.NewSerializeBuffer(), opt); err != nil || v4.Checksum != sent {
						t.Fatalf("IPv4 checksum %#x, want %#x (%v)", sent, v4.Checksum, err)
					}
				}
			}
		})
	}
}

func TestReceivedPacketsAreWhatWasSent(t *testing.T) {
	for _, pair := range pairs {
		t.Run(pair.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			for range 500 {
				p := anyPacket(r)
				ip := ipOf(p, pair.src, pair.dst, uint16(r.Uint32()))
				all := receivedFrame(make([]byte, vnetLen), append(etherFrame(ip), 0, 0, 0), etherLen)
				if len(all) != 1 {
					t.Fatalf("%d packets", len(all))
				}
				got := all[0]
				if got.ICRC != Right || got.PSN != p.PSN || got.DestQP != p.DestQP || got.TOS != p.TOS ||
					got.TTL != p.ttl() || got.Src.Addr() != pair.src ||
					got.Dst.Addr() != pair.dst || got.Dst.Port() != Port ||
					!bytes.Equal(got.IP, ip) {
					t.Fatalf("got %+v, sent %+v", got, p)
				}
				ip[len(ip)-5] ^= 1
				if bad := receivedFrame(make([]byte, vnetLen), etherFrame(ip), etherLen); bad[0].ICRC != Wrong {
					t.Fatalf("a changed bit: ICRC %v", bad[0].ICRC)
				}
			}
		})
	}
}

func TestFixICRCMakesTheICRCOfAChangedHeaderRight(t *testing.T) {
	for _, pair := range pairs {
		p := anyPacket(rand.New(rand.NewPCG(7, 8)))
		ip := ipOf(p, pair.src, pair.dst, 1)
		want := append([]byte(nil), ip...)
		ip[len(ip)-1] ^= 0xff
		if !bytes.Equal(FixICRC(ip), want) {
			t.Errorf("%s: not the ICRC that bth computes", pair.name)
		}
		for n := range 60 {
			FixICRC(make([]byte, n))
			FixUDP(make([]byte, n))
		}
	}
}

func TestATrainIsCutIntoThePacketsOfTheWire(t *testing.T) {
	const size = 12 + 64 + 4
	for _, pair := range pairs {
		t.Run(pair.name, func(t *testing.T) {
			packet := func(psn bth.PSN, n int) *Packet {
				return &Packet{Packet: bth.Packet{Opcode: bth.RCSendMiddle, PSN: psn, Payload: make([]byte, n)}}
			}
			var want [][]byte
			var payload []byte
			for i, n := range []int{64, 64, 64, 8} {
				ip := ipOf(packet(bth.PSN(i), n), pair.src, pair.dst, uint16(100+i))
				want = append(want, ip)
				h, _ := ipHeader(ip)
				payload = append(payload, ip[h+udpLen:]...)
			}
			train := (&Packet{}).ipPacket(pair.src, pair.dst, Port, 100, payload)
			vnet := make([]byte, vnetLen)
			vnet[0], vnet[1] = vnetNeedsSum, gsoUDP
			binary.NativeEndian.PutUint16(vnet[4:], size)
			got := receivedFrame(vnet, etherFrame(train), etherLen)
			if len(got) != len(want) {
				t.Fatalf("%d packets, want %d", len(got), len(want))
			}
			for i, r := range got {
				if !bytes.Equal(r.IP, want[i]) || r.ICRC != Right {
					t.Errorf("packet %d: %x (ICRC %v), want %x", i, r.IP, r.ICRC, want[i])
				}
			}
		})
	}
}

func TestNoBytesMakeAFrameThatPanics(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	vnet := make([]byte, vnetLen)
	for range 20000 {
		pair := pairs[r.IntN(2)]
		ip := ipOf(anyPacket(r), pair.src, pair.dst, 1)
		ip = ip[:min(r.IntN(60), len(ip))]
		for range r.IntN(4) {
			if len(ip) > 0 {
				ip[r.IntN(len(ip))] = byte(r.Uint32())
			}
		}
		frame := make([]byte, etherLen, etherLen+len(ip))
		binary.BigEndian.PutUint16(frame[12:], []uint16{0x0800, 0x86dd, etherTypeV1}[r.IntN(3)])
		vnet[1] = []byte{0, gsoUDP}[r.IntN(2)]
		binary.NativeEndian.PutUint16(vnet[4:], uint16(r.IntN(40)))
		receivedFrame(vnet, append(frame, ip...), etherLen)
	}
}

func TestARoCEv1FrameComesBackAsSent(t *testing.T) {
	for _, pair := range pairs {
		p := anyPacket(rand.New(rand.NewPCG(11, 12)))
		frame, payload := p.frameV1(pair.src, pair.dst)
		r := receivedV1(append(frame, 0, 0))
		if r == nil || !r.V1 || r.ICRC != Right || r.Src.Addr() != pair.src || !bytes.Equal(r.Bytes, payload) ||
			r.PSN != p.PSN {
			t.Errorf("%s: %+v", pair.name, r)
		}
		frame[10] ^= 1
		if r := receivedV1(frame); r.ICRC != Wrong {
			t.Errorf("%s: a changed GID: ICRC %v", pair.name, r.ICRC)
		}
	}
}
