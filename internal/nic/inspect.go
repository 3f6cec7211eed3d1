package nic

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// The List functions describe objects of the device. They fill the slice that the caller has
// allocated, as far as it reaches: nothing is allocated under a lock that the data path needs. The
// data of one object are those of one moment; objects may be created and closed during a call and
// between two calls. Numbers ascend in order of creation and are never reused, so a caller that
// continues after the last number it received sees exactly once every object that existed all the
// time.

// QPInfo describes a queue pair.
type QPInfo struct {
	Number    uint64
	QPN       bth.QPN
	Type      qp.Type
	State     qp.State
	PD        uint32        // ID of the protection domain
	Age       time.Duration // time since creation
	GIDIndex  int           // -1 without an address vector
	Local     netip.Addr    // invalid without an address vector
	Remote    netip.Addr    // invalid without an address vector; with the zone of a link-local address
	RemoteQPN bth.QPN
	PathMTU   qp.MTU

	// Up to Early, the fields are those of [transport.Progress]. Queue lengths and depths are in
	// work requests.
	SendPSN, AckPSN, RecvPSN bth.PSN
	Window                   uint32
	Reads                    int
	RetriesLeft, RNRLeft     uint8
	RNRWait                  bool
	Early                    int
	SendQueue, SendDepth     int
	RecvQueue, RecvDepth     int    // of the SRQ, if there is one
	SRQ                      uint64 // number of the SRQ, 0: none
	SendCQ, RecvCQ           uint64 // numbers of the CQs
	Counters                 transport.Counters
}

// ListQPs describes up to len(dst) queue pairs whose Number is above after, and returns how many.
// Those of a shard whose lock is held by a slow memory access are left out.
func (d *Device) ListQPs(after uint64, dst []QPInfo) int {
	last := d.made.Load() // later queue pairs may be in a shard that was already examined
	if len(d.shards) == 1 {
		return d.shard0().list(after, last, dst)
	}
	var all []QPInfo
	some := dst
	for i, s := range d.shards {
		if i > 0 {
			some = make([]QPInfo, len(dst))
		}
		all = append(all, some[:s.list(after, last, some)]...)
	}
	slices.SortFunc(all, func(a, b QPInfo) int { return cmp.Compare(a.Number, b.Number) })
	return copy(dst, all)
}

// list is ListQPs for one shard and numbers up to last.
func (s *shard) list(after, last uint64, dst []QPInfo) (n int) {
	if !s.mu.lockWithin(queryLockTimeout) {
		return 0
	}
	defer s.mu.Unlock()
	now := s.dev.now()
	s.inOrder.After(after, func(number uint64, q *QP) bool {
		if n == len(dst) || number > last {
			return false
		}
		q.describe(&dst[n], now)
		n++
		return true
	})
	return n
}

// describe fills i. The lock is held.
func (q *QP) describe(i *QPInfo, now transport.Time) {
	a, p := &q.attr.Attr, q.machine.Progress()
	*i = QPInfo{
		Number: q.number, QPN: q.attr.Num, Type: q.attr.Type, State: a.State, PD: q.attr.PD.ID,
		Age: time.Duration(now - q.made), GIDIndex: -1, RemoteQPN: a.DestQPN, PathMTU: a.PathMTU,
		SendPSN: p.SendPSN, AckPSN: p.AckPSN, RecvPSN: p.RecvPSN, Window: p.Window, Reads: p.Reads,
		RetriesLeft: p.Retries, RNRLeft: p.RNRLeft, RNRWait: p.RNRWait, Early: p.Early,
		SendQueue: q.attr.SQ.Len(), SendDepth: q.attr.Cap.MaxSendWR,
		SendCQ: q.sendCQ.number, RecvCQ: q.recvCQ.number, Counters: *q.machine.Counters(),
	}
	i.RecvQueue, i.RecvDepth = q.attr.Recv.Len(), q.attr.Recv.Depth()
	if q.srq != nil {
		i.SRQ = q.srq.number
	}
	if q.path.Dst.IsValid() {
		i.GIDIndex, i.Local, i.Remote = int(a.AV.SGIDIndex), q.path.Src, q.path.Dst
	}
}

// ListKeys describes keys with numbers above after; see [mr.Table.List].
func (d *Device) ListKeys(after uint64, dst []mr.KeyInfo) int {
	d.changing.Lock()
	defer d.changing.Unlock()
	return d.keys.List(after, dst)
}

// CQInfo describes a completion queue.
type CQInfo struct {
	Number     uint64
	Len, Depth int
	Users      int  // send and receive queues that complete here
	Waiting    int  // goroutines in Wait
	Channel    bool // created on a completion channel
	Overflowed bool
}

// ListCQs describes completion queues with numbers above after. Of the locks of the data path, it
// takes only those of the CQs, one after the other.
func (d *Device) ListCQs(after uint64, dst []CQInfo) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cqs.After(after, func(number uint64, c *CQ) bool {
		if n == len(dst) {
			return false
		}
		c.mu.Lock()
		dst[n] = CQInfo{
			Number: number, Len: c.store.Len(), Depth: c.store.Depth(), Users: c.users,
			Waiting: c.waiting, Channel: c.channel != nil, Overflowed: c.store.Overflowed(),
		}
		c.mu.Unlock()
		n++
		return true
	})
	return n
}

// SRQInfo describes a shared receive queue.
type SRQInfo struct {
	Number     uint64
	PD         uint32 // ID of the protection domain
	Len, Depth int
	Limit      int // limit armed for SRQ_LIMIT_REACHED, 0: none
	Users      int // queue pairs
}

// ListSRQs describes shared receive queues with numbers above after. If the memory of a queue's
// shard stalls, it sets only the number and the protection domain.
func (d *Device) ListSRQs(after uint64, dst []SRQInfo) int {
	list := make([]*SRQ, 0, len(dst))
	d.mu.Lock()
	d.srqs.After(after, func(_ uint64, q *SRQ) bool {
		if len(list) == len(dst) {
			return false
		}
		list = append(list, q)
		return true
	})
	d.mu.Unlock()
	for i, q := range list {
		dst[i] = SRQInfo{Number: q.number, PD: q.queue.PD().ID}
		if !q.shard.mu.lockWithin(queryLockTimeout) {
			continue
		}
		a := q.queue.Query()
		dst[i].Len, dst[i].Depth, dst[i].Limit, dst[i].Users = q.queue.Len(), a.MaxWR, a.Limit, q.users
		q.shard.mu.Unlock()
	}
	return len(list)
}

// GroupInfo describes a multicast group that the device has joined.
type GroupInfo struct {
	Addr    netip.Addr
	Members []bth.QPN
}

// ListGroups describes the multicast groups. All addresses are read at one moment and the members
// of each group later; groups without members by then are left out.
func (d *Device) ListGroups() []GroupInfo {
	d.groups.mu.Lock()
	list := slices.Collect(maps.Values(d.groups.joined))
	d.groups.mu.Unlock()
	out := make([]GroupInfo, 0, len(list))
	for _, g := range list {
		info := GroupInfo{Addr: g.addr}
		d.groups.mu.Lock()
		for _, q := range g.members {
			info.Members = append(info.Members, q.attr.Num)
		}
		d.groups.mu.Unlock()
		if len(info.Members) > 0 {
			out = append(out, info)
		}
	}
	return out
}

// Idle reports whether no send work request is outstanding.
func (q *QP) Idle() bool {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	return q.attr.SQ.Len() == 0
}

// Counters returns the counters of the queue pair's transport.
func (q *QP) Counters() transport.Counters {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	return *q.machine.Counters()
}
