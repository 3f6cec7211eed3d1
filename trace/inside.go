package trace

import (
	"encoding/binary"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/iwarp"
	"github.com/gorxe/gorxe/trace/tunnel"
)

// inside decodes what a frame contains that is no RoCEv2 packet at its outermost IP header: RoCEv2
// in tunnels, RoCEv1, InfiniBand and the protocols of [Foreign]. at is the place behind the link
// header and skip the reason why there is no RoCEv2 packet. It returns taken, or the reason why
// there is no packet in the tunnels either.
func (d *Decoder) inside(f *capture.Frame, dir capture.Direction, at tunnel.Place, skip Skip,
	show func(*Packet)) Skip {
	for depth := 0; ; depth++ {
		outer := d.outer[:depth:depth]
		switch at.Type {
		case tunnel.TypeRoCEv1:
			return d.roce1(f, dir, outer, at, show)
		case tunnel.TypeInfiniBand:
			return d.infiniBand(f, dir, at, show)
		case tunnel.TypeMACControl:
			return d.macControl(f, dir, outer, at)
		}
		if depth == len(d.outer) {
			d.names.Add(fabric.ID{Space: fabric.TooDeep})
			return skip
		}
		inner, v := tunnel.Peel(at, &d.outer[depth])
		switch v {
		case tunnel.Cut, tunnel.Broken, tunnel.Fragment:
			return skipOf(v)
		case tunnel.Plain:
			return d.unpacked(f, dir, outer, at, skip)
		}
		at = inner
		skip = SkipNotIP
		if at.Type == tunnel.TypeIPv4 || at.Type == tunnel.TypeIPv6 {
			skip = d.datagram.parse(at.Data, wireOf(at))
		}
		switch skip {
		case taken:
			d.roce2(f, dir, d.outer[:depth+1:depth+1], show)
			return taken
		case SkipOther, SkipNotIP:
		default:
			return skip
		}
	}
}

// wireOf returns the length on the wire of the IP datagram at p. If a tunnel may have truncated it,
// that is the length in its header.
func wireOf(p tunnel.Place) int {
	if !p.Truncated || len(p.Data) < 6 {
		return p.Wire
	}
	total := int(p.Data[2])<<8 | int(p.Data[3])
	if p.Data[0]>>4 == 6 {
		total = 40 + int(p.Data[4])<<8 + int(p.Data[5])
	}
	return max(p.Wire, total)
}

// unpacked names the protocol at p, which is in no further tunnel, and decodes those of [Foreign].
func (d *Decoder) unpacked(f *capture.Frame, dir capture.Direction, outer []tunnel.Layer, p tunnel.Place,
	skip Skip) Skip {
	if p.Type != tunnel.TypeIPv4 && p.Type != tunnel.TypeIPv6 {
		d.names.Add(fabric.OfEthernet(p))
		return skip
	}
	var h tunnel.IPHeader
	if tunnel.ParseIP(p, &h) == tunnel.Inside {
		switch h.Protocol {
		case tunnel.ProtoTCP:
			if d.tcp(f, dir, outer, &h) {
				return SkipForeign
			}
		case tunnel.ProtoUDP:
			if d.ultraEthernet(f, dir, outer, &h) {
				return SkipForeign
			}
		}
	}
	d.names.Add(fabric.OfIP(&h))
	return skip
}

// roce1 shows a RoCEv1 packet (IBA A16): a GRH, and the packet from BTH to ICRC.
func (d *Decoder) roce1(f *capture.Frame, dir capture.Direction, outer []tunnel.Layer, at tunnel.Place,
	show func(*Packet)) Skip {
	p := d.begin(f, dir, fabric.RoCEv1)
	p.Outer = outer
	return d.global(p, at, show)
}

// infiniBand shows an InfiniBand packet: LRH, optional GRH, the packet from BTH to ICRC, VCRC. Raw
// packets have no BTH.
func (d *Decoder) infiniBand(f *capture.Frame, dir capture.Direction, at tunnel.Place, show func(*Packet)) Skip {
	p := d.begin(f, dir, fabric.InfiniBand)
	rest, v := d.lrh.Parse(at)
	if v != tunnel.Inside {
		return skipOf(v)
	}
	l := &d.lrh
	p.LRH = l
	switch l.Next {
	case fabric.NextGRH:
		return d.global(p, rest, show)
	case fabric.NextBTH:
		p.Src, p.Dst = netip.AddrPortFrom(fabric.LIDAddr(l.SLID), 0), netip.AddrPortFrom(fabric.LIDAddr(l.DLID), 0)
		d.local(p, rest, d.seeder.Local(at.Data), show)
		return taken
	}
	d.names.Add(fabric.OfEthernet(at))
	return SkipNotIP
}

// begin returns d.packet, with what all packets of f have.
func (d *Decoder) begin(f *capture.Frame, dir capture.Direction, kind fabric.Kind) *Packet {
	p := &d.packet
	*p = Packet{Frame: f, Number: f.Number, Part: 1, Parts: 1, Time: f.Time, Direction: dir, Comments: f.Comments,
		Fabric: kind}
	return p
}

// global shows a packet that begins with a GRH.
func (d *Decoder) global(p *Packet, at tunnel.Place, show func(*Packet)) Skip {
	rest, v := d.grh.Parse(at)
	if v != tunnel.Inside {
		return skipOf(v)
	}
	g := &d.grh
	p.GRH = g
	p.IP = IP{Version: g.Version, TrafficClass: g.TrafficClass, HopLimit: g.HopLimit}
	p.Src, p.Dst = netip.AddrPortFrom(g.SGID, 0), netip.AddrPortFrom(g.DGID, 0)
	d.local(p, rest, d.seeder.Global(at.Data), show)
	return taken
}

// local decodes and shows the packet at at, from BTH to ICRC. seed is the running CRC of the headers
// before it.
func (d *Decoder) local(p *Packet, at tunnel.Place, seed uint32, show func(*Packet)) {
	p.Bytes, p.Len = at.Data, at.Wire
	if b := p.Bytes; len(b) == p.Len && len(b) >= bth.BTHLen+bth.ICRCLen {
		p.ICRC = ICRC{Verdict: Wrong, Wire: bth.ReadICRC(b), Want: bth.ICRC(seed, b[:len(b)-bth.ICRCLen])}
		if p.ICRC.Wire == p.ICRC.Want {
			p.ICRC.Verdict = Right
		}
	}
	d.single(p)
	d.finish(p, show)
}

// tell counts and shows a Foreign, of which set sets the contents.
func (d *Decoder) tell(f *capture.Frame, dir capture.Direction, outer []tunnel.Layer, p fabric.Protocol,
	set func(*Foreign)) {
	if d.Foreign == nil {
		return
	}
	d.foreign = Foreign{Frame: f, Number: f.Number, Time: f.Time, Direction: dir, Protocol: p, Outer: outer}
	set(&d.foreign)
	d.Foreign(&d.foreign)
}

// count counts a frame of another fabric protocol.
func (d *Decoder) count(p fabric.Protocol) {
	d.names.Add(fabric.ID{Space: fabric.Fabric, Number: uint32(p)})
}

// macControl shows a pause or PFC frame.
func (d *Decoder) macControl(f *capture.Frame, dir capture.Direction, outer []tunnel.Layer, at tunnel.Place) Skip {
	var p Pause
	if v := p.Parse(at); v != tunnel.Inside {
		if v == tunnel.Plain {
			d.names.Add(fabric.OfEthernet(at))
		}
		return skipOf(v)
	}
	kind := fabric.PauseFrame
	if p.PFC {
		kind = fabric.PFC
	}
	d.count(kind)
	d.tell(f, dir, outer, kind, func(o *Foreign) {
		if f.Link == capture.LinkEthernet && len(outer) == 0 {
			o.DstMAC, o.SrcMAC = [6]byte(f.Data), [6]byte(f.Data[6:])
		}
		o.Pause, o.Meaning = &p, p.String()
	})
	return SkipForeign
}

// ultraEthernet shows a UDP datagram to fabric.PortUET. It reports whether h is one.
func (d *Decoder) ultraEthernet(f *capture.Frame, dir capture.Direction, outer []tunnel.Layer, h *tunnel.IPHeader) bool {
	be := binary.BigEndian
	b := h.Payload.Data
	if len(b) < udpLen || be.Uint16(b[2:]) != fabric.PortUET {
		return false
	}
	n := min(max(int(be.Uint16(b[4:])), udpLen), max(h.Payload.Wire, udpLen)) - udpLen
	var u fabric.UET
	if !u.Parse(b[udpLen:min(len(b), udpLen+n)], n) {
		return false
	}
	d.count(fabric.UltraEthernet)
	d.tell(f, dir, outer, fabric.UltraEthernet, func(o *Foreign) {
		o.Src, o.Dst = netip.AddrPortFrom(h.Src, be.Uint16(b)), netip.AddrPortFrom(h.Dst, fabric.PortUET)
		o.UET = &u
		o.Meaning = u.String()
	})
	return true
}

const (
	tcpLen = 20

	tcpRST = 0x04
	tcpSYN = 0x02
)

// tcp shows the iWARP messages of a TCP segment. It reports whether the connection is iWARP.
func (d *Decoder) tcp(f *capture.Frame, dir capture.Direction, outer []tunnel.Layer, h *tunnel.IPHeader) bool {
	be := binary.BigEndian
	b := h.Payload.Data
	if len(b) < tcpLen || h.First {
		return false
	}
	header := int(b[12]>>4) * 4
	length := h.Payload.Wire - header
	if header < tcpLen || length < 0 || header > len(b) {
		return false
	}
	s := iwarp.Segment{
		Src: netip.AddrPortFrom(h.Src, be.Uint16(b)), Dst: netip.AddrPortFrom(h.Dst, be.Uint16(b[2:])),
		Seq: be.Uint32(b[4:]), SYN: b[13]&tcpSYN != 0, RST: b[13]&tcpRST != 0,
		Data: b[header:min(len(b), h.Payload.Wire)], Len: length,
	}
	if !d.iwarp.Segment(&s, func(m *iwarp.Message) {
		d.tell(f, dir, outer, fabric.IWARP, func(o *Foreign) {
			o.Src, o.Dst, o.MPA, o.Meaning = s.Src, s.Dst, m, m.String()
		})
	}) {
		return false
	}
	d.count(fabric.IWARP)
	return true
}
