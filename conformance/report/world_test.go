package report_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/report"
)

var (
	tester = netip.MustParseAddr("198.18.0.2")
	dut    = netip.MustParseAddr("198.18.0.3")
	begin  = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
)

func header(device string) report.Header {
	return report.Header{Device: device, Address: dut, Local: tester, Link: "udp", Time: begin, Gorxe: "v1.2.3",
		Seconds: 12.5}
}

// entry returns a packet of the log, at a time in microseconds.
func entry(us int, sent bool, p bth.Packet, notes ...string) conformance.Entry {
	src, dst := netip.AddrPortFrom(tester, 4791), netip.AddrPortFrom(dut, 4791)
	id := uint16(0)
	if !sent {
		src, dst = netip.AddrPortFrom(dut, 49152), netip.AddrPortFrom(tester, 4791)
		id = 0x1234
	}
	p.PKey, p.MigReq = 0xffff, true
	b := p.Append(nil)
	h := bth.Header4{Src: src.Addr().As4(), Dst: dst.Addr().As4(), ID: id, FlagsFragment: 0x4000, SrcPort: src.Port(),
		DstPort: 4791, UDPLen: 8 + len(b) + bth.ICRCLen}
	return conformance.Entry{At: begin.Add(time.Duration(us) * time.Microsecond), Sent: sent, Src: src, Dst: dst,
		TTL: 64, Bytes: bth.AppendICRC(b, bth.ICRC(h.Seed(), b)), Notes: notes}
}

func write(psn bth.PSN) bth.Packet {
	return bth.Packet{Opcode: bth.RCWriteOnly, DestQP: 0x11, PSN: psn, AckReq: true, Payload: make([]byte, 8),
		RETH: bth.RETH{VA: 0x1000, RKey: 7, DMALen: 8}}
}

func ack(psn bth.PSN, s bth.Syndrome) bth.Packet {
	return bth.Packet{Opcode: bth.RCAck, DestQP: 0x801, PSN: psn, AETH: bth.AETH{Syndrome: s, MSN: 1}}
}

// aCase returns a case with an ID and a level.
func aCase(id string, l conformance.Level) *conformance.Case {
	return &conformance.Case{ID: id, Level: l, Program: conformance.WriteServer, Rule: "The rule of " + id + " holds.",
		Source: "IBA 9.7.5 | C9-1"}
}

// failure is a failed case with three packets.
func failure(id string) *conformance.Result {
	return &conformance.Result{Case: aCase(id, conformance.Shall), Verdict: conformance.Fail,
		Elapsed: 300 * time.Millisecond, Detail: "a NAK of PSN 101 was expected, but came RC_ACKNOWLEDGE with PSN 102",
		Packets: []conformance.Entry{
			entry(0, true, write(100), "a control"), entry(130, false, ack(100, bth.AckUnlimited)),
			entry(400, true, write(102)), entry(520, false, ack(102, bth.AckUnlimited)),
		},
		Output: "listening\nfailed: \x1b[31mstatus 12\x1b[0m\n",
	}
}

// results has each verdict.
func results() []*conformance.Result {
	values := []conformance.Value{{Name: "NAK latency", Unit: "µs", Samples: []float64{12.25, 3, 2500, 14}}}
	list := []*conformance.Result{
		{Case: aCase("rnr/1", conformance.Observed), Verdict: conformance.Measured, Detail: "waits 0.64 ms",
			Values: values},
		{Case: aCase("psn/1", conformance.Shall), Verdict: conformance.Pass, Elapsed: time.Second,
			Traffic: []conformance.Value{{Name: "request to ACK", Unit: "µs", Samples: []float64{9, 11, 10}}}},
		{Case: aCase("psn/2", conformance.Should), Verdict: conformance.Warn,
			Detail: "two NAKs <script>alert(1)</script>"},
		failure("psn/3"),
		{Case: aCase("psn/4", conformance.Shall), Verdict: conformance.Unclear, Detail: "answers; hfi1 does not",
			Traffic: []conformance.Value{{Name: "gap to NAK", Unit: "µs", Samples: []float64{20}},
				{Name: "request to ACK", Unit: "µs", Samples: []float64{30}}}},
		{Case: aCase("atomic/1", conformance.Shall), Verdict: conformance.Unsupported, Detail: "no atomics"},
		{Case: aCase("header/1", conformance.Shall), Verdict: conformance.NotRun, Detail: "needs a raw link"},
		{Case: aCase("cm/1", conformance.Shall), Verdict: conformance.Inconclusive, Detail: "nothing came"},
	}
	return list
}

func sample(device string) *report.Report {
	return report.New(header(device), results(), report.Options{})
}

// other is a report of another device, without the chapter cm, where psn/3 passes.
func other() *report.Report {
	all := results()[:7]
	all[3] = &conformance.Result{Case: all[3].Case, Verdict: conformance.Pass}
	return report.New(header("device B"), all, report.Options{})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
