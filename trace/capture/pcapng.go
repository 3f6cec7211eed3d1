package capture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strings"
	"time"
	"unicode/utf8"
)

// Block types of pcapng, and the minimum length of their bodies.
const (
	blockSection   = 0x0a0d0d0a
	blockInterface = 1
	blockPacket    = 2 // obsolete
	blockSimple    = 3
	blockEnhanced  = 6

	sectionLen   = 16
	interfaceLen = 8
	packetLen    = 20 // of both packet blocks
	simpleLen    = 4

	byteOrderMagic = 0x1a2b3c4d
	blockOverhead  = 12 // type, length, repeated length

	maxInterfaces = 1 << 16
	maxComments   = 1024 // per frame: a block has space for 250,000; gorxe's traces have a few per packet
)

// Codes of the options that are read.
const (
	optEnd         = 0
	optComment     = 1
	optName        = 2  // of an interface
	optResolution  = 9  // of the timestamps of an interface
	optOffset      = 14 // of the timestamps of an interface, in seconds
	optPacketFlags = 2  // of a packet; each type of block numbers its options
)

// pcapng is the pcapng format, sections of blocks: draft-ietf-opsawg-pcapng.
type pcapng struct {
	src     *source
	order   order
	section bool // a section has begun
	ifaces  []interfaceBlock
}

// interfaceBlock describes a capture interface of the current section.
type interfaceBlock struct {
	id        int // from 1
	link      LinkType
	snap      uint32 // maximum length of captured frames in bytes; 0: no limit
	name      string
	perSecond uint64 // timestamp units
	offset    int64  // added to timestamps, in seconds
}

func (p *pcapng) next(f *Frame) (at int64, err error) {
	for {
		at = p.src.at
		kind, body, err := p.block()
		if err != nil {
			return at, err
		}
		switch kind {
		case blockSection:
			err = p.begin(body)
		case blockInterface:
			err = p.addInterface(body)
		case blockEnhanced, blockPacket:
			return at, p.packet(f, kind, body)
		case blockSimple:
			return at, p.simple(f, body)
		}
		if err != nil {
			return at, err
		}
	}
}

// block reads a block and returns its type and body. body is empty for types that are not needed.
func (p *pcapng) block() (kind uint32, body []byte, err error) {
	b, err := p.src.take(8)
	if err == io.EOF {
		return 0, nil, err
	}
	if err != nil {
		return 0, nil, incomplete("the header of a block", len(b), 8, err)
	}
	if binary.BigEndian.Uint32(b) == blockSection {
		if err := p.takeOrder(); err != nil {
			return 0, nil, err
		}
	}
	kind = p.order.u32(b)
	length := p.order.u32(b[4:])
	if length < blockOverhead || length%4 != 0 {
		return 0, nil, fmt.Errorf("block of type %#x with invalid length %d: damaged file", kind, length)
	}
	end := int(length) - blockOverhead
	switch kind {
	case blockSection, blockInterface, blockEnhanced, blockPacket, blockSimple:
		if length > bufferLen {
			return 0, nil, fmt.Errorf("a block of type %#x has %d bytes, more than %d: the file is damaged here", kind,
				length, bufferLen)
		}
	default:
		if err := p.src.skip(int64(end)); err != nil {
			return 0, nil, incomplete(fmt.Sprintf("a block of type %#x", kind), 0, int(length), err)
		}
		end = 0
	}
	b, err = p.src.take(end + 4)
	if err != nil {
		return 0, nil, incomplete(fmt.Sprintf("a block of type %#x", kind), len(b)+8, int(length), err)
	}
	if again := p.order.u32(b[end:]); again != length {
		return 0, nil, fmt.Errorf(
			"a block of type %#x says %d bytes at its beginning and %d at its end: the file is damaged here", kind,
			length, again)
	}
	return kind, b[:end], nil
}

// takeOrder sets the byte order from the header of a section, without consuming the header.
func (p *pcapng) takeOrder() error {
	b, err := p.src.r.Peek(12)
	if len(b) < 12 {
		return incomplete("the header of a section", len(b), 12, err)
	}
	switch uint32(byteOrderMagic) {
	case binary.BigEndian.Uint32(b[8:]):
		p.order = bigEndian
	case binary.LittleEndian.Uint32(b[8:]):
		p.order = !bigEndian
	default:
		return fmt.Errorf("the header of a section has %x in the place of its byte order: the file is damaged here",
			b[8:12])
	}
	return nil
}

// begin begins a section; b is the body of its header block.
func (p *pcapng) begin(b []byte) error {
	if len(b) < sectionLen {
		return tooShort("the header of a section", len(b), sectionLen)
	}
	if v := p.order.u16(b[4:]); v != 1 {
		return fmt.Errorf("a section of pcapng version %d.%d: only version 1 is known", v, p.order.u16(b[6:]))
	}
	p.section, p.ifaces = true, p.ifaces[:0]
	return nil
}

// addInterface adds the interface that an interface description block with body b describes.
func (p *pcapng) addInterface(b []byte) error {
	if len(b) < interfaceLen {
		return tooShort("the description of an interface", len(b), interfaceLen)
	}
	if len(p.ifaces) == maxInterfaces {
		return fmt.Errorf("a section has more than %d interfaces", maxInterfaces)
	}
	i := interfaceBlock{id: len(p.ifaces) + 1, link: LinkType(p.order.u16(b)), snap: p.order.u32(b[4:]), perSecond: 1e6}
	bad := error(nil)
	err := p.options(b[interfaceLen:], func(code uint16, v []byte) {
		switch {
		case code == optName:
			i.name = text(v[:min(len(v), maxName)])
		case code == optOffset && len(v) == 8:
			i.offset = int64(p.order.u64(v))
		case code == optResolution && len(v) == 1:
			if i.perSecond = unitsPerSecond(v[0]); i.perSecond == 0 {
				bad = fmt.Errorf(
					"interface %d has timestamps of resolution %#02x, finer than any clock: the file is damaged here",
					len(p.ifaces), v[0])
			}
		}
	})
	p.ifaces = append(p.ifaces, i)
	if err == nil {
		err = bad
	}
	return err
}

// unitsPerSecond decodes if_tsresol: a negative power of 10, or of 2 if the highest bit is set.
// It returns 0 if the result does not fit into 64 bits.
func unitsPerSecond(resolution byte) uint64 {
	if exponent := resolution & 0x7f; resolution&0x80 != 0 {
		if exponent > 63 {
			return 0
		}
		return 1 << exponent
	}
	if resolution > 19 {
		return 0
	}
	units := uint64(1)
	for range resolution {
		units *= 10
	}
	return units
}

// options calls show for each option in b, up to the end-of-options mark.
func (p *pcapng) options(b []byte, show func(code uint16, value []byte)) error {
	for len(b) >= 4 {
		code, n := p.order.u16(b), int(p.order.u16(b[2:]))
		if code == optEnd {
			return nil
		}
		b = b[4:]
		if n > len(b) {
			return fmt.Errorf("option %d of a block has %d bytes, where %d are left: the file is damaged here",
				code, n, len(b))
		}
		show(code, b[:n])
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil
}

// packet reads an enhanced packet block, or an obsolete packet block, whose interface ID has 16
// bits.
func (p *pcapng) packet(f *Frame, kind uint32, b []byte) error {
	if len(b) < packetLen {
		return tooShort("a frame", len(b), packetLen)
	}
	index := p.order.u32(b)
	if kind == blockPacket {
		index = uint32(p.order.u16(b))
	}
	i, err := p.iface(index)
	if err != nil {
		return err
	}
	captured := p.order.u32(b[12:])
	if captured > maxFrame {
		return tooLong(captured)
	}
	if int(captured) > len(b)-packetLen {
		return fmt.Errorf(
			"%d bytes of the frame are said to be captured, and its block has room for %d: the file is damaged here",
			captured, len(b)-packetLen)
	}
	f.Data = b[packetLen:][:captured]
	f.Time = i.time(uint64(p.order.u32(b[4:]))<<32 | uint64(p.order.u32(b[8:])))
	f.Length = max(int(min(p.order.u32(b[16:]), 1<<30)), len(f.Data))
	f.Link, f.Interface, f.InterfaceID, f.Direction, f.Comments = i.link, i.name, i.id, Unknown, nil
	rest := b[packetLen:][min(len(b)-packetLen, int(captured+3)&^3):]
	if len(rest) == 0 {
		return nil
	}
	comments := 0
	err = p.options(rest, func(code uint16, v []byte) {
		switch {
		case code == optComment:
			if comments++; comments < maxComments {
				f.Comments = append(f.Comments, text(v))
			}
		case code == optPacketFlags && len(v) == 4:
			f.Direction = [...]Direction{Unknown, Inbound, Outbound, Unknown}[p.order.u32(v)&3]
		}
	})
	if n := comments - len(f.Comments); n > 0 {
		f.Comments = append(f.Comments, fmt.Sprintf("%d further comments on this frame omitted by gorxe", n))
	}
	return err
}

// simple reads a simple packet block, which has no time and always belongs to the first
// interface.
func (p *pcapng) simple(f *Frame, b []byte) error {
	if len(b) < simpleLen {
		return tooShort("a frame", len(b), simpleLen)
	}
	i, err := p.iface(0)
	if err != nil {
		return err
	}
	length := p.order.u32(b)
	captured := min(length, uint32(len(b)-simpleLen))
	if i.snap != 0 {
		captured = min(captured, i.snap)
	}
	if captured > maxFrame {
		return tooLong(captured)
	}
	f.Data, f.Time = b[simpleLen:][:captured], time.Time{}
	f.Length = max(int(min(length, 1<<30)), len(f.Data))
	f.Link, f.Interface, f.InterfaceID, f.Direction, f.Comments = i.link, i.name, i.id, Unknown, nil
	return nil
}

func (p *pcapng) iface(index uint32) (*interfaceBlock, error) {
	if int64(index) >= int64(len(p.ifaces)) {
		return nil, fmt.Errorf(
			"the frame is of interface %d, and its section has described %d: the file is damaged here", index,
			len(p.ifaces))
	}
	return &p.ifaces[index], nil
}

// maxSeconds is the latest frame time: nanoseconds since 1970 must fit into 63 bits.
const maxSeconds = math.MaxInt64/int64(time.Second) - 1

// time returns the time of a frame, or the zero time if it is before 1970 or after 2262: such
// times are not real, and their differences may not fit into a [time.Duration].
func (i *interfaceBlock) time(ts uint64) time.Time {
	seconds, rest := ts/i.perSecond, ts%i.perSecond
	hi, lo := bits.Mul64(rest, 1e9)
	nanos, _ := bits.Div64(hi, lo, i.perSecond)
	at := int64(min(seconds, 1<<41)) + min(max(i.offset, -1<<40), 1<<40)
	if at < 0 || at > maxSeconds {
		return time.Time{}
	}
	return time.Unix(at, int64(nanos)).UTC()
}

func tooShort(what string, got, want int) error {
	return fmt.Errorf("the block of %s has a body of %d bytes, and needs %d: the file is damaged here", what, got, want)
}

// maxName limits the bytes of an interface name: Linux names have up to 15, and a file may have
// 65,536 interfaces.
const maxName = 256

// text returns the value of a text option as valid UTF-8.
func text(v []byte) string {
	v = bytes.TrimRight(v, "\x00")
	if utf8.Valid(v) {
		return string(v)
	}
	return strings.ToValidUTF8(string(v), "\ufffd")
}
