package trace

import (
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/iwarp"
	"github.com/gorxe/gorxe/trace/tunnel"
)

// Decoder finds the RoCE and InfiniBand packets in frames. The zero value is ready to use. In
// steady state it allocates only for packets that cannot be decoded.
type Decoder struct {
	Counts Counts

	// Foreign receives the packets of other fabric protocols; nil only counts them. The Foreign is
	// valid until it returns.
	Foreign func(*Foreign)

	datagram datagram
	splitter splitter
	packet   Packet
	mad      mad.Message
	outer    [tunnel.MaxDepth]tunnel.Layer
	lrh      fabric.LRH
	grh      fabric.GRH
	seeder   fabric.Seeder
	foreign  Foreign
	iwarp    iwarp.Tracker
	names    fabric.Counter
}

// Decode calls show for each RoCE or InfiniBand packet of f, in order, also in tunnels. The Packet
// is valid until show returns; the data that it points to is valid until the next frame.
//
// RoCEv2 packets are UDP datagrams to port 4791. Other programs may use that port: if neither the
// ICRC nor the headers are valid, the packet has Err and Doubtful set.
func (d *Decoder) Decode(f *capture.Frame, show func(*Packet)) {
	d.Counts.Frames++
	at, dir, v := tunnel.OfFrame(f)
	if f.Direction != capture.Unknown {
		dir = f.Direction
	}
	skip := skipOf(v)
	switch v {
	case tunnel.Inside:
		skip = d.packets(f, dir, at, show)
	case tunnel.Unsupported:
		d.names.Add(fabric.ID{Space: fabric.LinkType, Number: uint32(f.Link)})
	case tunnel.Plain:
		d.names.Add(fabric.ID{Space: fabric.NoIP})
	}
	if skip != taken {
		d.Counts.Skipped[skip]++
	}
}

// packets shows the packets at the place at, behind the link header. It returns taken, or the
// reason why there are none.
func (d *Decoder) packets(f *capture.Frame, dir capture.Direction, at tunnel.Place, show func(*Packet)) Skip {
	skip := SkipNotIP
	if at.Type == tunnel.TypeIPv4 || at.Type == tunnel.TypeIPv6 {
		skip = d.datagram.parse(at.Data, at.Wire)
	}
	switch skip {
	case taken:
		d.roce2(f, dir, nil, show)
	case SkipOther, SkipNotIP:
		return d.inside(f, dir, at, skip, show)
	}
	return skip
}

// roce2 shows the packets of d.datagram.
func (d *Decoder) roce2(f *capture.Frame, dir capture.Direction, outer []tunnel.Layer, show func(*Packet)) {
	p, g := &d.packet, &d.datagram
	// Faster than a composite literal, which is built and then copied.
	*p = Packet{}
	p.Frame, p.Number, p.Part, p.Parts, p.Time, p.Direction = f, f.Number, 1, 1, f.Time, dir
	p.Comments, p.Src, p.Dst, p.IP, p.Len, p.Bytes = f.Comments, g.src, g.dst, g.ip, g.n, g.payload
	p.Outer = outer
	if g.fault != nil {
		d.broken(p, g.fault)
		d.finish(p, show)
	} else {
		d.parts(f, g, p, show)
	}
}

// parts shows the packets of a datagram with valid IP and UDP headers.
func (d *Decoder) parts(f *capture.Frame, g *datagram, p *Packet, show func(*Packet)) {
	if len(g.payload) == g.n {
		p.ICRC = g.icrc(0, g.payload)
	}
	size := d.splitter.size(g, p.ICRC)
	switch size {
	case g.n:
		d.single(p)
		d.finish(p, show)
		return
	case 0:
		p.ICRC = ICRC{}
		d.broken(p, fmt.Errorf(
			"%d bytes exceed the maximum packet length, and neither ICRCs nor headers show packet boundaries", g.n))
		d.finish(p, show)
		return
	}
	d.Counts.Merged++
	common := *p
	common.Parts = (g.n + size - 1) / size
	for i := range common.Parts {
		begin := i * size
		end := min(begin+size, g.n)
		if begin+bth.BTHLen > len(g.payload) {
			d.Counts.Cut += uint64(common.Parts - i)
			break
		}
		*p = common
		p.Part, p.Len, p.Bytes = i+1, end-begin, g.payload[begin:min(end, len(g.payload))]
		p.ICRC = ICRC{}
		if p.IP.Version == 4 {
			p.IP.ID += uint16(i)
		}
		if len(p.Bytes) == p.Len {
			p.ICRC = g.icrc(i, p.Bytes)
		}
		d.single(p)
		d.finish(p, show)
	}
}

// finish counts p and shows it.
func (d *Decoder) finish(p *Packet, show func(*Packet)) {
	c := &d.Counts
	c.Packets++
	if len(p.Bytes) < p.Len {
		c.Cut++
	}
	if p.ICRC.Verdict == Wrong {
		c.Wrong++
	}
	if p.Err != nil {
		c.Failed++
	}
	if p.Doubtful {
		c.Doubt++
	}
	show(p)
}

// single decodes p.Bytes, a packet or the captured beginning of one.
func (d *Decoder) single(p *Packet) {
	if len(p.Bytes) < p.Len {
		d.cutShort(p)
		return
	}
	if why := p.BTH.Decode(p.Bytes); bth.ReasonOf(why) == bth.ReasonSyndrome {
		// The Analyzer shows it: all fields are decoded, only the meaning of one is not defined.
		p.BTH.Payload = p.Bytes[p.BTH.Opcode.Info().HeaderLen : len(p.Bytes)-bth.ICRCLen-int(p.BTH.Pad)]
	} else if why != nil {
		err := bth.Explain(p.Bytes)
		right := p.ICRC.Verdict == Right || p.ICRC.Verdict == RightAsRxe
		if p.Doubtful = p.Fabric == fabric.RoCEv2 && !right; p.Doubtful {
			err = fmt.Errorf("may not be RoCEv2: wrong ICRC, and %w", err)
		}
		p.Err = err
		return
	}
	d.management(p)
}

// management decodes a CM message. Queue pair 1 receives MADs of other classes, too; these are
// not decoded.
func (d *Decoder) management(p *Packet) {
	if p.BTH.DestQP != bth.GSI || p.BTH.Opcode.Info().Service != bth.ServiceUD {
		return
	}
	switch err := d.mad.Decode(p.BTH.Payload); {
	case err == nil:
		p.MAD = &d.mad
	case mad.ReasonOf(err) != mad.ReasonClass:
		p.Err = fmt.Errorf("message of the connection manager: %w", err)
	}
}

var errCutHeaders = errors.New("captured too short to decode the headers")

// cutShort decodes a packet that was not captured completely. It skips checks that need the
// missing bytes.
func (d *Decoder) cutShort(p *Packet) {
	err := p.BTH.Decode(p.Bytes)
	info := p.BTH.Opcode.Info()
	payload := p.Len - info.HeaderLen - bth.ICRCLen
	switch {
	case len(p.Bytes) < bth.BTHLen:
		p.Err = errCutHeaders
	case p.BTH.Version != 0 || !info.Valid:
		p.Err, p.Doubtful = fmt.Errorf("may not be RoCEv2: captured incompletely, and %w", err), true
		if p.Fabric != fabric.RoCEv2 {
			p.Err, p.Doubtful = fmt.Errorf("captured incompletely, and %w", err), false
		}
	case payload < int(p.BTH.Pad) || payload%4 != 0 || payload > bth.MaxPayload || payload > 0 && !info.Payload:
		p.Err = fmt.Errorf("%s with %d bytes after its headers, pad count %d", p.BTH.Opcode, payload, p.BTH.Pad)
		p.Doubtful = p.Fabric == fabric.RoCEv2
	case len(p.Bytes) < info.HeaderLen:
		p.Err = errCutHeaders
	default:
		end := min(len(p.Bytes), p.Len-bth.ICRCLen-int(p.BTH.Pad))
		p.BTH.Payload = p.Bytes[info.HeaderLen:end]
	}
}

// broken decodes as much as possible of a packet whose IP or UDP header is invalid.
func (d *Decoder) broken(p *Packet, why error) {
	_ = p.BTH.Decode(p.Bytes)
	p.BTH.Payload = nil
	p.Err = why
	p.Doubtful = p.Fabric == fabric.RoCEv2 && (len(p.Bytes) < bth.BTHLen || p.BTH.Version != 0 || !p.BTH.Opcode.Valid())
}

// Skip is the reason why a frame has no RoCE or InfiniBand packet.
type Skip uint8

const (
	SkipLinkType  Skip = iota // unsupported link type; see [capture.LinkType.Known]
	SkipNotIP                 // ARP, LLDP and others; see [Decoder.Protocols]
	SkipOther                 // TCP, ICMP, UDP to other ports; see [Decoder.Protocols]
	SkipForeign               // a packet of another fabric protocol, or a pause frame; see [Foreign]
	SkipFragment              // a fragment of an IP datagram other than the first, which has no UDP header
	SkipCut                   // captured too short to tell
	SkipMalformed             // ends within its headers, or has contradictory headers

	// NumSkips is the number of reasons.
	NumSkips = int(iota)

	// taken is no reason: network found a header, or parse a UDP datagram to port 4791.
	taken = Skip(NumSkips)
)

var skipNames = [NumSkips]string{
	SkipLinkType:  "with unsupported link type",
	SkipNotIP:     "not IP",
	SkipOther:     "of other IP protocols",
	SkipForeign:   "of other fabric protocols",
	SkipFragment:  "fragments of IP datagrams",
	SkipCut:       "captured too short to tell",
	SkipMalformed: "with broken headers",
}

// String returns the reason in a form that fits a count of frames, such as "not IP".
func (s Skip) String() string {
	if int(s) < NumSkips {
		return skipNames[s]
	}
	return "unknown"
}

// skipOf returns the reason for a verdict on the headers around a packet.
func skipOf(v tunnel.Verdict) Skip {
	switch v {
	case tunnel.Unsupported:
		return SkipLinkType
	case tunnel.Cut:
		return SkipCut
	case tunnel.Broken:
		return SkipMalformed
	case tunnel.Fragment:
		return SkipFragment
	}
	return SkipNotIP
}

// Named reports whether [Decoder.Protocols] has the frames with the reason s by protocol.
func (s Skip) Named() bool {
	return s == SkipOther || s == SkipNotIP || s == SkipForeign || s == SkipLinkType
}

// Protocols returns the protocols of the frames that have no Packet, most frequent first, and the
// number of their frames. Frames that are captured too short, broken, or fragments are not
// included.
func (d *Decoder) Protocols() []fabric.Count { return d.names.Counts() }

// Counts are the totals of a [Decoder].
type Counts struct {
	Frames  uint64
	Packets uint64 // RoCE and InfiniBand packets in them
	Merged  uint64 // frames with several packets
	Cut     uint64 // packets that were not captured completely
	Wrong   uint64 // packets with a wrong ICRC
	Doubt   uint64 // packets that may not be RoCEv2; see Packet.Doubtful
	Failed  uint64 // packets that could not be decoded, including those in doubt

	Skipped [NumSkips]uint64 // frames without a packet, by reason
}
