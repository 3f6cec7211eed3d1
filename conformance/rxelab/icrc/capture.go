package icrc

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// Summary is the result of checking a whole capture.
type Summary struct {
	Frames    int      // number of captured frames
	Datagrams int      // number of UDP datagrams to the RoCEv2 port
	Packets   int      // number of RoCEv2 packets in them, each checked
	Merged    int      // number of datagrams with more than one packet
	Bad       int      // number of bad packets
	Faults    []string // the first bad packets, each with its frame number
	Cut       bool     // the capture ends within a frame

	// Opcodes are the opcodes of the valid packets, by source address.
	Opcodes map[netip.Addr]Opcodes `json:"-"`
}

const (
	maxFaults = 10 // maximum length of Faults
	// maxSearches is the number of bad packets after which unlikely segment lengths are no longer
	// tried.
	maxSearches = 100
)

func (s *Summary) fault(n int, format string, args ...any) {
	if len(s.Faults) < maxFaults {
		s.Faults = append(s.Faults, fmt.Sprintf("frame %d: %s", s.Frames, fmt.Sprintf(format, args...)))
	}
	s.Bad += n
}

// Check reads a capture of Ethernet frames in pcap format and verifies the ICRC of every RoCEv2
// packet. It returns an error if r is not such a capture.
func Check(r io.Reader) (Summary, error) { return Observe(r, Observer{}) }

// Observer has callbacks for the content of a capture; nil ones are skipped. They must not retain
// the bytes.
type Observer struct {
	Frame  func(about gopacket.CaptureInfo, frame []byte)
	Packet func(from netip.Addr, packet []byte) // called for each valid packet, from the BTH to the ICRC
}

// Observe is Check with callbacks.
func Observe(r io.Reader, o Observer) (Summary, error) {
	var s Summary
	p, err := pcapgo.NewReader(r)
	if err != nil {
		return s, fmt.Errorf("capture: %w", err)
	}
	if p.LinkType() != layers.LinkTypeEthernet {
		return s, fmt.Errorf("capture: link type %v, want Ethernet", p.LinkType())
	}
	for {
		frame, about, err := p.ReadPacketData()
		switch {
		case errors.Is(err, io.EOF):
			return s, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			s.Cut = true
			return s, nil
		case err != nil:
			return s, fmt.Errorf("capture: frame %d: %w", s.Frames+1, err)
		}
		s.Frames++
		if o.Frame != nil {
			o.Frame(about, frame)
		}
		s.add(frame, o.Packet)
	}
}

func (s *Summary) add(frame []byte, each func(netip.Addr, []byte)) {
	d, err := parse(frame)
	if errors.Is(err, ErrNotRoCE) {
		return
	}
	s.Datagrams++
	if err != nil {
		s.Packets++
		s.fault(1, "%v", err)
		return
	}
	v := d.check(s.Bad < maxSearches)
	s.Packets += v.Packets
	if v.Packets > 1 {
		s.Merged++
	}
	if v.Bad == 0 {
		s.noteOpcodes(d, v.Size)
		if each != nil {
			for p := range slices.Chunk(d.payload, v.Size) {
				each(d.source(), p)
			}
		}
	} else {
		s.fault(v.Bad, "%d of %d packets of %d bytes have a wrong ICRC (first opcode %#02x, PSN %#06x)",
			v.Bad, v.Packets, v.Size, d.payload[0],
			uint32(d.payload[9])<<16|uint32(d.payload[10])<<8|uint32(d.payload[11]))
	}
}
