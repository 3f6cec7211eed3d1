package text

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
)

// Column widths. The address column grows to the longest pair so far.
const (
	numberWidth = 7
	timeWidth   = 12
	minEnds     = len("198.18.0.2 → 198.18.0.3")
	arrow       = " → "
)

// line writes frame number, time, addresses and meaning of a packet; without a meaning, its
// header fields.
func (w *Writer) line(p *trace.Packet) {
	w.start(dim)
	w.number(p)
	w.s("  ")
	w.time(p)
	w.stop()
	w.s("  ")
	w.addresses(p)
	w.s("  ")
	w.start(colourOf(p))
	if p.Doubtful {
		w.s("UDP from port ")
		w.u(uint64(p.Src.Port()))
		w.s("  ")
		w.u(uint64(p.Len))
		w.s(" bytes")
	} else {
		if len(p.Bytes) >= bth.BTHLen {
			w.qpAndPSN(p)
		}
		if p.Meaning != "" {
			w.plain(p.Meaning)
		} else if len(p.Bytes) >= bth.BTHLen {
			w.summary(p)
		}
	}
	w.stop()
	w.faults(p)
	w.b = append(w.b, '\n')
	w.findings(p)
}

// colourOf returns a colour that distinguishes requests, responses and problems.
func colourOf(p *trace.Packet) colour {
	info := p.BTH.Opcode.Info()
	switch {
	case p.Err != nil || p.ICRC.Verdict == trace.Wrong:
		return red
	case info.Op == bth.OpAck && !p.BTH.AETH.Syndrome.IsAck():
		return red
	case p.Again || info.Op == bth.OpCNP:
		return yellow
	case info.Response():
		return green
	}
	return cyan
}

// number writes the frame number, and the packet's index in the frame if there are several.
func (w *Writer) number(p *trace.Packet) {
	from := len(w.b)
	w.b = strconv.AppendInt(w.b, int64(p.Number), 10)
	if p.Parts > 1 {
		w.b = append(w.b, '.')
		w.b = strconv.AppendInt(w.b, int64(p.Part), 10)
	}
	w.right(from, numberWidth)
}

// time writes the time of p in the format of Options.Times.
func (w *Writer) time(p *trace.Packet) { w.instant(p.Time) }

// instant writes t in the format of Options.Times. Relative is in seconds since the first packet.
func (w *Writer) instant(t time.Time) {
	if w.o.Times != Relative {
		w.otherTime(t)
		return
	}
	from := len(w.b)
	d := t.Sub(w.begin)
	if d < 0 { // possible in captures of several interfaces
		w.b = append(w.b, '-')
		d = -max(d, -math.MaxInt64)
	}
	w.b = strconv.AppendInt(w.b, int64(d/time.Second), 10)
	w.b = append(w.b, '.')
	micros := int(d % time.Second / time.Microsecond)
	for unit := 100000; unit > 0; unit /= 10 {
		w.b = append(w.b, byte('0'+micros/unit%10))
	}
	w.right(from, timeWidth)
}

// right moves the text since offset from to the right edge of a column that is width wide.
func (w *Writer) right(from, width int) {
	n := width - (len(w.b) - from)
	if n <= 0 {
		return
	}
	text := len(w.b) - from
	for range n {
		w.b = append(w.b, ' ')
	}
	copy(w.b[from+n:], w.b[from:from+text])
	for i := range n {
		w.b[from+i] = ' '
	}
}

func (w *Writer) addresses(p *trace.Packet) {
	from := len(w.b)
	w.b = fabric.AppendAddr(w.b, p.Src.Addr())
	w.s(arrow)
	w.b = fabric.AppendAddr(w.b, p.Dst.Addr())
	used := len(w.b) - from
	w.ends = max(w.ends, used)
	for range w.ends - used {
		w.b = append(w.b, ' ')
	}
}

// qpAndPSN writes the destination queue pair and the PSN, which the meaning may not contain.
func (w *Writer) qpAndPSN(p *trace.Packet) {
	w.s("QP ")
	w.qpn(p.BTH.DestQP)
	w.s("  PSN ")
	from := len(w.b)
	w.u(uint64(p.BTH.PSN))
	w.right(from, len("16777215"))
	w.s("  ")
}

func (w *Writer) u(v uint64) { w.b = strconv.AppendUint(w.b, v, 10) }

func (w *Writer) hex(v uint64, digits int) {
	const alphabet = "0123456789abcdef"
	w.s("0x")
	for i := digits - 1; i >= 0; i-- {
		w.b = append(w.b, alphabet[v>>(4*i)&15])
	}
}

func (w *Writer) qpn(q bth.QPN) { w.hex(uint64(q), 6) }

// summary writes the header fields of a packet.
func (w *Writer) summary(p *trace.Packet) {
	b := &p.BTH
	info := b.Opcode.Info()
	w.s(info.Name)
	if !info.Valid || b.Version != 0 || len(p.Bytes) < info.HeaderLen {
		return
	}
	w.headers(b, info.Headers)
	if p.MAD != nil {
		w.mad(p.MAD)
	} else if n := p.Len - info.HeaderLen - bth.ICRCLen - int(b.Pad); n > 0 {
		w.s("  ")
		w.u(uint64(n))
		w.s(" bytes")
	}
	if b.Solicited {
		w.s("  SE")
	}
	if b.AckReq {
		w.s("  AckReq")
	}
}

func (w *Writer) headers(b *bth.Packet, h bth.Headers) {
	if h&bth.HasDETH != 0 {
		w.s("  from QP ")
		w.qpn(b.DETH.SrcQP)
		w.s(" Q_Key ")
		w.hex(uint64(b.DETH.QKey), 8)
	}
	if h&bth.HasRETH != 0 {
		w.memory(b.RETH.VA, b.RETH.RKey)
		w.s(" length ")
		w.u(uint64(b.RETH.DMALen))
	}
	if h&bth.HasAtomicETH != 0 {
		w.memory(b.AtomicETH.VA, b.AtomicETH.RKey)
		if b.Opcode == bth.RCCmpSwap {
			w.s(" compare ")
			w.u(b.AtomicETH.Compare)
			w.s(" swap ")
		} else {
			w.s(" add ")
		}
		w.u(b.AtomicETH.SwapAdd)
	}
	if h&bth.HasAETH != 0 {
		w.s("  ")
		w.s(b.AETH.Syndrome.String())
		w.s(", MSN ")
		w.u(uint64(b.AETH.MSN))
	}
	if h&bth.HasAtomicAckETH != 0 {
		w.s("  original ")
		w.u(b.AtomicAck)
	}
	if h&bth.HasImmDt != 0 {
		w.s("  immediate ")
		w.hex(uint64(b.Imm), 8)
	}
	if h&bth.HasIETH != 0 {
		w.s("  invalidates R_Key ")
		w.hex(uint64(b.InvalidateRKey), 8)
	}
}

func (w *Writer) memory(va uint64, key uint32) {
	w.s("  VA ")
	w.hex(va, 16)
	w.s(" R_Key ")
	w.hex(uint64(key), 8)
}

// mad writes the attribute and main fields of a CM message.
func (w *Writer) mad(m *mad.Message) {
	w.s("  CM ")
	w.s(m.Attribute.String())
	switch m.Attribute {
	case mad.AttrREQ:
		w.s(" to ")
		w.s(trace.ServiceName(m.REQ.ServiceID))
		w.s(" for QP ")
		w.qpn(m.REQ.LocalQPN)
	case mad.AttrREP:
		w.s(" for QP ")
		w.qpn(m.REP.LocalQPN)
	case mad.AttrREJ:
		w.s(": ")
		w.s(m.REJ.Reason.String())
	case mad.AttrSIDRREQ:
		w.s(" to ")
		w.s(trace.ServiceName(m.SIDRREQ.ServiceID))
	case mad.AttrSIDRREP:
		w.s(": ")
		w.s(m.SIDRREP.Status.String())
	}
}

// faults writes what is wrong with the packet itself.
func (w *Writer) faults(p *trace.Packet) {
	if len(p.Bytes) < p.Len {
		w.start(dim)
		w.s("  [")
		w.u(uint64(len(p.Bytes)))
		w.s(" of ")
		w.u(uint64(p.Len))
		w.s(" bytes captured]")
		w.stop()
	}
	if p.ICRC.Verdict == trace.Wrong || p.ICRC.Verdict == trace.RightAsRxe {
		w.start(red)
		w.s("  [ICRC ")
		w.s(p.ICRC.Verdict.String())
		w.s("]")
		w.stop()
	}
	if p.LRH != nil && p.LRH.VCRC.Wrong() {
		w.start(red)
		w.s("  [VCRC wrong]")
		w.stop()
	}
	if p.Err == nil {
		return
	}
	// The meaning may contain the error.
	if text := p.Err.Error(); p.Doubtful ||
		!strings.Contains(p.Meaning, text) && !strings.Contains(p.Meaning, trimmed(text)) {
		w.start(red)
		w.s("  [")
		w.plain(trimmed(text))
		w.s("]")
		w.stop()
	}
}

// findings writes one line for each warning and error, and with Options.Fields for each info. It
// omits wrong ICRCs and malformed packets, which line has written already.
func (w *Writer) findings(p *trace.Packet) {
	for i := range p.Findings {
		f := &p.Findings[i]
		if f.Level == trace.Info && !w.o.Fields || f.Kind == trace.WrongICRC || f.Kind == trace.Malformed {
			continue
		}
		for range numberWidth + 2 {
			w.b = append(w.b, ' ')
		}
		w.start([...]colour{dim, yellow, red}[min(f.Level, trace.Error)])
		w.s(f.Level.String())
		w.s(": ")
		w.plain(f.Text)
		w.stop()
		w.b = append(w.b, '\n')
	}
}
