package self

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/conformance/wire"
	"github.com/gorxe/gorxe/packet"
)

// link is the tester's end of a world. It behaves as a raw link.
type link struct {
	w     *world
	local netip.Addr
	// latency is the time that the tester takes for each packet that it receives.
	latency time.Duration
	id      atomic.Uint32 // last IPv4 identification
}

func (l *link) Local() netip.Addr { return l.local }
func (*link) Raw() bool           { return true }
func (*link) MTU() int            { return linkMTU }

// Close does nothing: the world closes its links.
func (*link) Close() error { return nil }

func (l *link) Send(dst netip.Addr, p *wire.Packet) ([]byte, error) {
	id := uint16(l.id.Add(1))
	ip, data := p.Encode(l.local, dst, id)
	f := parseIP(ip)
	if p.V1 {
		f = newFrame(data)
		f.src, f.port = p.Source(l.local)
		f.dst, f.badIP, f.flags = dst, errV1, packet.DontFragment
	}
	return data, l.w.fromTester(f)
}

func (l *link) Recv(deadline time.Time) (*wire.Received, error) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case r := <-l.w.recv:
		time.Sleep(l.latency)
		return r, nil
	case <-timer.C:
		return nil, wire.ErrTimeout
	case <-l.w.done:
		return nil, net.ErrClosed
	}
}

// putIPSum writes the header checksum of an IPv4 packet, if it is long enough.
func putIPSum(ip []byte) {
	if len(ip) < 20 {
		return
	}
	n := min(max(int(ip[0]&15)*4, 20), len(ip)) &^ 1
	binary.BigEndian.PutUint16(ip[10:], 0)
	var s uint32
	for i := 0; i < n; i += 2 {
		s += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	for s>>16 != 0 {
		s = s>>16 + s&0xffff
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(s))
}
