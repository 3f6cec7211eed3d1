package verbs

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/internal/nic"
	"github.com/gorxe/gorxe/mr"
)

// QPInfo describes a queue pair; see [Device.QPs].
type QPInfo struct {
	Number    uint64 // position in the order of creation, unique
	QPN       QPN
	Type      QPType
	State     QPState
	PD        uint32        // see [PD.ID]
	Age       time.Duration // since creation
	GIDIndex  int           // index of the local address; -1 without a peer, and for datagrams
	Local     netip.Addr    // local address; invalid if GIDIndex is -1
	Remote    netip.Addr    // address of the peer; invalid if GIDIndex is -1
	RemoteQPN QPN
	PathMTU   MTU

	SendPSN     PSN    // PSN of the next new packet, not a retransmission
	AckPSN      PSN    // oldest PSN that is sent and not acknowledged; SendPSN if there is none
	RecvPSN     PSN    // PSN expected from the peer
	Window      uint32 // packets that may be unacknowledged at present; 0 for UC and UD
	Reads       int    // READ and atomic requests that wait for their responses
	RetriesLeft uint8  // retries without progress before RETRY_EXC_ERR
	RNRLeft     uint8  // RNR retries without progress before RNR_RETRY_EXC_ERR; 7 means unlimited
	RNRWait     bool   // waiting after an RNR NAK of the peer
	Early       int    // request packets held until an earlier one arrives

	SendQueue, SendDepth int    // work requests in the queue, and its depth
	RecvQueue, RecvDepth int    // likewise for receives; of the SRQ, if the queue pair has one
	SRQ                  uint64 // number of the queue pair's SRQ, 0 if none
	SendCQ, RecvCQ       uint64 // numbers of the queue pair's CQs
	Counters             QPCounters
}

// Unacked returns the number of packets that are sent and not acknowledged.
func (i *QPInfo) Unacked() int { return int((i.SendPSN - i.AckPSN) & maxPSN) }

// MRKind is the kind of object that a key belongs to; see [mr.KeyKind].
type MRKind = mr.KeyKind

// Kinds of keys.
const (
	MRRegion  = mr.KeyRegion     // region of [PD.RegMR] or [PD.RegMemory]
	MRFast    = mr.KeyFastRegion // [FastMR]
	MRWindow1 = mr.KeyWindow1    // [MW] of type 1
	MRWindow2 = mr.KeyWindow2    // [MW] of type 2
)

// MRInfo describes a memory region or window; see [Device.MRs]. Its Key gives access to the
// memory: show it only to those who may have that access.
type MRInfo = mr.KeyInfo

// CQInfo describes a completion queue; see [Device.CQs].
type CQInfo struct {
	Number     uint64
	Len, Depth int  // completions to be polled, and the depth
	Users      int  // send and receive queues that complete into the CQ
	Waiting    int  // goroutines in [CQ.Wait]
	Channel    bool // created with [OnChannel]
	Overflowed bool
}

// SRQInfo describes a shared receive queue; see [Device.SRQs].
type SRQInfo struct {
	Number     uint64
	PD         uint32 // see [PD.ID]
	Len, Depth int    // receives in the queue, and its depth
	Limit      int    // armed limit of [EventSRQLimitReached], 0 if none
	Users      int    // queue pairs that use the SRQ
}

// GroupInfo describes a multicast group; see [Device.Groups].
type GroupInfo struct {
	Addr    netip.Addr
	Members []QPN // queue pairs attached to the group
}

// describeBatch is the number of objects described in one call of package nic, during which the
// data path waits.
const describeBatch = 64

// QPs returns descriptions of the device's queue pairs in the order of creation, for diagnostics of
// a running program. It holds the lock of the data path for 64 of them at a time, never while the
// caller processes one. Each description is consistent, but they are not of the same moment. A
// queue pair that exists during the whole iteration occurs once; one that is created or closed
// meanwhile, at most once. If an access to slow memory holds the lock of a shard for more than a
// second, the queue pairs of the shard are omitted.
func (d *Device) QPs() iter.Seq[QPInfo] {
	return describeAll(d.nic.ListQPs, func(i *nic.QPInfo) (uint64, QPInfo) { return i.Number, QPInfo(*i) })
}

// MRs returns descriptions of the device's memory regions and windows, as [Device.QPs].
func (d *Device) MRs() iter.Seq[MRInfo] {
	return describeAll(d.nic.ListKeys, func(i *MRInfo) (uint64, MRInfo) { return i.Number, *i })
}

// CQs returns descriptions of the device's completion queues, as [Device.QPs].
func (d *Device) CQs() iter.Seq[CQInfo] {
	return describeAll(d.nic.ListCQs, func(i *nic.CQInfo) (uint64, CQInfo) { return i.Number, CQInfo(*i) })
}

// SRQs returns descriptions of the device's shared receive queues, as [Device.QPs].
func (d *Device) SRQs() iter.Seq[SRQInfo] {
	return describeAll(d.nic.ListSRQs, func(i *nic.SRQInfo) (uint64, SRQInfo) { return i.Number, SRQInfo(*i) })
}

// describeAll iterates over the objects that f describes, describeBatch at a time. convert returns
// the number and the public form of an object.
func describeAll[E, T any](f func(after uint64, dst []E) int, convert func(*E) (uint64, T)) iter.Seq[T] {
	return func(yield func(T) bool) {
		batch := make([]E, describeBatch)
		for n, after := len(batch), uint64(0); n == len(batch); {
			n = f(after, batch)
			for i := range batch[:n] {
				var info T
				if after, info = convert(&batch[i]); !yield(info) {
					return
				}
			}
		}
	}
}

// Groups describes the multicast groups that queue pairs of the device are attached to, ordered by
// address. The list of groups is of one moment; the members of each group are of another.
func (d *Device) Groups() []GroupInfo {
	groups := d.nic.ListGroups()
	out := make([]GroupInfo, len(groups))
	for i, g := range groups {
		out[i] = GroupInfo(g)
	}
	slices.SortFunc(out, func(a, b GroupInfo) int { return a.Addr.Compare(b.Addr) })
	return out
}

// ListenerInfo describes a [Listener]; see [Device.Listeners].
type ListenerInfo struct {
	PortSpace PortSpace
	Local     netip.AddrPort
}

// Listeners describes the open listeners, ordered by port.
func (d *Device) Listeners() []ListenerInfo {
	c := &d.connections
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]ListenerInfo, 0, len(c.listeners))
	for _, l := range c.listeners {
		out = append(out, ListenerInfo{l.ps, l.local})
	}
	slices.SortFunc(out, func(a, b ListenerInfo) int {
		return cmp.Or(cmp.Compare(a.Local.Port(), b.Local.Port()), cmp.Compare(a.PortSpace, b.PortSpace),
			a.Local.Compare(b.Local))
	})
	return out
}

// CMInfo describes a connection of the connection manager, or a request for a datagram queue
// pair; see [Device.CMs].
type CMInfo struct {
	LocalID, RemoteID uint32 // communication IDs; RemoteID is 0 until it is known
	State             string // name in Linux, such as "ESTABLISHED"
	PortSpace         PortSpace
	Local, Remote     netip.AddrPort // port 0 if the port is not known
	QPN, RemoteQPN    QPN            // 0 until they are known
	Age               time.Duration
}

// CMs returns descriptions of the connections and requests of the connection manager, in the
// order of creation, including those that are being established and those in TIME-WAIT. All are
// of one moment.
func (d *Device) CMs() iter.Seq[CMInfo] {
	return func(yield func(CMInfo) bool) {
		g := d.connections.running()
		if g == nil {
			return
		}
		local := map[int]netip.Addr{}
		for _, e := range d.GIDs() {
			local[e.Index] = e.Addr
		}
		list, now := g.Conns(), g.Now()
		for i := range list {
			if !yield(cmInfo(&list[i], local[int(list[i].Peer.SGIDIndex)], now)) {
				return
			}
		}
	}
}

func cmInfo(c *cm.ConnInfo, local netip.Addr, now cm.Time) CMInfo {
	ps, port, _ := c.Service.IP()
	here, there := port, c.SourcePort
	if c.Active {
		here, there = there, here
	}
	remote := c.Peer.GID.Addr()
	return CMInfo{
		LocalID: uint32(c.ID), RemoteID: uint32(c.RemoteID), State: c.State.String(), PortSpace: ps,
		Local:  netip.AddrPortFrom(local, here),
		Remote: netip.AddrPortFrom(remote.WithZone(zoneFor(remote, local)), there),
		QPN:    c.QPN, RemoteQPN: c.PeerQPN, Age: time.Duration(now - c.Since),
	}
}
