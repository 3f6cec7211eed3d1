package bth_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

// golden is one packet of a file in testdata; rxe.txt describes the layout.
type golden struct {
	file   string
	frame  int
	fields map[string]uint64
	ip     []byte
}

func readGolden(t testing.TB, path string) []golden {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var packets []golden
	for record := range strings.SplitSeq(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n\n") {
		lines := strings.Split(strings.TrimSpace(record), "\n")
		if strings.HasPrefix(lines[0], "#") {
			continue
		}
		if len(lines) < 3 {
			t.Fatalf("%s: record of %d lines, want at least 3: %q", path, len(lines), lines)
		}
		file, frame, _ := strings.Cut(lines[0], " ")
		g := golden{file: file, fields: map[string]uint64{}}
		if g.frame, err = strconv.Atoi(frame); err != nil {
			t.Fatalf("%s: %q: %v", path, lines[0], err)
		}
		for field := range strings.FieldsSeq(lines[1]) {
			key, value, _ := strings.Cut(field, "=")
			if g.fields[key], err = strconv.ParseUint(value, 0, 64); err != nil {
				t.Fatalf("%s: %q: %v", path, field, err)
			}
		}
		if g.ip, err = hex.DecodeString(strings.Join(lines[2:], "")); err != nil {
			t.Fatalf("%s: %s %d: %v", path, g.file, g.frame, err)
		}
		packets = append(packets, g)
	}
	if len(packets) == 0 {
		t.Fatalf("%s: no packets", path)
	}
	return packets
}

func (g *golden) String() string { return g.file + "_" + strconv.Itoa(g.frame) }

func TestGoldenPacketsOfRxe(t *testing.T) {
	for _, g := range readGolden(t, "testdata/rxe.txt") {
		t.Run(g.String(), func(t *testing.T) { checkGolden(t, &g) })
	}
}

func TestGoldenPacketsOfOthers(t *testing.T) {
	for _, g := range readGolden(t, "testdata/published.txt") {
		t.Run(g.String(), func(t *testing.T) { checkGolden(t, &g) })
	}
}

// checkGolden compares every field that another decoder reported with the result of Decode, and
// checks the rest with checkDatagram.
func checkGolden(t *testing.T, g *golden) {
	p := checkDatagram(t, g.ip)
	headers := p.Opcode.Info().Headers
	va, rkey := p.RETH.VA, p.RETH.RKey
	if headers&bth.HasAtomicETH != 0 {
		va, rkey = p.AtomicETH.VA, p.AtomicETH.RKey
	}
	_, packet, err := bth.SeedIP(g.ip)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{
		"bth.opcode":             uint64(p.Opcode),
		"bth.se":                 flag(p.Solicited),
		"bth.m":                  flag(p.MigReq),
		"bth.padcnt":             uint64(p.Pad),
		"bth.tver":               uint64(p.Version),
		"bth.p_key":              uint64(p.PKey),
		"bth.fecn":               flag(p.FECN),
		"bth.becn":               flag(p.BECN),
		"bth.destqp":             uint64(p.DestQP),
		"bth.a":                  flag(p.AckReq),
		"bth.psn":                uint64(p.PSN),
		"deth.q_key":             uint64(p.DETH.QKey),
		"deth.srcqp":             uint64(p.DETH.SrcQP),
		"reth.va":                va,
		"reth.r_key":             uint64(rkey),
		"reth.dmalen":            uint64(p.RETH.DMALen),
		"atomiceth.swapdt":       p.AtomicETH.SwapAdd,
		"atomiceth.cmpdt":        p.AtomicETH.Compare,
		"aeth.syndrome":          uint64(p.AETH.Syndrome),
		"aeth.msn":               uint64(p.AETH.MSN),
		"atomicacketh.origremdt": p.AtomicAck,
		"immdt":                  uint64(p.Imm),
		"invariant.crc":          uint64(binary.BigEndian.Uint32(packet[len(packet)-bth.ICRCLen:])),
	}
	for key, want := range g.fields {
		v, known := got[key]
		if !known {
			t.Errorf("field %s of the golden file is not compared", key)
		} else if v != want {
			t.Errorf("%s = %#x, want %#x", key, v, want)
		}
	}
	wantKeys := map[bth.Headers]string{
		bth.HasDETH: "deth.q_key", bth.HasRETH: "reth.dmalen",
		bth.HasAtomicETH: "atomiceth.swapdt", bth.HasAETH: "aeth.msn",
		bth.HasAtomicAckETH: "atomicacketh.origremdt", bth.HasImmDt: "immdt",
	}
	for header, key := range wantKeys {
		if _, has := g.fields[key]; has != (headers&header != 0) {
			t.Errorf("%s: header %s decoded: %t, seen by the other reader: %t", p.Opcode, header, !has, has)
		}
	}
}

// checkDatagram checks a valid IP datagram against all properties of this package: it decodes;
// encoding reproduces it; the ICRC equals the one on the wire and an independently computed
// one, however the packet is split; and SolveID returns the IPv4 identification.
func checkDatagram(t testing.TB, ip []byte) *bth.Packet {
	t.Helper()
	seed, b, err := bth.SeedIP(ip)
	if err != nil {
		t.Fatalf("SeedIP: %v", err)
	}
	p := new(bth.Packet)
	if err := p.Decode(b); err != nil {
		t.Fatalf("Decode: %v", bth.Explain(b))
	}
	body := b[:len(b)-bth.ICRCLen]
	again := *p
	again.Pad = 0
	if got := again.Append(nil); !bytes.Equal(got, body) {
		t.Fatalf("Append(Decode(b)) differs\n got %x\nwant %x", got, body)
	}
	if again.Pad != p.Pad {
		t.Errorf("Append set Pad %d, the packet has %d", again.Pad, p.Pad)
	}

	wire := bth.ReadICRC(b)
	if got := bitwiseICRC(ip); got != wire {
		t.Fatalf("the independent ICRC is %#08x, the wire has %#08x: not a good packet", got, wire)
	}
	if got := bth.ICRC(seed, body); got != wire {
		t.Errorf("ICRC = %#08x, the wire has %#08x", got, wire)
	}
	if !bth.CheckICRC(seed, b) {
		t.Error("CheckICRC refuses a good packet")
	}
	if got := bth.AppendICRC(nil, wire); !bytes.Equal(got, b[len(body):]) {
		t.Errorf("AppendICRC = %x, the wire has %x", got, b[len(body):])
	}
	n := p.Opcode.Info().HeaderLen
	state := bth.ICRCStart(seed, p.AppendHeaders(nil))
	state = bth.ICRCContinue(state, p.Payload[:len(p.Payload)/3])
	state = bth.ICRCContinue(state, p.Payload[len(p.Payload)/3:])
	state = bth.ICRCContinue(state, body[n+len(p.Payload):])
	if state != wire {
		t.Errorf("ICRC of the pieces = %#08x, the wire has %#08x", state, wire)
	}
	if ip[0]>>4 == 4 {
		h := header4(ip)
		want := h.ID
		h.ID = ^want
		if id, ok := bth.SolveID(&h, b); !ok || id != want {
			t.Errorf("SolveID = %#04x, %t, the header has %#04x", id, ok, want)
		}
	}
	return p
}

func header4(ip []byte) bth.Header4 {
	be := binary.BigEndian
	return bth.Header4{
		Src: [4]byte(ip[12:16]), Dst: [4]byte(ip[16:20]), ID: be.Uint16(ip[4:]), FlagsFragment: be.Uint16(ip[6:]),
		SrcPort: be.Uint16(ip[20:]), DstPort: be.Uint16(ip[22:]), UDPLen: int(be.Uint16(ip[24:])),
	}
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
