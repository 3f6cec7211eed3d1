package xdp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/gorxe/gorxe/internal/host/route"
	"github.com/gorxe/gorxe/internal/host/xsk"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
	"github.com/gorxe/gorxe/packet/socket"
	"golang.org/x/sys/unix"
)

// Send sends in runs: of frames by the socket, or of frames by one lane.
func (l *link) Send(b *packet.Batch) error {
	var refused *packet.SendError
	for b.Sent < b.Len() {
		var err error
		switch f := b.At(b.Sent); {
		case l.tooLong(f):
			refused = refused.Refuse(b, b.Sent, 1, packet.ErrTooLong)
			l.Counters().TxRefused.Add(1)
			b.Sent++
		default:
			if hop := l.hop(f); hop != nil {
				err = l.sendByLane(b, hop, &refused)
			} else {
				err = l.sendBySocket(b, &refused)
			}
		}
		if err != nil {
			return err
		}
	}
	return refused.Result()
}

// tooLong is true for a frame that is longer than the link says. The socket may take it all the same.
func (l *link) tooLong(f *packet.Frame) bool { return f.Len() > l.MTU()-packet.HeaderLen(l.addr) }

// hop is the next hop of a frame, nil if it is to go by the socket, which says what is wrong with it if something is.
func (l *link) hop(f *packet.Frame) *route.Hop {
	if f.Path == nil || f.Path.Dst.Is4() != l.addr.Is4() || f.Path.Dst.IsMulticast() {
		return nil
	}
	if hop := l.HopTo(f.Path.Dst); hop != nil && hop.Index == l.index {
		return hop
	}
	return nil
}

// sendBySocket sends the first frame, and those after it that have no next hop either.
func (l *link) sendBySocket(b *packet.Batch, refused **packet.SendError) error {
	end := b.Sent + 1
	for end < b.Len() && !l.tooLong(b.At(end)) && l.hop(b.At(end)) == nil {
		end++
	}
	return l.SendUpTo(b, end, refused)
}

// laneOf picks the lane for a destination: what goes to one host stays in order.
func (l *link) laneOf(dst netip.Addr) *xsk.Lane {
	a := dst.As16()
	h := uint32(2166136261) // FNV-1a
	for _, c := range a {
		h = (h ^ uint32(c)) * 16777619
	}
	return l.end.Lane(h)
}

// sendByLane sends the first frame, and those after it that leave by the same lane.
func (l *link) sendByLane(b *packet.Batch, hop *route.Hop, refused **packet.SendError) error {
	lane := l.laneOf(b.At(b.Sent).Path.Dst)
	if err := lane.Lock(); err != nil {
		return fmt.Errorf("packet: xdp %v: %w", l.addr, err)
	}
	defer lane.Unlock()
	put, bytes := 0, 0 // since the last flush
	for i := b.Sent; ; i++ {
		n, err := l.put(lane, b.At(i), hop)
		switch {
		case n > 0:
			put++
			bytes += n
		case errors.Is(err, errNoRoom) && put > 0:
			if err := l.flushLane(lane, b, i, put, bytes, refused); err != nil {
				return err
			}
			put, bytes = 0, 0
			i--
			continue
		case errors.Is(err, errNoRoom) && l.wait(lane, &err):
			i--
			continue
		default:
			// Those before it are dealt with first: the batch is so in order.
			if err := l.flushLane(lane, b, i, put, bytes, refused); err != nil {
				return err
			}
			put, bytes = 0, 0
			*refused = (*refused).Refuse(b, i, 1, err)
			l.Counters().TxRefused.Add(1)
			b.Sent = i + 1
		}
		if i+1 == b.Len() {
			return l.flushLane(lane, b, i+1, put, bytes, refused)
		}
		if hop = l.hop(b.At(i + 1)); hop == nil || l.laneOf(b.At(i+1).Path.Dst) != lane {
			return l.flushLane(lane, b, i+1, put, bytes, refused)
		}
	}
}

// errNoRoom is a lane without a place for a frame.
var errNoRoom = errors.New("no room")

// wait waits for room, for a moment, and is false with the reason if none is going to come.
func (l *link) wait(lane *xsk.Lane, why *error) bool {
	if _, err := lane.Flush(); err != nil {
		*why = laneError(err)
		return false
	}
	if l.closed.Load() {
		*why = net.ErrClosed
		return false
	}
	lane.Wait(0)
	return true
}

// laneError says why frames were refused.
func laneError(err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return socket.RefusalOf(errno)
	}
	return err
}

// put writes a frame to a lane and returns its length in bytes, headers included.
func (l *link) put(lane *xsk.Lane, f *packet.Frame, hop *route.Hop) (int, error) {
	payload := f.Len()
	if l.tooLong(f) || payload > hop.MTU-packet.HeaderLen(l.addr) {
		return 0, packet.ErrTooLong
	}
	h := encap.Header{
		DstMAC: hop.Dst, SrcMAC: hop.Src, Src: l.bare, Dst: f.Path.Dst,
		SrcPort: f.SrcPort, ID: f.ID, FlagsFragment: f.FlagsFragment,
		TrafficClass: f.Path.TrafficClass, HopLimit: f.Path.HopLimitOrDefault(), FlowLabel: f.Path.FlowLabel,
	}
	n := h.Len() + payload
	room := lane.Put(n)
	if room == nil {
		return 0, errNoRoom
	}
	f.AppendTo(room[:h.Put(room, payload)])
	return n, nil
}

// flushLane sends what was put into the lane since the last time, which are the put frames before frame i that were not refused.
func (l *link) flushLane(lane *xsk.Lane, b *packet.Batch, i, put, bytes int, refused **packet.SendError) error {
	if put == 0 {
		return nil
	}
	calls, err := lane.Flush()
	b.Sent = i
	switch {
	case err == nil:
		l.Counters().AddTx(calls, put, bytes-put*(encap.EthernetLen+packet.HeaderLen(l.addr)))
		return nil
	case errors.Is(err, net.ErrClosed):
		return fmt.Errorf("packet: xdp %v: %w", l.addr, err)
	}
	*refused = (*refused).Refuse(b, i-put, put, laneError(err))
	l.Counters().TxRefused.Add(uint64(put))
	return nil
}
