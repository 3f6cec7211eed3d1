package report

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/pcapng"
)

// Packet is a packet of a case, explained by package trace.
type Packet struct {
	Frame   int     `json:"frame"` // number in the whole log of the case, from 1
	Seconds float64 `json:"t"`     // time since the first packet of the case
	Sent    bool    `json:"sent"`  // by the tester
	Src     string  `json:"src"`
	Dst     string  `json:"dst"`
	Opcode  string  `json:"opcode,omitempty"` // IBA name; empty if there is no BTH
	QPN     uint32  `json:"dest_qp,omitempty"`
	PSN     uint32  `json:"psn"`
	Length  int     `json:"length"` // of the UDP payload in bytes
	// Meaning is what the packet does according to gorxe trace, which knows nothing of the case.
	Meaning  string   `json:"meaning,omitempty"`
	Findings []string `json:"findings,omitempty"` // warnings and errors of gorxe trace
	Notes    []string `json:"notes,omitempty"`    // of the script, before the packet
}

// Evidence has up to maxFrames packets and about maxBytes bytes of packets: half of them the first,
// half the last ones. The Analyzer also processes the others.
const (
	maxFrames = 400
	maxBytes  = 256 << 10
	maxNotes  = 20
)

// addEvidence sets Packets, Omitted and Pcapng from the log of x.
func (c *Case) addEvidence(h Header, x *conformance.Result) {
	if len(x.Packets) == 0 {
		return
	}
	first, last := choose(x.Packets)
	file := &bytes.Buffer{}
	src := &logSource{entries: x.Packets, about: about(h, x)}
	e := &evidence{src: src, first: first, last: last, pcapng: pcapng.NewPackets(file, pcapng.Options{
		Application: "gorxe " + h.Gorxe,
		Description: "packets of a case of gorxe conform; IP headers may be reconstructed",
	})}
	p := trace.Pipeline{Outputs: []trace.Output{e}}
	if err := p.Run(context.Background(), src); err != nil { // memory does not fail
		c.Detail += fmt.Sprintf(" (the packets cannot be shown: %v)", err)
		return
	}
	c.Packets, c.Pcapng = e.packets, file.Bytes()
	c.Omitted = max(0, last-first-1) + x.Dropped
}

// about returns the comments on the first frame.
func about(h Header, x *conformance.Result) []string {
	lines := []string{
		fmt.Sprintf("%s against %s: %v", x.Case.ID, h.Device, x.Verdict),
		fmt.Sprintf("rule (%v): %s", x.Case.Level, x.Case.Rule), "source: " + x.Case.Source,
	}
	if x.Detail != "" {
		lines = append(lines, "result: "+clean(x.Detail, maxDetail))
	}
	return lines
}

// choose returns the number of the last frame of the beginning, and that of the first frame of the
// end, of which evidence consists.
func choose(all []conformance.Entry) (first, last int) {
	for size := 0; first < len(all) && first < maxFrames/2 && size < maxBytes/2; first++ {
		size += len(all[first].Bytes) + len(all[first].IP)
	}
	last = len(all) + 1
	for size, n := 0, 0; last-1 > first && n < maxFrames/2 && size < maxBytes/2; n++ {
		last--
		size += len(all[last-1].Bytes) + len(all[last-1].IP)
	}
	return first, last
}

// logSource is the log of a case as a source of frames.
type logSource struct {
	entries []conformance.Entry
	about   []string // comments on the first frame
	next    int
}

// Next returns the next frame.
func (s *logSource) Next(f *capture.Frame) error {
	if s.next == len(s.entries) {
		return io.EOF
	}
	e := &s.entries[s.next]
	s.next++
	link, data := frameOf(e)
	*f = capture.Frame{Number: s.next, Time: e.At, Link: link, Direction: capture.Inbound, Length: len(data),
		Data: data}
	if e.Sent {
		f.Direction = capture.Outbound
	}
	if s.next == 1 {
		f.Comments = append(f.Comments, s.about...)
	}
	f.Comments = append(f.Comments, notesOf(e)...)
	return nil
}

func notesOf(e *conformance.Entry) []string {
	var notes []string
	for _, n := range e.Notes[:min(len(e.Notes), maxNotes)] {
		notes = append(notes, clean(n, maxDetail))
	}
	return notes
}

// evidence collects the packets of a case. It is an output of a trace.Pipeline.
type evidence struct {
	src         *logSource
	first, last int // frames up to first and from last on are kept
	begin       time.Time
	packets     []Packet
	pcapng      *pcapng.Packets
}

// Begin sets time 0.
func (e *evidence) Begin(t time.Time) { e.begin = t }

func (e *evidence) keeps(n int) bool { return n <= e.first || n >= e.last }

// Frame adds a frame in which no packet was found.
func (e *evidence) Frame(f *capture.Frame) error {
	if !e.keeps(f.Number) {
		return nil
	}
	k := e.add(f)
	k.Meaning = fmt.Sprintf("no RoCEv2 packet: %d bytes", len(f.Data))
	return e.pcapng.Frame(f)
}

// Packet adds a packet. Findings about the tester's own packets are left out: it leaves gaps and
// resends on purpose.
func (e *evidence) Packet(all *trace.Packet) error {
	if !e.keeps(all.Number) {
		return nil
	}
	own := *all
	p := &own
	if e.src.entries[p.Number-1].Sent {
		p.Findings = nil
	}
	k := e.add(p.Frame)
	k.Meaning = clean(p.Meaning, maxDetail)
	if len(p.Bytes) >= bth.BTHLen {
		k.Opcode, k.QPN, k.PSN = p.BTH.Opcode.String(), uint32(p.BTH.DestQP), uint32(p.BTH.PSN)
	}
	switch {
	case p.Err != nil:
		k.Findings = append(k.Findings, clean(p.Err.Error(), maxDetail))
	case p.ICRC.Verdict == trace.Wrong:
		k.Findings = append(k.Findings,
			fmt.Sprintf("the ICRC is wrong: 0x%08x instead of 0x%08x", p.ICRC.Wire, p.ICRC.Want))
	}
	for _, f := range p.Findings {
		if f.Level > trace.Info && f.Kind != trace.WrongICRC && f.Kind != trace.Malformed {
			k.Findings = append(k.Findings, clean(f.Text, maxDetail))
		}
	}
	return e.pcapng.Packet(p)
}

// Flush ends the capture.
func (e *evidence) Flush() error { return e.pcapng.Flush() }

func (e *evidence) add(f *capture.Frame) *Packet {
	x := &e.src.entries[f.Number-1]
	e.packets = append(e.packets, Packet{
		Frame: f.Number, Seconds: f.Time.Sub(e.begin).Round(time.Microsecond).Seconds(), Sent: x.Sent,
		Src: end(x.Src), Dst: end(x.Dst), Length: len(x.Bytes), Notes: notesOf(x),
	})
	return &e.packets[len(e.packets)-1]
}

func end(a netip.AddrPort) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
