package filter_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/filter"
	"github.com/gorxe/gorxe/trace/ulp"
)

// packetOf returns the packet that a Decoder would make of b.
func packetOf(b bth.Packet) *trace.Packet {
	p := &trace.Packet{
		Number: 12, Part: 1, Parts: 1, BTH: b, Bytes: bth.AppendICRC(b.Append(nil), 0),
		Src: netip.MustParseAddrPort("198.18.0.2:50000"), Dst: netip.MustParseAddrPort("198.18.0.3:4791"),
		IP:   trace.IP{Version: 4, TrafficClass: 3, HopLimit: 64, ID: 7},
		ICRC: trace.ICRC{Verdict: trace.Right, Wire: 0x01020304},
	}
	p.Len = len(p.Bytes)
	return p
}

var (
	writes = packetOf(bth.Packet{Opcode: bth.RCWriteOnlyImm, DestQP: 0x11, PSN: 100, AckReq: true, Imm: 9,
		RETH: bth.RETH{VA: 0x1000, RKey: 5, DMALen: 3}})
	acks = packetOf(bth.Packet{Opcode: bth.RCAck, DestQP: 0x12, PSN: 16777214,
		AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: 4}})
	naks  = packetOf(bth.Packet{Opcode: bth.RCAck, DestQP: 0x12, PSN: 2, AETH: bth.AETH{Syndrome: bth.RNR(12), MSN: 4}})
	asks  = packetOf(bth.Packet{Opcode: bth.UDSendOnly, DestQP: 1, PSN: 1, DETH: bth.DETH{QKey: 0x80010000, SrcQP: 1}})
	swaps = packetOf(bth.Packet{Opcode: bth.RCCmpSwap, DestQP: 0x11, PSN: 3,
		AtomicETH: bth.AtomicETH{VA: 0x2000, SwapAdd: 1, Compare: 2}})
	six   = packetOf(bth.Packet{Opcode: bth.UCSendFirst, DestQP: 0x44, PSN: 5})
	wrong = packetOf(bth.Packet{Opcode: bth.RCSendOnly, DestQP: 0x11, PSN: 6})
	cut   = packetOf(bth.Packet{Opcode: bth.RCWriteOnly, DestQP: 0x11, PSN: 7})
	all   = map[string]*trace.Packet{"writes": writes, "acks": acks, "naks": naks, "asks": asks, "swaps": swaps,
		"six": six, "wrong": wrong, "cut": cut}
)

func init() {
	asks.MAD = &mad.Message{Attribute: mad.AttrREJ, REJ: mad.REJ{Reason: 8}}
	six.Src, six.Dst = netip.MustParseAddrPort("[fd00::2]:1"), netip.MustParseAddrPort("[fd00::3]:4791")
	six.IP.Version, six.Direction = 6, capture.Inbound
	wrong.ICRC.Verdict = trace.Wrong
	cut.Bytes = cut.Bytes[:20]
	writes.Flow = &trace.Flow{Number: 2, ULP: ulp.NVMe, Ends: [2]trace.End{{QPN: 0x77}, {QPN: 0x11}}}
	writes.Message = &trace.Message{Number: 3, Verb: "WRITE"}
	writes.Again = true
	writes.Findings = []trace.Finding{{Kind: trace.AfterTimeout, Level: trace.Warning}}
}

func TestExpressionsChoosePackets(t *testing.T) {
	const everything = "acks asks cut naks six swaps writes wrong"
	for _, tt := range []struct{ text, want string }{
		{"", everything}, {" ", everything}, {"udp", everything},
		{"qp 0x11", "cut swaps writes wrong"}, {"qpn == 17", "cut swaps writes wrong"}, {"qp 0x77", "writes"},
		{"qp 1", "asks"},
		{"qp != 0x11", "acks asks naks six"},
		{"addr 198.18.0.2", "acks asks cut naks swaps writes wrong"},
		{"addr 198.18.0.0/24", "acks asks cut naks swaps writes wrong"},
		{"addr fd00::/16", "six"}, {"src fd00::3", ""}, {"dst fd00::3", "six"},
		{"ip.addr == fd00::3", ""}, {"ipv6.addr == fd00::3", "six"},
		{"ip.src == 198.18.0.3 or ipv6.src == fd00::2", "six"}, {"ip.addr != 198.18.0.2", ""},
		{"ipv6", "six"}, {"!ip", "six"},
		{"opcode 10", "cut"}, {"opcode RC_ACKNOWLEDGE", "acks naks"}, {"opcode rc-acknowledge", "acks naks"},
		{"infiniband.bth.opcode == 17", "acks naks"}, {"infiniband.bth.opcode in {10, 11, 4..6}", "cut writes wrong"},
		{"op write", "cut writes"}, {"op == cas", "swaps"}, {"service ud", "asks"},
		{"service == RC and not op ack", "cut swaps writes wrong"},
		{"psn 3..7", "cut six swaps wrong"}, {"psn 16777214..2", "acks asks naks"},
		{"psn >= 100", "acks writes"}, {"psn lt 2", "asks"},
		{"psn <= 3 && psn > 1", "naks swaps"}, {"frame 12", everything}, {"frame.number != 12", ""},
		{"error", "asks naks wrong"}, {"warning", "asks naks writes wrong"},
		{"nak", "naks"}, {"again", "writes"}, {"ackreq", "writes"},
		{"finding again_after_timeout", "writes"}, {"finding", "writes"},
		{"finding == gap", ""}, {"finding != gap", "writes"},
		{"flow 2", "writes"}, {"message == 3", "writes"},
		{"ulp nvme-of", "writes"}, {"ulp == NVMe-oF", "writes"}, {"ulp iser", ""}, {"ulp", "writes"},
		{"ulp != iser", "writes"},
		{"verb write", "writes"}, {"flow", "writes"}, {"imm 9", "writes"},
		{"infiniband.reth.va == 0x2000", "swaps"}, {"infiniband.reth.dmalen", "writes"},
		{"infiniband.aeth.syndrome >= 32", "naks"},
		{"infiniband.aeth.syndrome.opcode == 1", "naks"}, {"infiniband.aeth.msn == 4", "acks naks"},
		{"infiniband.bth.a == 1", "writes"},
		{"infiniband.bth.a == true", "writes"}, {"infiniband.bth.a == false and op write", "cut"},
		{"infiniband.deth.srcqp == 1", "asks"},
		{"infiniband.atomiceth.cmpdt eq 2", "swaps"}, {"infiniband.mad.attributeid == 0x12", "asks"},
		{"infiniband.mad.attributeid == rej", "asks"},
		{"infiniband.cm.rej.reason == 8", "asks"}, {"cm", "asks"},
		{"infiniband.invariant.crc == 0x04030201 and psn 100", "writes"},
		{"udp.port == 50000", "acks asks cut naks swaps writes wrong"},
		{"ip.dsfield.ecn == 3 and psn 3", "swaps"}, {"ipv6.hlim 64", "six"},
		{"request", "cut swaps writes wrong"}, {"ack", "acks naks"}, {"datagram", "asks six"},
		{"unreliable", "asks six"}, {"response", ""},
		{"finding AGAIN_AFTER_TIMEOUT", "writes"},
		{"inbound", "six"}, {"cnp", ""},
		{"infiniband.reth", "writes"}, // the RETH of the cut packet is missing
		{"qp 0x11 and psn 3 or psn 2", "naks swaps"}, {"psn 2 or qp 0x11 and psn 3", "naks swaps"},
		{"qp 0x11 and (psn 3 or psn 2)", "swaps"},
		{"not (qp 0x11 or ack)", "asks six"}, {"not qp 0x11 and ack", "acks naks"},
		{"!!ack", "acks naks"}, {"NOT Ack AND PSN 5", "six"},
		{"verb \"WRITE\"", "writes"}, {"len > 40", "swaps"},
	} {
		f, err := filter.Parse(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		var got []string
		for _, name := range strings.Fields(everything) {
			if f.Match(all[name]) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%q chooses %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestWrongExpressionsAreExplained(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"qpm 1", `at character 1: unknown field "qpm", did you mean "qp"?`},
		{"infiniband.bth.opcod == 1", `did you mean "infiniband.bth.opcode"?`},
		{"xyzzyplugh", `unknown field "xyzzyplugh"`},
		{"qp 1 psn 2", `at character 6: unexpected "psn": combine`},
		{"qp ==", "at character 6: the expression ends where a value for qp is expected, such as 0x11"},
		{"qp 0x1000000", "more than the field's 24 bits hold"},
		{"psn zzz", `psn: "zzz" is not a number`},
		{"psn 5..", `"5.." is not a range`},
		{"frame 9..5", "empty"},
		{"finding == nosuch",
			`at character 12: finding: "nosuch" is unknown; the values are icrc_wrong, icrc_of_rxe, malformed, gap, `},
		{"finding in {gap, gaps}", `"gaps" is unknown`},
		{"ulp nvme", `ulp: "nvme" is unknown; the values are nvme-of, iser, smb-direct, nfs-rdma`},
		{"verb writ", `verb: "writ" is unknown; the values are SEND, `},
		{"addr 1.2.3", `"1.2.3" is not an address`},
		{"addr 1.2.3.4/40", "is not a network"},
		{"addr < 1.2.3.4", "addr can only be compared with == and !="},
		{"opcode RC_ACK", `"RC_ACK" is not a number`},
		{"error == 1", "error takes no value"},
		{"(qp 1", "the expression ends where the parenthesis of character 1 should be closed"},
		{"qp 1)", `unexpected ")"`},
		{"and qp 1", "where a field is expected"},
		{"qp 1 or", "the expression ends where a field is expected"},
		{"psn in 5", "where { is expected"},
		{"psn in {5", "where a value for psn is expected"},
		{"psn in {}", "where a value for psn is expected"},
		{"\x00", "unknown field"},
		{strings.Repeat("(", 300), "more than 200 parentheses"},
	} {
		_, err := filter.Parse(tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: %v, want %q", tt.text, err, tt.want)
		}
	}
}

func TestMatchingAllocatesNothing(t *testing.T) {
	f, err := filter.Parse(
		"not (addr 1.2.3.0/24 or qp != 0x11 or psn in {1, 5..9}) and finding != gap and infiniband.reth.va >= 4")
	if err != nil {
		t.Fatal(err)
	}
	if !f.Match(writes) {
		t.Error("no match")
	}
	if n := testing.AllocsPerRun(100, func() { f.Match(writes) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEveryFieldCanBeAskedFor(t *testing.T) {
	names := map[string]bool{}
	for _, f := range filter.Fields() {
		for _, n := range f.Names {
			if names[n] || n != strings.ToLower(n) {
				t.Errorf("field %q is there twice, or has upper case", n)
			}
			names[n] = true
			if (f.What == "") != f.Wireshark {
				t.Errorf("%s has no explanation", n)
			}
			if _, err := filter.Parse(n + " " + f.Example); err != nil {
				t.Errorf("%s %s: %v", n, f.Example, err)
			}
		}
	}
	if len(names) < 50 {
		t.Errorf("%d fields", len(names))
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"qp 0x11 and not (psn 5..9 or error)",
		"infiniband.bth.opcode in {1, 2..3} || ip.addr != 10.0.0.0/8", `verb "x y" && !ack`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x, err := filter.Parse(s)
		if err != nil {
			return
		}
		for name, p := range all {
			is := x.Match(p)
			not, err := filter.Parse("not (" + s + "\n)")
			if strings.TrimSpace(s) == "" {
				return
			}
			if err == nil && not.Match(p) == is {
				t.Errorf("%q and its opposite are both %v of %s", s, is, name)
			}
		}
	})
}
