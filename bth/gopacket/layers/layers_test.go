package layers_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	gplayers "github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/bth/gopacket/layers"
	"github.com/gorxe/gorxe/internal/rxetraffic"
)

// filled is a packet with every field set.
func filled(op bth.Opcode) bth.Packet {
	p := bth.Packet{
		Opcode: op, PKey: 0xffff, DestQP: 0x11, PSN: 5, AckReq: true, RETH: bth.RETH{VA: 1, RKey: 2, DMALen: 8},
		AETH: bth.AETH{Syndrome: 0x1f, MSN: 4}, AtomicETH: bth.AtomicETH{VA: 8, RKey: 3, SwapAdd: 5, Compare: 6},
		AtomicAck: 7, Imm: 8,
		InvalidateRKey: 9, DETH: bth.DETH{QKey: 10, SrcQP: 11}, FETH: bth.FETH{Type: 1, Level: 1},
	}
	if op.Info().Payload {
		p.Payload = []byte("payload!")
		if op.Info().Op != bth.OpAtomicWrite {
			p.Payload = []byte("payload") // and pad
		}
	}
	return p
}

// frame4 returns an Ethernet frame of a packet with its ICRC.
func frame4(p bth.Packet, options ...byte) []byte {
	b := p.Append(nil)
	udp := bth.UDPHeaderLen + len(b) + bth.ICRCLen
	h := bth.Header4{Src: [4]byte{198, 18, 0, 2}, Dst: [4]byte{198, 18, 0, 3}, ID: 7, FlagsFragment: 0x4000,
		SrcPort: 50000, DstPort: layers.Port, UDPLen: udp}
	b = bth.AppendICRC(b, bth.ICRC(h.Seed(), b))
	n := bth.IPv4HeaderLen + len(options) + udp
	out := append(make([]byte, 12), 8, 0, 0x45+byte(len(options)/4), 0, byte(n>>8), byte(n), 0, 7, 0x40, 0, 64, 17, 0,
		0, 198, 18, 0, 2, 198, 18, 0, 3)
	out = append(append(out, options...), 0xc3, 0x50, 0x12, 0xb7, byte(udp>>8), byte(udp), 0, 0)
	return append(out, b...)
}

func TestEveryOpcodeHasItsLayers(t *testing.T) {
	names := map[bth.Headers]string{
		bth.HasDETH: "DETH", bth.HasFETH: "FETH", bth.HasRETH: "RETH",
		bth.HasAtomicETH: "AtomicETH", bth.HasAETH: "AETH",
		bth.HasAtomicAckETH: "AtomicAckETH", bth.HasImmDt: "ImmDt", bth.HasIETH: "IETH", bth.HasCNP: "CNP",
	}
	for op := range bth.Opcodes() {
		t.Run(op.String(), func(t *testing.T) {
			data := frame4(filled(op))
			p := gopacket.NewPacket(data, gplayers.LayerTypeEthernet, gopacket.Default)
			want := []string{"Ethernet", "IPv4", "UDP", "BTH"}
			for h := bth.Headers(1); h <= bth.HasCNP; h <<= 1 {
				if op.Info().Headers&h != 0 {
					want = append(want, names[h])
				}
			}
			if op.Info().Payload {
				want = append(want, "Payload")
			}
			var got []string
			for _, l := range p.Layers() {
				got = append(got, l.LayerType().String())
			}
			if diff := cmp.Diff(append(want, "ICRC"), got); diff != "" {
				t.Fatal(diff)
			}
			if right, ok := layers.CheckICRC(p); !right || !ok {
				t.Errorf("ICRC right %v, known %v", right, ok)
			}
			if op.Info().Payload != (p.ApplicationLayer() != nil) {
				t.Errorf("application layer %v", p.ApplicationLayer())
			}
			again(t, p, data[14+20+8:])
		})
	}
}

// again serializes the RoCEv2 layers.
func again(t *testing.T, p gopacket.Packet, want []byte) {
	t.Helper()
	var all []gopacket.SerializableLayer
	for _, l := range p.Layers()[3:] {
		s, ok := l.(gopacket.SerializableLayer)
		if !ok {
			t.Fatalf("%v cannot be serialized", l.LayerType())
		}
		all = append(all, s)
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, all...); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%.80x, want %.80x", b.Bytes(), want)
	}
}

func TestWhatCannotBeDecodedIsSaid(t *testing.T) {
	good := frame4(filled(bth.RCWriteOnly))
	unknown := bytes.Clone(good)
	unknown[42] = 0x15
	long := bytes.Clone(good)
	long[42] = byte(bth.RCAck)
	for _, tt := range []struct {
		name   string
		data   []byte
		reason bth.Reason
		layers int
		cut    bool
	}{
		{"unknown opcode", unknown, bth.ReasonUnknownOpcode, 4, false},
		{"payload of an acknowledgement", long, bth.ReasonUnexpectedPayload, 5, false},
		{"BTH cut", good[:50], bth.ReasonShortBTH, 3, true},
		{"RETH cut", good[:60], bth.ReasonShortHeader, 4, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := gopacket.NewPacket(tt.data, gplayers.LayerTypeEthernet, gopacket.Default)
			e := p.ErrorLayer()
			if e == nil || len(p.Layers())-1 != tt.layers || p.Metadata().Truncated != tt.cut {
				t.Fatalf("%v", p)
			}
			if got := bth.ReasonOf(e.Error()); got != tt.reason {
				t.Errorf("%v, want %v", e.Error(), tt.reason)
			}
			if _, ok := layers.CheckICRC(p); ok {
				t.Error("its ICRC is known")
			}
		})
	}
}

func TestICRCsThatCannotBeCheckedAndWrongOnes(t *testing.T) {
	wrong := frame4(filled(bth.RCWriteOnly))
	wrong[80] ^= 1
	for name, tt := range map[string]struct {
		data      []byte
		right, ok bool
	}{
		"wrong":        {wrong, false, true},
		"with options": {frame4(filled(bth.RCWriteOnly), 1, 1, 1, 1), false, false},
		"not RoCE":     {make([]byte, 60), false, false},
	} {
		right, ok := layers.CheckICRC(gopacket.NewPacket(tt.data, gplayers.LayerTypeEthernet, gopacket.Default))
		if right != tt.right || ok != tt.ok {
			t.Errorf("%s: right %v, known %v", name, right, ok)
		}
	}
}

func TestADecodingLayerParserNeedsTheBTHAlone(t *testing.T) {
	var (
		eth     gplayers.Ethernet
		ip      gplayers.IPv4
		udp     gplayers.UDP
		b       layers.BTH
		payload gopacket.Payload
		decoded []gopacket.LayerType
	)
	parser := gopacket.NewDecodingLayerParser(gplayers.LayerTypeEthernet, &eth, &ip, &udp, &b, &payload)
	data := frame4(filled(bth.RCWriteOnlyImm))
	parse := func() {
		if err := parser.DecodeLayers(data, &decoded); err != nil {
			t.Fatal(err)
		}
	}
	parse()
	want := filled(bth.RCWriteOnlyImm)
	if b.Packet.RETH != want.RETH || b.Packet.Imm != want.Imm || string(payload) != "payload" || len(decoded) != 5 {
		t.Errorf("%+v, payload %q, %v", b.Packet, payload, decoded)
	}
	if n := testing.AllocsPerRun(100, parse); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEveryPacketOfTheCapturesIsRight(t *testing.T) {
	for _, path := range rxetraffic.Unpack(t, "rcops", "rping_big", "v6_write_bw_4096", "uc_pingpong", "ud_pingpong") {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r, err := pcapgo.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for {
			data, _, err := r.ReadPacketData()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			p := gopacket.NewPacket(data, r.LinkType(), gopacket.Lazy)
			if p.Layer(layers.LayerTypeBTH) == nil {
				continue
			}
			if n++; n%2 == 0 {
				again(t, p, p.Layer(gplayers.LayerTypeUDP).LayerPayload())
			}
			if right, ok := layers.CheckICRC(p); !right || !ok || p.ErrorLayer() != nil {
				t.Errorf("%s: right %v, known %v: %v", path, right, ok, p)
			}
		}
		if n == 0 {
			t.Errorf("%s: no packets", path)
		}
	}
}

func Example() {
	data := frame4(bth.Packet{Opcode: bth.RCReadRequest, PKey: 0xffff, DestQP: 0x11, PSN: 5,
		RETH: bth.RETH{VA: 0x1000, RKey: 0x22, DMALen: 4096}})
	p := gopacket.NewPacket(data, gplayers.LayerTypeEthernet, gopacket.Default)
	if l, ok := p.Layer(layers.LayerTypeBTH).(*layers.BTH); ok {
		fmt.Printf("%v to queue pair %#x, PSN %d\n", l.Packet.Opcode, uint32(l.Packet.DestQP), l.Packet.PSN)
	}
	if l, ok := p.Layer(layers.LayerTypeRETH).(*layers.RETH); ok {
		fmt.Printf("%d bytes at %#x\n", l.DMALen, l.VA)
	}
	right, _ := layers.CheckICRC(p)
	fmt.Println("ICRC right:", right)
	fmt.Println(net.IP(p.NetworkLayer().NetworkFlow().Src().Raw()))
	// Output:
	// RC_RDMA_READ_REQUEST to queue pair 0x11, PSN 5
	// 4096 bytes at 0x1000
	// ICRC right: true
	// 198.18.0.2
}
