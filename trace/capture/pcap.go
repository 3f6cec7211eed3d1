package capture

import (
	"fmt"
	"io"
	"time"
)

const (
	pcapHeaderLen = 24
	pcapRecordLen = 16
)

// pcapMagic is a magic number of pcap and the format that it identifies.
type pcapMagic struct {
	magic [4]byte
	order order
	unit  time.Duration // unit of the second field of timestamps
}

var pcapMagics = []pcapMagic{
	{[4]byte{0xa1, 0xb2, 0xc3, 0xd4}, bigEndian, time.Microsecond},
	{[4]byte{0xd4, 0xc3, 0xb2, 0xa1}, !bigEndian, time.Microsecond},
	{[4]byte{0xa1, 0xb2, 0x3c, 0x4d}, bigEndian, time.Nanosecond},
	{[4]byte{0x4d, 0x3c, 0xb2, 0xa1}, !bigEndian, time.Nanosecond},
}

// pcap is the pcap format: one link type, and only time and lengths for each frame.
type pcap struct {
	src  *source
	kind pcapMagic
	link LinkType
}

func openPcap(src *source, m pcapMagic) (*pcap, error) {
	b, err := src.take(pcapHeaderLen)
	if err != nil {
		return nil, incomplete("the header", len(b), pcapHeaderLen, err)
	}
	if v := m.order.u16(b[4:]); v != 2 {
		return nil, fmt.Errorf("pcap of version %d.%d: 2.4 is the one in use", v, m.order.u16(b[6:]))
	}
	// The upper 16 bits report whether frames end with an FCS. The IP length excludes it anyway.
	return &pcap{src: src, kind: m, link: LinkType(m.order.u32(b[20:]))}, nil
}

func (p *pcap) next(f *Frame) (at int64, err error) {
	at = p.src.at
	b, err := p.src.take(pcapRecordLen)
	if err == io.EOF {
		return at, err
	}
	if err != nil {
		return at, incomplete("the header of a frame", len(b), pcapRecordLen, err)
	}
	o := p.kind.order
	seconds, rest := o.u32(b), o.u32(b[4:])
	captured, length := o.u32(b[8:]), o.u32(b[12:])
	if captured > maxFrame {
		return at, tooLong(captured)
	}
	f.Time = time.Unix(int64(seconds), int64(rest)*int64(p.kind.unit)).UTC()
	f.Link, f.Direction, f.Interface, f.InterfaceID, f.Comments = p.link, Unknown, "", 0, nil
	if f.Data, err = p.src.take(int(captured)); err != nil {
		return at, incomplete("a frame", len(f.Data), int(captured), err)
	}
	f.Length = max(int(min(length, 1<<30)), len(f.Data))
	return at, nil
}

func tooLong(captured uint32) error {
	return fmt.Errorf(
		"%d bytes of the frame are said to be captured, and no frame has more than %d: the file is damaged here",
		captured, maxFrame)
}
