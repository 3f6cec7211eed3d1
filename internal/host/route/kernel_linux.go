package route

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// host queries the kernel over rtnetlink(7). It is not safe for concurrent use.
type host struct {
	sockets map[int]*nl.SocketHandle
}

func open() (*host, error) {
	s, err := nl.Subscribe(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("opening a netlink socket: %w", err)
	}
	return &host{map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: s}}}, nil
}

func (h *host) close() {
	for _, s := range h.sockets {
		s.Close()
	}
}

// ask sends a query of type typ and returns its only answer, of type want, without the header.
func (h *host) ask(typ int, want uint16, parts ...nl.NetlinkRequestData) ([]byte, error) {
	req := nl.NewNetlinkRequest(typ, 0)
	req.Sockets = h.sockets
	for _, p := range parts {
		req.AddData(p)
	}
	answers, err := req.Execute(unix.NETLINK_ROUTE, want)
	if err != nil {
		return nil, err
	}
	if len(answers) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return answers[0], nil
}

// attributes calls each for each attribute of the answer m. The attributes follow a header of the
// given length in bytes.
func attributes(m []byte, header int, each func(typ uint16, value []byte)) error {
	if len(m) < header {
		return io.ErrUnexpectedEOF
	}
	list, err := nl.ParseRouteAttr(m[header:])
	for _, a := range list {
		each(a.Attr.Type&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER), a.Value)
	}
	return err
}

// number returns the 32-bit number in an attribute, 0 if the attribute is too short.
func number(value []byte) int {
	if len(value) < 4 {
		return 0
	}
	return int(binary.NativeEndian.Uint32(value))
}

func (h *host) link(name string, index int) (link, error) {
	const skipStats = 1 << 3 // RTEXT_FILTER_SKIP_STATS
	info := nl.NewIfInfomsg(unix.AF_UNSPEC)
	info.Index = int32(index)
	parts := []nl.NetlinkRequestData{info, nl.NewRtAttr(unix.IFLA_EXT_MASK, nl.Uint32Attr(skipStats))}
	if name != "" {
		parts = append(parts, nl.NewRtAttr(unix.IFLA_IFNAME, nl.ZeroTerminated(name)))
	}
	m, err := h.ask(unix.RTM_GETLINK, unix.RTM_NEWLINK, parts...)
	var l link
	if err == nil {
		l, err = parseLink(m)
	}
	switch {
	case err == nil:
		return l, nil
	case name == "":
		name = fmt.Sprintf("with index %d", index)
	}
	// ERANGE and EINVAL mean that the name is too long.
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ERANGE) || errors.Is(err, unix.EINVAL) {
		return link{}, fmt.Errorf("no network interface %s: %w", name, syscall.ENODEV)
	}
	return link{}, fmt.Errorf("network interface %s: %w", name, err)
}

func parseLink(m []byte) (link, error) {
	var l link
	err := attributes(m, unix.SizeofIfInfomsg, func(typ uint16, value []byte) {
		switch typ {
		case unix.IFLA_IFNAME:
			l.name = unix.ByteSliceToString(value)
		case unix.IFLA_ADDRESS:
			copy(l.mac[:], value)
		case unix.IFLA_MTU:
			l.mtu = number(value)
		case unix.IFLA_AF_SPEC:
			l.mtu6, l.hopLimit6 = ip6Conf(value)
		}
	})
	if err != nil {
		return link{}, err
	}
	info := nl.DeserializeIfInfomsg(m)
	l.index = int(info.Index)
	l.up = info.Flags&unix.IFF_UP != 0
	l.carrier = info.Flags&unix.IFF_LOWER_UP != 0
	l.neighbours = info.Flags&(unix.IFF_LOOPBACK|unix.IFF_NOARP|unix.IFF_POINTOPOINT) == 0
	l.ethernet = info.Type == unix.ARPHRD_ETHER
	if l.mtu6 == 0 {
		l.mtu6 = l.mtu
	}
	return l, nil
}

// ip6Conf returns net.ipv6.conf.*.mtu and .hop_limit of the interface, which routers may set.
func ip6Conf(spec []byte) (mtu int, hopLimit uint8) {
	const mtuAt, hopLimitAt = 2, 1 // DEVCONF_MTU6, DEVCONF_HOPLIMIT: indexes in an array of 32-bit numbers
	_ = attributes(spec, 0, func(fam uint16, value []byte) {
		if fam != unix.AF_INET6 {
			return
		}
		_ = attributes(value, 0, func(typ uint16, conf []byte) {
			if typ == unix.IFLA_INET6_CONF && len(conf) >= 12 {
				mtu, hopLimit = number(conf[4*mtuAt:]), uint8(number(conf[4*hopLimitAt:]))
			}
		})
	})
	return mtu, hopLimit
}
