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

// Summary is what a check of a whole capture found.
type Summary struct {
	Frames    int      // captured frames of any kind
	Datagrams int      // UDP datagrams to the RoCEv2 port
	Packets   int      // RoCEv2 packets in them, each checked
	Merged    int      // datagrams that held more than one packet
	Bad       int      // packets that are wrong
	Faults    []string // the first of them, each with the number of its frame
	Cut       bool     // the capture ends within a frame

	// Opcodes are those of the packets that are right, by the address they came from.
	Opcodes map[netip.Addr]Opcodes `json:"-"`
}

const (
	maxFaults   = 10  // listed
	maxSearches = 100 // wrong packets after which the search for unlikely segment lengths is not worth its time
)

func (s *Summary) fault(n int, format string, args ...any) {
	if len(s.Faults) < maxFaults {
		s.Faults = append(s.Faults, fmt.Sprintf("frame %d: %s", s.Frames, fmt.Sprintf(format, args...)))
	}
	s.Bad += n
}

// Check reads a capture of Ethernet frames in pcap format and verifies the ICRC of every RoCEv2 packet. It fails when the
// stream is no such capture.
func Check(r io.Reader) (Summary, error) { return Observe(r, Observer{}) }

// Observer is shown what a check reads; nil is not called. It must not keep the bytes.
type Observer struct {
	Frame  func(about gopacket.CaptureInfo, frame []byte)
	Packet func(from netip.Addr, packet []byte) // one that is right, from the BTH to the ICRC
}

// Observe is Check that shows what it reads.
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
			v.Bad, v.Packets, v.Size, d.payload[0], uint32(d.payload[9])<<16|uint32(d.payload[10])<<8|uint32(d.payload[11]))
	}
}
