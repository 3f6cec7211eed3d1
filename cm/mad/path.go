package mad

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/qp"
)

// Path is a path between two ports as a REQ describes it. Local fields are those of the sender of
// the REQ. On RoCE the GIDs, the flow label, the traffic class and the hop limit are those of the
// IP header, and Linux does not check the LIDs, the rate, the SL and SubnetLocal.
type Path struct {
	LocalLID, RemoteLID uint16 // InfiniBand only; on RoCE Linux sends 0xffff with a hop limit above 1
	LocalGID, RemoteGID qp.GID
	FlowLabel           uint32 // 20 bits
	PacketRate          uint8  // 6 bits
	TrafficClass        uint8
	HopLimit            uint8
	SL                  uint8 // 4 bits
	SubnetLocal         bool
	LocalACKTimeout     Timeout // for the receiver's queue pair; 0: no timeout
}

// IsZero reports whether the path is absent, as the alternate path is in most REQs. Linux checks
// only whether the local LID is 0.
func (p *Path) IsZero() bool { return *p == Path{} }

// FlowLabel returns the flow label that Linux rdma_cm computes from the source and destination port
// of a connection, so that connections are distributed over the paths of a network. A program that
// uses IPv6 may choose another one.
func FlowLabel(source, destination uint16) uint32 {
	return (uint32(source)*31 + uint32(destination)) & maxFlowLabel
}

const (
	pathLen      = 44
	maxFlowLabel = 1<<20 - 1
)

func (p *Path) decode(b *[pathLen]byte) {
	be := binary.BigEndian
	p.LocalLID, p.RemoteLID = be.Uint16(b[0:]), be.Uint16(b[2:])
	p.LocalGID, p.RemoteGID = qp.GID(b[4:20]), qp.GID(b[20:36])
	p.FlowLabel = be.Uint32(b[36:]) >> 12
	p.PacketRate = b[39] & 0x3f
	p.TrafficClass = b[40]
	p.HopLimit = b[41]
	p.SL = b[42] >> 4
	p.SubnetLocal = b[42]&8 != 0
	p.LocalACKTimeout = Timeout(b[43] >> 3)
}

func (p *Path) encode(e *encoder, at int) {
	e.u16(at, p.LocalLID)
	e.u16(at+2, p.RemoteLID)
	copy(e.data[at+4:], p.LocalGID[:])
	copy(e.data[at+20:], p.RemoteGID[:])
	if e.fits("FlowLabel", uint64(p.FlowLabel), maxFlowLabel) {
		e.u32(at+36, p.FlowLabel<<12)
	}
	e.bits(at+39, 0, 6, "PacketRate", p.PacketRate)
	e.u8(at+40, p.TrafficClass)
	e.u8(at+41, p.HopLimit)
	e.bits(at+42, 4, 4, "SL", p.SL)
	e.flag(at+42, 3, p.SubnetLocal)
	e.bits(at+43, 3, 5, "LocalACKTimeout", uint8(p.LocalACKTimeout))
}
