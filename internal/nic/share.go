package nic

import (
	"net/netip"

	"github.com/gorxe/gorxe/transport"
)

// A host has one receive buffer for all packets that arrive at its address, so the reliable
// connections of one user towards one address share a limit on outstanding packets. Connections
// of different users do not share: a program whose peers do not answer delays only its own
// connections.
const (
	// shareWindow is the limit in PSNs, 8 MiB of the longest packets: a quarter of the receive
	// buffer that the UDP link requests. Each shard has an equal part, at least leastShare.
	shareWindow = 2048
	// shareTurn is the number of PSNs that must be free before a blocked connection sends, and
	// the number that it is expected to use: four trains of the longest packets.
	shareTurn = 64
	// leastShare is the minimum limit of one shard: a few turns. With less, the shareTurn PSNs that
	// a waiting connection needs would be free only after all packets of the others are
	// acknowledged, or never.
	leastShare = 4 * shareTurn
)

// shareKey identifies the connections that share a window.
type shareKey struct {
	user *User
	peer netip.Addr
}

// windowShare is the shared window of the connections of one user towards one address, and the
// list of those that wait for space in it. The shard's lock guards it. Queue pairs without a
// share have a nil windowShare.
type windowShare struct {
	*transport.Share
	key         shareKey
	first, last *QP // waiting queue pairs, linked by waiter
	granted     int // PSNs expected to be used by queue pairs that were made ready and have not sent yet
}

// waiter is the part of a QP that belongs to the list of a windowShare.
type waiter struct {
	queued        bool // in the list
	granted       bool // removed from the list by resume, and has not sent since
	before, after *QP
}

// joinShare makes q a member of the share of its user and peer, of none if out is nil or for
// loopback, and ends q's former membership.
func (q *QP) joinShare(out *outbox) {
	if q.shares == nil {
		return
	}
	var now *windowShare
	s, key := q.shard, shareKey{q.user, q.path.Dst}
	if out != nil && !out.loops {
		if now = s.shares[key]; now == nil {
			limit := max(shareWindow/len(s.dev.shards), leastShare)
			now = &windowShare{key: key, Share: transport.NewShare(limit, shareTurn)}
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

// update updates the list after q's machine has transmitted: q is in the list if and only if its
// machine is blocked.
func (w *windowShare) update(q *QP) {
	if w != nil && q.granted {
		q.granted = false
		w.granted -= shareTurn
	}
	switch {
	case w == nil || q.queued == q.shares.Blocked():
	case q.queued:
		w.remove(q)
	default:
		q.waiter = waiter{queued: true, before: w.last}
		if w.last == nil {
			w.first = q
		} else {
			w.last.after = q
		}
		w.last = q
	}
}

// remove removes q from the list if q is queued.
func (w *windowShare) remove(q *QP) {
	if !q.queued {
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

// resume makes waiting queue pairs ready, as many as there is space for.
func (w *windowShare) resume() {
	if w == nil || w.first == nil {
		return
	}
	for w.first != nil && w.Left()-w.granted >= shareTurn {
		q := w.first
		w.remove(q)
		q.granted = true
		w.granted += shareTurn
		q.shard.markReady(q)
	}
}
