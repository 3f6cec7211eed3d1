package nic

import (
	"net/netip"

	"github.com/gorxe/gorxe/transport"
)

// A peer has one receive buffer for all that comes to its address, so what the reliable connections of one
// client towards one address may have outstanding together is bounded. Connections of different clients
// do not share: a program whose peers do not answer holds up none but its own.
const (
	// shareWindow is how many PSNs they may have outstanding, 8 MiB of the longest packets: a quarter of the
	// receive buffer that the UDP link asks for. The shards of a device have equal parts of it.
	shareWindow = 2048
	// shareTurn is how many PSNs must be free for a connection to begin to send, and how many each that waited
	// is expected to use: four trains of the longest packets.
	shareTurn = 64
)

// shareKey names the connections that share.
type shareKey struct {
	client *Client
	peer   netip.Addr
}

// windowShare is the share of the connections of one client towards one address, and a list of those that wait
// for room in it. The shard's lock guards it. A nil one is that of queue pairs without a share.
type windowShare struct {
	*transport.Share
	key         shareKey
	first, last *QP // that wait, linked by waiter
	granted     int // PSNs that those are expected to use that were made ready, and have not sent yet
}

// waiter is the part of a QP that belongs to the list of a windowShare.
type waiter struct {
	waits         bool // is in the list
	granted       bool // was, and has not sent since
	before, after *QP
}

// joinShare makes q a member of the share for its path, which leads by out.
func (q *QP) joinShare(out *outbox) {
	if q.shares == nil {
		return
	}
	var now *windowShare
	s, key := q.shard, shareKey{q.client, q.path.Dst}
	if out != nil && !out.loops {
		if now = s.shares[key]; now == nil {
			now = &windowShare{key: key, Share: transport.NewShare(shareWindow/len(s.dev.shards), shareTurn)}
			s.shares[key] = now
		}
	}
	old := q.share
	if now == old {
		return
	}
	if now == nil {
		q.shares.Join(nil)
	} else {
		q.shares.Join(now.Share)
	}
	q.share = now
	if old == nil {
		return
	}
	if old.remove(q); q.granted {
		q.granted = false
		old.granted -= shareTurn
	}
	old.resume()
	s.wakePump()
	if old.Members() == 0 {
		delete(s.shares, old.key)
	}
}

// sent lists q as waiting if its machine stopped for want of room, and only then.
func (w *windowShare) sent(q *QP) {
	if w != nil && q.granted {
		q.granted = false
		w.granted -= shareTurn
	}
	switch {
	case w == nil || q.waits == q.shares.Blocked():
	case q.waits:
		w.remove(q)
	default:
		q.waiter = waiter{waits: true, before: w.last}
		if w.last == nil {
			w.first = q
		} else {
			w.last.after = q
		}
		w.last = q
	}
}

// remove takes q off the list, if it is on it.
func (w *windowShare) remove(q *QP) {
	if !q.waits {
		return
	}
	if q.before == nil {
		w.first = q.after
	} else {
		q.before.after = q.after
	}
	if q.after == nil {
		w.last = q.before
	} else {
		q.after.before = q.before
	}
	q.waiter = waiter{}
}

// resume makes those ready that wait and for whom there is room.
func (w *windowShare) resume() {
	if w == nil || w.first == nil {
		return
	}
	for w.first != nil && w.Left()-w.granted >= shareTurn {
		q := w.first
		w.remove(q)
		q.granted = true
		w.granted += shareTurn
		q.shard.ready(q)
	}
}
