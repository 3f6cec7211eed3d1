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

// Listen opens a link over AF_XDP sockets on addr, an address of an Ethernet interface. It
// requires root (CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF, and CAP_IPC_LOCK or 20 MiB of ulimit -l
// for each receive queue) and Linux 5.9.
//
// An XDP program on the interface redirects packets to UDP port 4791 of addr past the IP stack of
// the host, and passes all other packets to the host. All xdp links of a process on an interface
// share the program; Listen fails if the interface has another XDP program. The program is detached
// when the last link is closed or the process ends, for whatever reason.
//
// In addition, a UDP socket owns the port and carries the packets that XDP does not carry: packets
// of multicast groups, packets to this host itself or over another interface, the first packet to a
// host whose Ethernet address is unknown, and incoming packets that have VLAN tags or IP options or
// are fragments. A VLAN tag that the driver removes from the frame, as network cards and veth pairs
// do with rx-vlan-offload, is invisible: the frame is received like an untagged frame. Because both
// sockets send frames of the link, frames sent by XDP have the same header fields as those of
// [socket.ListenUDP]: the source port, DF and identification 0. They have no UDP checksum.
//
// At a path MTU of 4096, frames are longer than a buffer; kernels from 6.6 on support frames in
// several buffers. Otherwise the MTU of the link is at most 3314 bytes, even if the interface has a
// larger MTU: this gives a path MTU of 2048.
func Listen(addr netip.Addr, opts Options) (packet.Link, error) {
	// No GSO: trains are segmented before the program sees them. No GRO: in generic mode the
	// program would see coalesced datagrams.
	companion, err := socket.ListenCompanion(addr, socket.UDPOptions{NoGSO: true, NoGRO: true})
	if err != nil {
		return nil, err
	}
	l := &link{Companion: companion, addr: companion.Local(), bare: companion.Local().WithZone("")}
	if err := l.open(opts); err != nil {
		return nil, errors.Join(fmt.Errorf("packet: xdp %v: %w", addr, err), companion.Close())
	}
	return l, nil
}

// link is a link over AF_XDP sockets, and a UDP socket for the packets that they do not carry.
type link struct {
	socket.Companion
	addr    netip.Addr    // local address
	bare    netip.Addr    // addr without zone
	index   int           // index of the network interface
	end     *xsk.Endpoint // AF_XDP sockets for addr
	detail  string        // Mode of end, for Caps
	ready   *os.File      // epoll file, readable while any socket has frames
	conn    syscall.RawConn
	dropped atomic.Uint64 // Dropped of end at Close
	closing sync.Mutex
	closed  atomic.Bool
}

// open opens everything except the UDP socket.
func (l *link) open(opts Options) (err error) {
	ifc, err := net.InterfaceByName(l.Interface())
	if err != nil {
		return fmt.Errorf("no network interface has the address: %w", err)
	}
	if len(ifc.HardwareAddr) != len(encap.MAC{}) || ifc.Flags&net.FlagLoopback != 0 {
		return fmt.Errorf("%s is not an Ethernet interface: use another kind of link", ifc.Name)
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

// watch opens ready and conn, and registers all sockets with the epoll instance of ready.
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
		// Non-blocking, so that the runtime waits for it with the network poller.
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

// Caps sets ReportsHeader because AF_XDP sees headers; frames of the UDP socket have HeaderSeen
// false.
func (l *link) Caps() packet.Caps {
	return packet.Caps{Name: "xdp", MTU: l.MTU(), Batch: 64, ReportsHeader: true, Detail: l.detail}
}

// SetMTU implements [packet.Resizable]. It limits mtu to the maximum frame that AF_XDP accepts.
func (l *link) SetMTU(mtu int) { l.Companion.SetMTU(min(mtu, l.end.MaxFrame()-encap.EthernetLen)) }

// Stats returns the counts of all sockets.
func (l *link) Stats() packet.Stats {
	s := l.Companion.Stats()
	// After Close, Dropped returns 0.
	s.RxDropped += max(l.dropped.Load(), l.end.Dropped())
	return s
}

// Pending reports whether any socket may have unprocessed frames.
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
