package mad

import "fmt"

// ServiceID identifies the service that a REQ or a SIDR_REQ is for.
type ServiceID uint64

// PortSpace is the port space of a port of rdma_cm (RDMA_PS_TCP and RDMA_PS_UDP in Linux). Its
// low byte is the IP protocol number.
type PortSpace uint16

const (
	PortSpaceTCP PortSpace = 0x0106 // connections, by REQ
	PortSpaceUDP PortSpace = 0x0111 // datagrams, by SIDR_REQ
)

// String returns "TCP" or "UDP", or the number.
func (ps PortSpace) String() string {
	switch ps {
	case PortSpaceTCP:
		return "TCP"
	case PortSpaceUDP:
		return "UDP"
	}
	return fmt.Sprintf("port space 0x%04x", uint16(ps))
}

// IPServiceID returns the service ID of a port of rdma_cm (IBA annex A11).
func IPServiceID(ps PortSpace, port uint16) ServiceID {
	return ServiceID(ps)<<16 | ServiceID(port)
}

// IP returns the port that the service ID represents; ok is false if the service ID is not in the
// TCP or UDP port space.
func (s ServiceID) IP() (ps PortSpace, port uint16, ok bool) {
	switch s >> 16 {
	case ServiceID(PortSpaceTCP), ServiceID(PortSpaceUDP):
		return PortSpace(s >> 16), uint16(s), true
	}
	return 0, 0, false
}

// String returns the port, such as "TCP port 7174", or the number.
func (s ServiceID) String() string {
	if ps, port, ok := s.IP(); ok {
		return fmt.Sprintf("%s port %d", ps, port)
	}
	return fmt.Sprintf("0x%016x", uint64(s))
}

// Connects reports whether clients connect to the service by REQ. It is false in the UDP port
// space, where SIDR_REQs are used.
func (s ServiceID) Connects() bool {
	ps, _, ok := s.IP()
	return !ok || ps != PortSpaceUDP
}
