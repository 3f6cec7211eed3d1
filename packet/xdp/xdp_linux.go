package xdp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/gorxe/gorxe/internal/host/xsk"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
	"github.com/gorxe/gorxe/packet/socket"
	"golang.org/x/sys/unix"
)

// Listen opens a link over AF_XDP sockets on addr, an address of an Ethernet interface. It takes root (CAP_NET_ADMIN,
// CAP_NET_RAW, CAP_BPF, and CAP_IPC_LOCK or 20 MiB of ulimit -l for each receive queue) and Linux 5.9.
//
// An XDP program on the interface takes what is sent to UDP port 4791 of addr past the host's stack, and leaves everything else
// to the host. All such links of a process on an interface share it; an interface that has another program is refused. It
// goes with the last link, and with the process, however that ends.
//
// There is a UDP socket beside it, which owns the port, and carries what XDP does not: multicast groups, what goes to this host
// itself or by another interface, the first packet to a host whose Ethernet address is not known, and what comes in VLANs or
// in fragments or with IP options. A VLAN's tag that the driver takes out of the frame, as network cards and veth pairs do
// with rx-vlan-offload, is not seen: such a frame is taken like one without. So frames look as those of [socket.ListenUDP] do:
// the same source port, DF and identification 0. They carry no UDP checksum.
//
// Frames are longer than a buffer from a path MTU of 4096 on; kernels from 6.6 on join several. Otherwise the link says
// that its MTU is 3314 bytes, whatever that of the interface: that is a path MTU of 2048.
func Listen(addr netip.Addr, opts Options) (packet.Link, error) {
	// Trains would be cut up before they get here, and joined datagrams would meet the program in generic mode.
	beside, err := socket.ListenCompanion(addr, socket.UDPOptions{NoGSO: true, NoGRO: true})
	if err != nil {
		return nil, err
	}
	l := &link{Companion: beside, addr: beside.Local(), bare: beside.Local().WithZone("")}
	if err := l.open(opts); err != nil {
		return nil, errors.Join(fmt.Errorf("packet: xdp %v: %w", addr, err), beside.Close())
	}
	return l, nil
}

// link is a link over AF_XDP sockets, and a UDP socket for what they do not carry.
type link struct {
	socket.Companion
	addr    netip.Addr    // of the host
	bare    netip.Addr    // addr without zone
	index   int           // of the network interface
	end     *xsk.Endpoint // of addr
	detail  string        // how its frames are moved
	ready   *os.File      // readable while something has come, by whatever socket
	conn    syscall.RawConn
	dropped atomic.Uint64 // of the endpoint, once it is closed
	closing sync.Mutex
	closed  atomic.Bool
}

// open opens all but the UDP socket.
func (l *link) open(opts Options) (err error) {
	ifc, err := net.InterfaceByName(l.Interface())
	if err != nil {
		return fmt.Errorf("the address is of no network interface: %w", err)
	}
	if len(ifc.HardwareAddr) != len(encap.MAC{}) || ifc.Flags&net.FlagLoopback != 0 {
		return fmt.Errorf("%s is no Ethernet interface: use another kind of link", ifc.Name)
	}
	l.index = ifc.Index
	if l.end, err = xsk.Open(ifc.Index, l.bare, xsk.Options{
		Port: packet.Port, Generic: opts.Generic, Copy: opts.Copy, Single: opts.SingleBuffer,
	}); err != nil {
		return fmt.Errorf("%s: %w", ifc.Name, err)
	}
	if err = l.HopsErr(); err == nil {
		err = l.watch()
	}
	if err != nil {
		return errors.Join(err, l.end.Close())
	}
	l.detail = l.end.Mode().String()
	l.SetMTU(ifc.MTU)
	return nil
}

// watch makes ready.
func (l *link) watch() error {
	all, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("epoll_create1: %w", err)
	}
	add := func(fd int) error {
		return unix.EpollCtl(all, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN})
	}
	cerr := l.Conn().Control(func(fd uintptr) { err = add(int(fd)) })
	err = errors.Join(cerr, err)
	for _, fd := range l.end.FDs() {
		if err == nil {
			err = add(fd)
		}
	}
	if err == nil {
		// So the runtime waits for it as for any socket.
		err = unix.SetNonblock(all, true)
	}
	l.ready = os.NewFile(uintptr(all), "xdp "+l.addr.String())
	if err == nil {
		l.conn, err = l.ready.SyscallConn()
	}
	if err != nil {
		l.ready.Close()
		return fmt.Errorf("watching the sockets: %w", err)
	}
	return nil
}

// Caps say of a frame's header what XDP sees: a frame that came by the socket says that its header was not seen.
func (l *link) Caps() packet.Caps {
	return packet.Caps{Name: "xdp", MTU: l.MTU(), Batch: 64, SeesHeader: true, Detail: l.detail}
}

// SetMTU is what [packet.Resizable] says. No MTU is above what a frame may have.
func (l *link) SetMTU(mtu int) { l.Companion.SetMTU(min(mtu, l.end.MaxFrame()-encap.EthernetLen)) }

// Stats are those of all sockets.
func (l *link) Stats() packet.Stats {
	s := l.Companion.Stats()
	// Closed, the endpoint has none any more.
	s.RxDropped += max(l.dropped.Load(), l.end.Dropped())
	return s
}

// Pending looks at all sockets.
func (l *link) Pending() bool { return !l.closed.Load() && (l.end.Pending() || l.Companion.Pending()) }

func (l *link) Close() error {
	l.closing.Lock()
	defer l.closing.Unlock()
	if l.closed.Swap(true) {
		return nil
	}
	err := l.ready.Close()
	err = errors.Join(err, l.Companion.Close())
	l.dropped.Store(l.end.Dropped())
	return errors.Join(err, l.end.Close())
}
