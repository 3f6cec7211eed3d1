package socket

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"
	"unsafe"

	"github.com/gorxe/gorxe/internal/host/route"
	"github.com/gorxe/gorxe/packet/encap"
	"golang.org/x/sys/unix"
)

// rawKernel replaces the sending side of the kernel behind a packet socket, and its neighbour
// table.
type rawKernel struct {
	udp     kernel // what the UDP socket sends
	hop     map[netip.Addr]*route.Hop
	verdict func(m sentFrame) unix.Errno
	calls   int
	got     []sentFrame
}

type sentFrame struct {
	encap.Datagram
	segment int // 0 for a single frame
	index   int // interface index
	vnet    []byte
	head    []byte // first piece of the headers
}

func (m sentFrame) String() string {
	s := fmt.Sprintf("%v %d bytes by %d", m.Dst, len(m.Data), m.index)
	if m.segment > 0 {
		s += fmt.Sprintf(" in segments of %d", m.segment)
	}
	return s
}

func (k *rawKernel) To(dst netip.Addr) *route.Hop    { return k.hop[dst] }
func (k *rawKernel) Missing(netip.Addr) (bool, bool) { return false, true }
func (k *rawKernel) Await(netip.Addr, time.Duration) {}
func (k *rawKernel) ResolveSoon(netip.Addr)          {}
func (k *rawKernel) Hold(netip.Addr)                 {}
func (k *rawKernel) Release(netip.Addr)              {}
func (k *rawKernel) Held(netip.Addr) bool            { return false }
func (k *rawKernel) Due(netip.Addr, time.Time) bool  { return false }
func (k *rawKernel) Close()                          {}

func (k *rawKernel) send(_ uintptr, msgs []mmsghdr) (int, unix.Errno) {
	k.calls++
	for i := range msgs {
		m := readFrame(&msgs[i].hdr)
		if k.verdict != nil {
			if errno := k.verdict(m); errno != 0 {
				if i > 0 {
					return i, 0
				}
				return -1, errno
			}
		}
		k.got = append(k.got, m)
	}
	return len(msgs), 0
}

func readFrame(h *unix.Msghdr) (m sentFrame) {
	var b []byte
	for i, v := range unsafe.Slice(h.Iov, h.Iovlen) {
		b = append(b, unsafe.Slice(v.Base, v.Len)...)
		if i == 0 {
			m.vnet, m.head = b[:vnetLen:vnetLen], b[vnetLen:len(b):len(b)]
		}
	}
	d, err := encap.DecodeEthernet(b[vnetLen:])
	if err != nil {
		panic(err)
	}
	m.Datagram = d
	m.index = int((*unix.RawSockaddrLinklayer)(unsafe.Pointer(h.Name)).Ifindex)
	if m.vnet[vnetGSOType] == gsoUDPL4 {
		m.segment = int(binary.NativeEndian.Uint16(m.vnet[vnetGSOSize:]))
	}
	return m
}

// link returns a link at addr with the given neighbours.
func (k *rawKernel) link(addr string, neighbours ...string) *raw {
	k.hop = make(map[netip.Addr]*route.Hop)
	for i, n := range neighbours {
		k.hop[netip.MustParseAddr(n)] = &route.Hop{Index: 7 + i, MTU: 9000, Src: [6]byte{2, 1},
			Dst: [6]byte{2, 2, 0, 0, 0, byte(i)}}
	}
	l := &raw{udp: k.udp.link(addr), hops: k}
	l.rx.raw = &rawConn{k: &k.udp}
	l.tx.init(k.send, k.udp.setDeadline)
	l.trains.Store(true)
	return l
}

// messages describes what was sent since the last call.
func (k *rawKernel) messages() (frames, datagrams []string) {
	for _, m := range k.got {
		frames = append(frames, m.String())
	}
	k.got = nil
	return frames, k.udp.messages()
}
