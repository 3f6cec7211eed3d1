package html_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	tracehtml "github.com/gorxe/gorxe/trace/html"
)

// wire is a capture of packets between 198.18.0.1 and 198.18.0.2. It is a capture.Source.
type wire struct{ frames []capture.Frame }

// send adds a packet from the first host (0) or the second one (1), 20 µs after the last one.
func (w *wire) send(from int, p bth.Packet) {
	hosts := [2][4]byte{{198, 18, 0, 1}, {198, 18, 0, 2}}
	src, dst, id := hosts[from], hosts[1-from], len(w.frames)+1000
	h := bth.Header4{Src: src, Dst: dst, ID: uint16(id), FlagsFragment: 0x4000, SrcPort: 50000, DstPort: 4791}
	p.PKey, p.MigReq = 0xffff, true
	b := p.Append(nil)
	h.UDPLen = bth.UDPHeaderLen + len(b) + bth.ICRCLen
	b = bth.AppendICRC(b, bth.ICRC(h.Seed(), b))
	n := bth.IPv4HeaderLen + h.UDPLen
	ip := []byte{0x45, 0, byte(n >> 8), byte(n), byte(id >> 8), byte(id), 0x40, 0, 64, 17, 0, 0}
	ip = append(append(ip, src[:]...), dst[:]...)
	ip = append(ip, 0xc3, 0x50, 0x12, 0xb7, byte(h.UDPLen>>8), byte(h.UDPLen), 0, 0)
	ip = append(ip, b...)
	w.frames = append(w.frames, capture.Frame{Number: len(w.frames) + 1, Link: capture.LinkRaw, Length: len(ip),
		Time: time.Unix(1000, 0).Add(time.Duration(len(w.frames)) * 20 * time.Microsecond), Data: ip})
}

func (w *wire) Next(f *capture.Frame) error {
	if len(w.frames) == 0 {
		return io.EOF
	}
	*f, w.frames = w.frames[0], w.frames[1:]
	return nil
}

// A notification that precedes the packets of its connection is a flow of its own until the first
// response shows that both are directions of one connection.
func TestDirectionsThatWereMergedAreOneConnection(t *testing.T) {
	w := &wire{}
	w.send(1, bth.Packet{Opcode: bth.CNP, DestQP: 0x11})
	for psn := bth.PSN(5); psn < 30; psn++ {
		w.send(0, bth.Packet{Opcode: bth.RCSendOnly, DestQP: 0x22, PSN: psn, AckReq: true, Payload: []byte("data")})
		w.send(1, bth.Packet{Opcode: bth.RCAck, DestQP: 0x11, PSN: psn, AETH: bth.AETH{Syndrome: bth.AckUnlimited}})
	}
	seen := len(w.frames)
	page, flows := tracehtml.New(tracehtml.Options{Max: 10}), map[*trace.Flow]bool{}
	p := trace.Pipeline{Outputs: []trace.Output{page, flowsOf(flows)}}
	if err := p.Run(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if len(flows) != 2 {
		t.Fatalf("the packets had %d flows when they were seen, want 2", len(flows))
	}
	var b bytes.Buffer
	if _, err := page.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	_, doc := dataOf(t, b.String())
	list := doc["flows"].([]any)
	if len(list) != 1 {
		t.Fatalf("%d connections, want 1: %v", len(list), list)
	}
	left, sent := list[0].(map[string]any)["o"].(float64), [2]int{}
	for _, v := range doc["packets"].([]any) {
		k := v.(map[string]any)
		if k["f"].(float64) != 0 {
			t.Errorf("packet of connection %v", k["f"])
		}
		of, _ := k["fo"].(float64)
		left += of
		from, _ := k["w"].(float64)
		sent[int(from)]++
	}
	kept := sent[0] + sent[1]
	if kept != 10 || sent[0] == 0 || sent[1] == 0 || left != float64(seen-kept) {
		t.Errorf("%v packets by sender, %v left out, want 10 and %d", sent, left, seen-10)
	}
	if s := seriesIn(doc["series"].([]any)[0]); s.sum(rowPackets) != float64(seen) || s.sum(rowCNPs) != 1 {
		t.Errorf("the series has %v packets and %v CNPs, want %d and 1", s.sum(rowPackets), s.sum(rowCNPs), seen)
	}
}

// flowsOf is the set of the flows of packets when they were seen.
type flowsOf map[*trace.Flow]bool

func (s flowsOf) Packet(k *trace.Packet) error {
	s[k.Flow] = true
	return nil
}
