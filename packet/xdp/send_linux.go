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

// Send sends the batch in runs of successive frames: each run is for the UDP socket or for one
// lane.
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
	return refused.ErrorOrNil()
}

// tooLong reports whether the frame exceeds the MTU of the link. Send checks this, because the UDP
// socket may have a larger MTU.
func (l *link) tooLong(f *packet.Frame) bool { return f.Len() > l.MTU()-packet.HeaderLen(l.addr) }

// hop returns the next hop of a frame. It returns nil if the UDP socket must send the frame; the
// UDP socket also rejects frames with an invalid path.
func (l *link) hop(f *packet.Frame) *route.Hop {
	if f.Path == nil || f.Path.Dst.Is4() != l.addr.Is4() || f.Path.Dst.IsMulticast() {
		return nil
	}
	if hop := l.HopTo(f.Path.Dst); hop != nil && hop.Index == l.index {
		return hop
	}
	return nil
}

// sendBySocket sends the frame at b.Sent and the following frames that have no next hop either.
func (l *link) sendBySocket(b *packet.Batch, refused **packet.SendError) error {
	end := b.Sent + 1
	for end < b.Len() && !l.tooLong(b.At(end)) && l.hop(b.At(end)) == nil {
		end++
	}
	return l.SendUpTo(b, end, refused)
}

// laneOf returns the lane of a destination. A destination always has the same lane, which keeps its
// frames in order.
func (l *link) laneOf(dst netip.Addr) *xsk.Lane {
	a := dst.As16()
	h := uint32(2166136261) // FNV-1a
	for _, c := range a {
		h = (h ^ uint32(c)) * 16777619
	}
	return l.end.Lane(h)
}

// sendByLane sends the frame at b.Sent, whose next hop is hop, and the following frames of the same
// lane.
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
			// Flush the frames before this one first, so that b.Sent advances in order.
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

// errNoRoom is the error of put if the lane has no free slot.
var errNoRoom = errors.New("no room")

// wait flushes the lane and waits briefly for a free slot. It returns false and sets why if the
// lane or the link fails.
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

// laneError translates err, the error of a flush, to the error that Send reports for the frames.
func laneError(err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return socket.RefusalOf(errno)
	}
	return err
}

// put writes a frame to a lane. It returns the length of the frame in bytes, including headers, or
// 0 and an error.
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

// flushLane sends the frames put into the lane since the last flush, and sets b.Sent to i. put is
// the number of these frames, bytes their total length; they directly precede frame i of b. If put
// is 0, flushLane does nothing.
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
