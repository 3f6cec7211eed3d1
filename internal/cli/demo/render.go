package demo

import (
	"fmt"
	"strings"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/cli/app"
)

// minRun is the minimum number of similar consecutive packets that are shown as one line.
const minRun = 3

// renderPackets returns one line for each packet, or for each run of packets that differ only in
// their PSN.
func renderPackets(events []event, s app.Style) []string {
	var lines []string
	answered := true // a NAK causes the next retransmission; false: a timer does
	repeats := false // A is retransmitting
	for i := 0; i < len(events); {
		e := &events[i]
		n := 1
		for i+n < len(events) && alike(e, &events[i+n], n) {
			n++
		}
		if n < minRun {
			n = 1
		}
		isNAK := e.p.Opcode == bth.RCAck && (e.p.AETH.Syndrome.IsNak() || e.p.AETH.Syndrome.IsRNR())
		if e.again && !answered {
			lines = append(lines, s.Dim(fmt.Sprintf("  %s        no response: timeout", device(e.from))))
		}
		if e.again || isNAK && !e.lost || repeats && e.p.Opcode == bth.RCAck && !e.lost {
			answered = true
		}
		if e.p.Opcode.Info().Request() {
			repeats = e.again
		}
		if !e.again && e.p.Opcode.Info().Request() {
			answered = false
		}
		lines = append(lines, packetLine(e, n, s))
		if e.again && e.p.AckReq {
			answered = false // what is retransmitted after this was not acknowledged either
		}
		i += n
	}
	return lines
}

// alike reports whether f, which is n packets after e, differs from e only in its PSN, which must
// be consecutive.
func alike(e, f *event, n int) bool {
	return e.p.Opcode.Info().Pos == bth.Middle && f.p.Opcode == e.p.Opcode && f.from == e.from && f.size == e.size &&
		f.lost == e.lost && f.again == e.again && f.p.AckReq == e.p.AckReq && f.p.PSN == e.p.PSN.Add(uint32(n))
}

// device returns the name of device i.
func device(i int) string { return string(rune('A' + i)) }

// packetLine describes n packets that start with e.
func packetLine(e *event, n int, s app.Style) string {
	arrow := "──▶"
	if e.from == 1 {
		arrow = "◀──"
	}
	colour := s.Cyan
	if e.from == 1 {
		colour = s.Green
	}
	mark := ""
	switch {
	case e.lost && e.from == 0:
		arrow = "──✗"
	case e.lost:
		arrow = "✗──"
	}
	if e.again {
		mark = "  " + s.Yellow("again")
	}
	if e.lost {
		mark += "  " + s.Red("lost")
		colour = s.Red
	}
	psn := fmt.Sprintf("PSN %06x", uint32(e.p.PSN))
	if n > 1 {
		psn += fmt.Sprintf("…%06x", uint32(e.p.PSN.Add(uint32(n-1))))
	}
	return strings.TrimRight(fmt.Sprintf("  A %s B  %s %s  %s%s",
		colour(arrow), pad(strings.TrimPrefix(e.p.Opcode.String(), "RC_"), 25), psn, packetDetails(e, n), mark), " ")
}

// pad extends text to width columns.
func pad(text string, width int) string {
	if n := len([]rune(text)); n < width {
		return text + strings.Repeat(" ", width-n)
	}
	return text
}

// packetDetails returns the other contents of a packet: payload size, extension headers,
// acknowledgement.
func packetDetails(e *event, n int) string {
	var parts []string
	info := e.p.Opcode.Info()
	switch {
	case n > 1:
		parts = append(parts, fmt.Sprintf("%d × %d B", n, e.size))
	case e.size > 0 && e.p.Pad > 0:
		parts = append(parts, fmt.Sprintf("%d B + %d pad", e.size, e.p.Pad))
	case e.size > 0:
		parts = append(parts, fmt.Sprintf("%d B", e.size))
	}
	if info.Headers&bth.HasRETH != 0 {
		parts = append(parts, fmt.Sprintf("RETH va %x len %d key %08x", e.p.RETH.VA, e.p.RETH.DMALen, e.p.RETH.RKey))
	}
	if info.Headers&bth.HasAtomicETH != 0 {
		x := &e.p.AtomicETH
		text := fmt.Sprintf("va %x key %08x add %d", x.VA, x.RKey, x.SwapAdd)
		if e.p.Opcode == bth.RCCmpSwap {
			text = fmt.Sprintf("va %x key %08x if %d then %d", x.VA, x.RKey, x.Compare, x.SwapAdd)
		}
		parts = append(parts, text)
	}
	if info.Headers&bth.HasAtomicAckETH != 0 {
		parts = append(parts, fmt.Sprintf("was %d", e.p.AtomicAck))
	}
	if info.Headers&bth.HasAETH != 0 {
		parts = append(parts, fmt.Sprintf("%v, MSN %d", e.p.AETH.Syndrome, e.p.AETH.MSN))
	}
	if e.p.AckReq {
		parts = append(parts, "AckReq")
	}
	return strings.Join(parts, "; ")
}

// summary summarizes the packets of a message.
func summary(events []event) string {
	var c count
	naks, acks := 0, 0
	for i := range events {
		e := &events[i]
		c.add(e)
		if e.p.Opcode == bth.RCAck {
			if e.p.AETH.Syndrome.IsNak() {
				naks++
			} else {
				acks++
			}
		}
	}
	text := fmt.Sprintf("%d packets, %s", c.sent-acks-naks, app.Plural(acks, "ACK"))
	if naks > 0 {
		text += ", " + app.Plural(naks, "NAK")
	}
	if c.lost == 0 && c.again == 0 {
		return text + ": none lost"
	}
	return fmt.Sprintf("%s: %d lost, %d sent again", text, c.lost, c.again)
}
