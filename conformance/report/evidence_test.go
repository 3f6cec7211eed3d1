package report_test

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/report"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// packets are the packets of a capture.
type packets struct {
	all      []trace.Packet
	comments [][]string
	frames   int
}

func (p *packets) Packet(k *trace.Packet) error {
	p.all = append(p.all, *k)
	p.comments = append(p.comments, append([]string(nil), k.Comments...))
	return nil
}

func (p *packets) Frame(*capture.Frame) error { p.frames++; return nil }

// read reads a pcapng.
func read(t *testing.T, file []byte) *packets {
	t.Helper()
	src, err := capture.Open(bytes.NewReader(file))
	must(t, err)
	p := &packets{}
	pipeline := trace.Pipeline{Outputs: []trace.Output{p}}
	must(t, pipeline.Run(context.Background(), src))
	return p
}

func TestACaptureOfAFailureHasItsPacketsWithComments(t *testing.T) {
	c := sample("device A").Cases[3]
	p := read(t, c.Pcapng)
	if len(p.all) != 4 {
		t.Fatalf("%d packets", len(p.all))
	}
	for i, k := range p.all {
		if k.ICRC.Verdict != trace.Right || k.IP.HopLimit != 64 || k.Err != nil {
			t.Errorf("packet %d: ICRC %v, %+v, %v", i, k.ICRC.Verdict, k.IP, k.Err)
		}
	}
	if k := p.all[1]; k.IP.ID != 0x1234 || k.Direction != capture.Inbound || k.Src.Addr() != dut ||
		!k.Time.Equal(begin.Add(130*time.Microsecond)) {
		t.Errorf("%+v", k)
	}
	want := []string{"psn/3 against device A: fail", "rule (shall): The rule of psn/3 holds.",
		"source: IBA 9.7.5 | C9-1",
		"result: a NAK of PSN 101 was expected, but came RC_ACKNOWLEDGE with PSN 102", "a control",
		"WRITE #1 of 8 bytes to 0x1000, key 0x7, AckReq"}
	if got := strings.Join(p.comments[0], "\n"); got != strings.Join(want, "\n") {
		t.Error(got)
	}
	if strings.Contains(strings.Join(p.comments[2], "\n"), "PSN 101 is missing") {
		t.Errorf("a gap that the tester left on purpose is a finding: %q", p.comments[2])
	}
	if !strings.Contains(strings.Join(p.comments[3], "\n"), "the responder violates go-back-N") {
		t.Errorf("%q", p.comments[3])
	}
}

func TestCasesThatPassHaveNoPacketsUnlessAllAreKept(t *testing.T) {
	passed := failure("psn/1")
	passed.Verdict = conformance.Pass
	for _, keep := range []bool{false, true} {
		r := report.New(header("A"), []*conformance.Result{passed}, report.Options{KeepAll: keep})
		if c := r.Cases[0]; (len(c.Packets) > 0) != keep || (len(c.Pcapng) > 0) != keep || (c.Output != "") != keep {
			t.Errorf("keep %v: %d packets", keep, len(c.Packets))
		}
	}
}

func TestInconclusiveCasesHavePackets(t *testing.T) {
	x := failure("psn/1")
	x.Verdict = conformance.Inconclusive
	if r := report.New(header("A"), []*conformance.Result{x}, report.Options{}); len(r.Cases[0].Packets) != 4 {
		t.Errorf("%d packets", len(r.Cases[0].Packets))
	}
}

// hostile are cases with packets that no correct device sends.
func hostile() []*conformance.Result {
	v6 := entry(0, true, write(1))
	v6.Src, v6.Dst = netip.MustParseAddrPort("[2001:db8::1]:4791"), netip.MustParseAddrPort("[2001:db8::2]:4791")
	short := entry(1, false, write(2))
	short.Bytes = short.Bytes[:5]
	empty := conformance.Entry{At: begin, Src: v6.Dst, Dst: v6.Src}
	unknown := conformance.Entry{At: begin, Bytes: bytes.Repeat([]byte{0xff}, 40)}
	noIP := entry(2, false, write(3))
	noIP.IP = []byte{0x4f, 0, 0}
	grh := entry(3, false, write(4))
	grh.IP = append([]byte{0x60, 0, 0, 0, 0, byte(len(grh.Bytes)), 0x1b, 64}, make([]byte, 32)...)
	grh.IP = append(grh.IP, grh.Bytes...)
	long := entry(4, false, bth.Packet{Opcode: bth.RCReadResponseOnly, Payload: make([]byte, 65000)})
	log := []conformance.Entry{v6, short, empty, unknown, noIP, grh, long}
	log[0].Notes = []string{"\x1b]0;x\x07", strings.Repeat("n", 1<<20)}
	return []*conformance.Result{
		{Case: aCase("psn/1", conformance.Shall), Verdict: conformance.Fail, Packets: log,
			Detail: strings.Repeat("é", 1<<20), Output: strings.Repeat("x\n", 1<<20)},
		{Case: aCase("psn/2", conformance.Shall), Verdict: conformance.Fail, Packets: flood(), Dropped: 7},
	}
}

// flood are many packets.
func flood() (log []conformance.Entry) {
	for i := range 3000 {
		log = append(log, entry(i, true, write(bth.PSN(i))))
	}
	return log
}

func TestAnyPacketIsShown(t *testing.T) {
	c := report.New(header("A"), hostile(), report.Options{}).Cases[0]
	if len(c.Packets) != 7 || len(c.Detail) > 5<<10 || len(c.Output) > 5<<10 {
		t.Fatalf("%d packets, %d bytes of detail, %d of output", len(c.Packets), len(c.Detail), len(c.Output))
	}
	p := read(t, c.Pcapng)
	if len(p.all)+p.frames != 7 {
		t.Errorf("%d packets, %d other frames", len(p.all), p.frames)
	}
	if k := p.all[0]; k.IP.Version != 6 || k.BTH.PSN != 1 {
		t.Errorf("%+v", k)
	}
	if c.Packets[5].PSN != 4 || c.Packets[5].Opcode == "" {
		t.Errorf("RoCEv1: %+v", c.Packets[5])
	}
	if l := c.Ladder(); strings.ContainsAny(l, "\x1b\x07") || !strings.Contains(l, "no RoCEv2 packet: 3 bytes") {
		t.Error(l)
	}
}

func TestALongCaseKeepsItsBeginningAndItsEnd(t *testing.T) {
	c := report.New(header("A"), hostile(), report.Options{}).Cases[1]
	if n := len(c.Packets); n != 400 || c.Packets[199].Frame != 200 || c.Packets[200].Frame != 2801 ||
		c.Omitted != 2600+7 {
		t.Fatalf("%d packets, %d omitted", n, c.Omitted)
	}
	l := c.Ladder()
	if !strings.Contains(l, "… 2600 packets are not shown") || !strings.HasSuffix(l, "… 7 more packets were not kept") {
		t.Error(l)
	}
	// The Analyzer processes what is not shown: no packet is missing.
	if strings.Contains(l, "is missing") {
		t.Error(l)
	}
	large := failure("psn/1")
	large.Packets = nil
	for i := range 100 {
		large.Packets = append(large.Packets, entry(i, false, bth.Packet{Opcode: bth.RCReadResponseMiddle,
			Payload: make([]byte, 16<<10)}))
	}
	c = report.New(header("A"), []*conformance.Result{large}, report.Options{}).Cases[0]
	if len(c.Pcapng) > 320<<10 || len(c.Packets) == 0 {
		t.Errorf("a capture of %d bytes with %d packets", len(c.Pcapng), len(c.Packets))
	}
}

// The capture has all findings as comments.
func TestLaddersHaveWarningsAndErrorsOnly(t *testing.T) {
	x := failure("psn/1")
	x.Packets = []conformance.Entry{entry(0, true, write(5)), entry(10, true, write(6)),
		entry(20, false, ack(6, bth.AckUnlimited))}
	c := report.New(header("A"), []*conformance.Result{x}, report.Options{}).Cases[0]
	const info = "one acknowledgement for 2 messages, up to PSN 6"
	if l := c.Ladder(); strings.Contains(l, info) {
		t.Error(l)
	}
	if !bytes.Contains(c.Pcapng, []byte(info)) {
		t.Error("the capture lacks a finding")
	}
}
