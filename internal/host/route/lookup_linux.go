package route

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// rocePort is the UDP destination port of RoCEv2. Routing rules may match it.
const rocePort = 4791

func (h *host) lookup(q query) (answer, error) {
	msg := &nl.RtMsg{RtMsg: unix.RtMsg{Family: unix.AF_INET, Dst_len: uint8(q.dst.BitLen())}}
	if q.dst.Is6() {
		msg.Family = unix.AF_INET6
	}
	parts := []nl.NetlinkRequestData{msg,
		nl.NewRtAttr(unix.RTA_DST, q.dst.AsSlice()),
		nl.NewRtAttr(unix.RTA_IP_PROTO, nl.Uint8Attr(unix.IPPROTO_UDP)),
		nl.NewRtAttr(unix.RTA_DPORT, nl.BEUint16Attr(rocePort)),
	}
	if q.src.IsValid() {
		msg.Src_len = uint8(q.src.BitLen())
		parts = append(parts, nl.NewRtAttr(unix.RTA_SRC, q.src.AsSlice()))
	}
	if q.index != 0 {
		parts = append(parts, nl.NewRtAttr(unix.RTA_OIF, nl.Uint32Attr(uint32(q.index))))
	}
	m, err := h.ask(unix.RTM_GETROUTE, unix.RTM_NEWROUTE, parts...)
	if err != nil {
		return answer{}, lookupError(err)
	}
	a, err := parseRoute(m, q.dst)
	if err == nil && a.mtu > 0 && a.expires {
		a.mtu = h.configuredMTU(q.dst, msg, parts)
	}
	return a, err
}

// configuredMTU returns the MTU in the routing table entry, 0 if it has none. It excludes the path
// MTU that the kernel has learned from ICMP. Any host can send an ICMP message that claims a path
// MTU of 552 bytes (RFC 5927, section 7), and the kernel believes the message if it quotes the
// addresses and port 4791, which are known.
func (h *host) configuredMTU(dst netip.Addr, msg *nl.RtMsg, parts []nl.NetlinkRequestData) int {
	msg.Flags |= unix.RTM_F_FIB_MATCH
	m, err := h.ask(unix.RTM_GETROUTE, unix.RTM_NEWROUTE, parts...)
	if err != nil {
		return 0
	}
	// An error is about the type of the route, which the first query has already reported.
	a, _ := parseRoute(m, dst)
	return a.mtu
}

// lookupError translates the error of RTM_GETROUTE when there is no route.
func lookupError(err error) error {
	e := &UnreachableError{Kind: Refused, Err: err}
	switch {
	case errors.Is(err, unix.ENETUNREACH):
		e.Kind = NoRoute
	case errors.Is(err, unix.EHOSTUNREACH):
		e.Kind = Unreachable
	case errors.Is(err, unix.EACCES):
		e.Kind = Prohibit
	case errors.Is(err, unix.EINVAL):
		e.Kind = Blackhole
	}
	return e
}

func parseRoute(m []byte, dst netip.Addr) (answer, error) {
	var a answer
	err := attributes(m, unix.SizeofRtMsg, func(typ uint16, value []byte) {
		switch typ {
		case unix.RTA_PREFSRC:
			a.src, _ = netip.AddrFromSlice(value)
		case unix.RTA_GATEWAY:
			a.gateway, _ = netip.AddrFromSlice(value)
		// a gateway of another address family; this attribute precedes RTA_GATEWAY
		case unix.RTA_VIA:
			if len(value) > 2 {
				a.gateway, _ = netip.AddrFromSlice(value[2:])
			}
		case unix.RTA_OIF:
			a.index = number(value)
		case unix.RTA_CACHEINFO:
			const expiresAt = 8 // offset in struct rta_cacheinfo
			a.expires = len(value) > expiresAt && number(value[expiresAt:]) != 0
		case unix.RTA_METRICS:
			_ = attributes(value, 0, func(metric uint16, value []byte) {
				switch metric {
				case unix.RTAX_MTU:
					a.mtu = number(value)
				case unix.RTAX_HOPLIMIT:
					a.hopLimit = uint8(number(value))
				}
			})
		}
	})
	if err != nil {
		return answer{}, fmt.Errorf("the kernel's route to %v: %w", dst, err)
	}
	return a, a.classify(nl.DeserializeRtMsg(m).Type, dst)
}

func (a *answer) classify(typ uint8, dst netip.Addr) error {
	kind := Refused
	switch {
	case dst.IsMulticast(): // older kernels report an IPv6 group as unicast
		a.typ = Multicast
		return nil
	case typ == unix.RTN_UNICAST:
		return nil
	case typ == unix.RTN_LOCAL:
		a.typ = Local
		return nil
	case typ == unix.RTN_BROADCAST:
		kind = Broadcast
	case typ == unix.RTN_ANYCAST:
		kind = Anycast
	case typ == unix.RTN_BLACKHOLE:
		kind = Blackhole
	case typ == unix.RTN_PROHIBIT:
		kind = Prohibit
	case typ == unix.RTN_UNREACHABLE:
		kind = Unreachable
	}
	return &UnreachableError{Kind: kind, Err: fmt.Errorf("a route of type %d", typ)}
}

// hopLimit4 returns net.ipv4.ip_default_ttl of the network namespace, as a socket reports it.
func (*host) hopLimit4() uint8 {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	ttl, err := unix.GetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TTL)
	if err != nil {
		return 0
	}
	return uint8(ttl)
}
