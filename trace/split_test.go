package trace_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// part is the expected result for one packet of a merged datagram.
type part struct {
	len   int
	right bool
	whole bool // captured completely
}

func check(t *testing.T, f *capture.Frame, want []part, parts int) {
	t.Helper()
	var d trace.Decoder
	got := decode(&d, f)
	if len(got) != len(want) {
		t.Fatalf("%d packets, want %d: %+v", len(got), len(want), got)
	}
	for i, g := range got {
		verdict := trace.NotChecked
		if want[i].whole {
			verdict = trace.Wrong
			if want[i].right {
				verdict = trace.Right
			}
		}
		if g.Part != i+1 || g.Parts != parts || g.Len != want[i].len || g.ICRC != verdict || g.Err != "" ||
			g.PSN != bth.PSN(i) {
			t.Errorf("packet %d: %+v, want %+v of %d", i, g, want[i], parts)
		}
	}
}

// merged returns a datagram of equal packets and a last one.
func merged(n, payload, last int) (b []byte, want []part) {
	for i := range n {
		p := write(bth.RCWriteMiddle, bth.PSN(i), payload)
		if i == n-1 {
			p = write(bth.RCWriteLast, bth.PSN(i), last)
		}
		w := roce4(i, p)
		b, want = append(b, w...), append(want, part{len(w), true, true})
	}
	return b, want
}

func TestPacketsOfOneDatagramAreSplitByTheirICRCs(t *testing.T) {
	for _, mtu := range []int{256, 512, 1024, 2048, 4096, 100, 8} {
		b, want := merged(7, mtu, mtu/2)
		check(t, frameOf(b), want, 7)
		b, want = merged(2, mtu, mtu)
		check(t, frameOf(b), want, 2)
	}
}

func TestAWrongPacketDoesNotHideTheOthers(t *testing.T) {
	for _, mtu := range []int{1024, 100} {
		for wrong := range 5 {
			b, want := merged(5, mtu, mtu-4)
			b[wrong*want[0].len+20] ^= 1
			want[wrong].right = false
			check(t, frameOf(b), want, 5)
		}
		b, want := merged(5, mtu, 16)
		for _, wrong := range []int{0, 1, 4} {
			b[wrong*want[0].len+20] ^= 1
			want[wrong].right = false
		}
		check(t, frameOf(b), want, 5)
	}
}

func TestPacketsOfACutDatagramAreSplitAsFarAsTheyGo(t *testing.T) {
	b, want := merged(6, 1024, 100)
	size := want[0].len
	for _, tt := range []struct{ kept, packets, whole int }{
		{len(b) - 1, 6, 5},
		{5 * size, 5, 5},
		{3*size + 11, 3, 3}, // the BTH of the fourth is missing
		{3*size + 12, 4, 3},
		{size, 1, 1},
	} {
		w := append([]part(nil), want[:tt.packets]...)
		for i := tt.whole; i < tt.packets; i++ {
			w[i].whole = false
		}
		check(t, snap(frameOf(b), tt.kept), w, 6)
	}
}

// A datagram longer than any packet, of which less than one packet was captured.
func TestADatagramOfSeveralPacketsThatNothingTellsApart(t *testing.T) {
	b, _ := merged(6, 1024, 100)
	var d trace.Decoder
	got := decode(&d, snap(frameOf(b), 500))
	want := []shown{{
		1, 1, len(b), 500, 0, bth.RCWriteMiddle, trace.NotChecked, 0,
		"5316 bytes exceed the maximum packet length, and neither ICRCs nor headers show packet boundaries", false,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// All ICRCs are wrong, as in a capture with rewritten addresses.
func TestHeadersSplitADatagramWhoseICRCsAreAllWrong(t *testing.T) {
	b, want := merged(6, 1024, 100)
	for i := range want {
		b[i*want[0].len+20] ^= 1
		want[i].right = false
	}
	check(t, frameOf(b), want, 6)
}

func TestAcknowledgementsOfOneDatagramAreSplit(t *testing.T) {
	var b []byte
	var want []part
	for i := range 9 {
		w := roce4(i, bth.Packet{Opcode: bth.RCAck, PKey: 0xffff, DestQP: 17, PSN: bth.PSN(i),
			AETH: bth.AETH{Syndrome: 0x1f, MSN: 3}})
		b, want = append(b, w...), append(want, part{len(w), true, true})
	}
	check(t, frameOf(b), want, 9)
	for i := range want {
		want[i].whole = i < 2
	}
	check(t, snap(frameOf(b), 2*want[0].len+16), want[:3], 9)
}

func TestPacketsOverIPv6AreSplit(t *testing.T) {
	var b []byte
	for i := range 5 {
		b = append(b, roce6(write(bth.RCWriteMiddle, bth.PSN(i), 512))...)
	}
	six := ip6(17, nil, udp(b))
	var d trace.Decoder
	for i, g := range decode(&d, &capture.Frame{Link: capture.LinkIPv6, Data: six, Length: len(six)}) {
		if g.Parts != 5 || g.ICRC != trace.Right || g.PSN != bth.PSN(i) {
			t.Errorf("%+v", g)
		}
	}
	if d.Counts.Packets != 5 {
		t.Errorf("%+v", d.Counts)
	}
}

// NICs may leave the identification unchanged.
func TestSegmentsMayShareTheirIdentification(t *testing.T) {
	var b []byte
	var want []part
	for i := range 4 {
		w := roce4(0, write(bth.RCWriteMiddle, bth.PSN(i), 1024))
		b, want = append(b, w...), append(want, part{len(w), true, true})
	}
	check(t, frameOf(b), want, 4)
}

func TestPartsSayWhichIdentificationTheyHave(t *testing.T) {
	b, _ := merged(3, 256, 256)
	var d trace.Decoder
	d.Decode(frameOf(b), func(p *trace.Packet) {
		if int(p.IP.ID) != testID+p.Part-1 {
			t.Errorf("part %d has identification %d", p.Part, p.IP.ID)
		}
	})
	if d.Counts.Merged != 1 || d.Counts.Packets != 3 {
		t.Errorf("%+v", d.Counts)
	}
}

// A single packet with a wrong ICRC remains one.
func TestAWrongPacketIsNotSplit(t *testing.T) {
	for _, p := range []bth.Packet{
		write(bth.RCWriteOnly, 0, 1500), write(bth.RCWriteMiddle, 0, 4096), write(bth.RCWriteLast, 0, 700),
		{Opcode: bth.RCAck, AETH: bth.AETH{Syndrome: 0x1f}}, {Opcode: bth.RCCmpSwap},
	} {
		b := roce4(0, p)
		b[len(b)-1] ^= 1
		check(t, frameOf(b), []part{{len(b), false, true}}, 1)
	}
}

func TestAnyDatagramOfSegmentsIsSplitWhereItWasJoined(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 1024).Draw(rt, "words") * 4
		n := rapid.IntRange(2, max(2, min(30, 60000/(size+16)))).Draw(rt, "packets")
		last := rapid.IntRange(0, size).Draw(rt, "last")
		b, want := merged(n, size, last)
		wrong := rapid.IntRange(-1, n-1).Draw(rt, "wrong")
		if wrong >= 0 {
			b[wrong*want[0].len+9] ^= 0x80 // a bit of the PSN
			want[wrong].right = false
		}
		var d trace.Decoder
		got := decode(&d, frameOf(b))
		if len(got) != n {
			rt.Fatalf("%d packets, want %d", len(got), n)
		}
		for i, g := range got {
			if g.Len != want[i].len || (g.ICRC == trace.Right) != want[i].right {
				rt.Fatalf("packet %d: %+v, want %+v", i, g, want[i])
			}
		}
	})
}

// In a capture without any right ICRC the search for unlikely lengths stops, until an ICRC is
// right again.
func TestTheSearchForLengthsEndsWhereItFindsNothing(t *testing.T) {
	wrong := roce4(0, write(bth.RCWriteOnly, 0, 1500))
	wrong[30] ^= 1
	unlikely, _ := merged(3, 100, 100)
	likely, _ := merged(3, 1024, 1024)
	var d trace.Decoder
	packets := func(b []byte) int { return len(decode(&d, frameOf(b))) }
	for range 100 {
		if n := packets(wrong); n != 1 {
			t.Fatalf("a wrong packet is %d", n)
		}
	}
	if n := packets(unlikely); n != 1 {
		t.Errorf("%d packets of an unlikely length after 100 that were wrong", n)
	}
	if n := packets(likely); n != 3 {
		t.Errorf("%d packets of a likely length", n)
	}
	if n := packets(unlikely); n != 3 {
		t.Errorf("%d packets of an unlikely length after one that was right", n)
	}
}

// A datagram that gorxe sent over loopback, where segmentation offload never splits it.
func TestARealDatagramOfSegmentsIsSplit(t *testing.T) {
	file, err := os.Open("testdata/gso.pcap")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var got []string
	c := readAll(t, file, func(_ *capture.Frame, p *trace.Packet) {
		got = append(got, fmt.Sprintf("%d.%d of %d: %v, %d bytes, ICRC %v", p.Number, p.Part, p.Parts, p.BTH.Opcode,
			p.Len, p.ICRC.Verdict))
	})
	want := []string{
		"1.1 of 2: RC_RDMA_WRITE_FIRST, 4128 bytes, ICRC right",
		"1.2 of 2: RC_RDMA_WRITE_MIDDLE, 4112 bytes, ICRC right",
		"2.1 of 1: RC_ACKNOWLEDGE, 20 bytes, ICRC right",
	}
	if diff := cmp.Diff(want, got); diff != "" || c.Merged != 1 {
		t.Errorf("%+v\n%s", c, diff)
	}
}
