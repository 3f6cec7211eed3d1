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

// QPInfo is what [Device.QPs] tells of a queue pair.
type QPInfo struct {
	Number    uint64 // in the order in which queue pairs were made; none comes twice
	QPN       QPN
	Type      QPType
	State     QPState
	PD        uint32        // see [PD.ID]
	Age       time.Duration // since it was made
	GIDIndex  int           // of the address it sends from; -1 while it has no peer, and of datagrams
	Local     netip.Addr    // that address; invalid where GIDIndex is -1
	Remote    netip.Addr    // its peer's address, likewise
	RemoteQPN QPN
	PathMTU   MTU

	SendPSN     PSN    // that the next packet will have which was never sent
	AckPSN      PSN    // oldest that was sent and is not acknowledged; SendPSN where there is none
	RecvPSN     PSN    // expected from the peer
	Window      uint32 // packets that may be unacknowledged at the moment; 0 of UC and UD
	Reads       int    // READ and atomic requests that wait for their responses
	RetriesLeft uint8  // before RETRY_EXC_ERR, without progress
	RNRLeft     uint8  // before RNR_RETRY_EXC_ERR, without progress; 7 is without end
	RNRWait     bool   // the peer has no receive posted and asked for patience
	Early       int    // request packets that are held until an earlier one comes

	SendQueue, SendDepth int    // work requests in the queue, and how many it holds
	RecvQueue, RecvDepth int    // likewise; of the SRQ, if it has one
	SRQ                  uint64 // number of its SRQ, 0 for none
	SendCQ, RecvCQ       uint64 // numbers of its CQs
	Counters             QPCounters
}

// Unacked is how many packets were sent and are not acknowledged.
func (i *QPInfo) Unacked() int { return int((i.SendPSN - i.AckPSN) & maxPSN) }

// MRKind says what a key was made for.
type MRKind = mr.KeyKind

// Kinds of keys.
const (
	MRRegion  = mr.KeyRegion  // a region of [PD.RegMR] or [PD.RegMemory]
	MRFast    = mr.KeyFast    // a [FastMR]
	MRWindow1 = mr.KeyWindow1 // an [MW] of type 1
	MRWindow2 = mr.KeyWindow2 // an [MW] of type 2
)

// MRInfo is what [Device.MRs] tells of a memory region or window. Who has its Key may use
// it: show it to nobody else.
type MRInfo = mr.KeyInfo

// CQInfo is what [Device.CQs] tells of a completion queue.
type CQInfo struct {
	Number     uint64
	Len, Depth int  // completions that wait to be polled, and how many it holds
	Users      int  // send and receive queues that complete into it
	Waiting    int  // goroutines in [CQ.Wait]
	Channel    bool // made with [OnChannel]
	Overflowed bool
}

// SRQInfo is what [Device.SRQs] tells of a shared receive queue.
type SRQInfo struct {
	Number     uint64
	PD         uint32 // see [PD.ID]
	Len, Depth int    // receives in the queue, and how many it holds
	Limit      int    // below which [EventSRQLimitReached] is due, 0 for none
	Users      int    // queue pairs that take their receives from it
}

// GroupInfo is what [Device.Groups] tells of a multicast group.
type GroupInfo struct {
	Addr    netip.Addr
	Members []QPN // queue pairs attached to it
}

// lookSlice is how many objects are described at a time, while the data path waits.
const lookSlice = 64

// QPs describes the queue pairs of the device in the order in which they were made, for people who
// look into a program that runs: it takes the lock of the data path for 64 of them at a time and
// not while the caller has one in hand. Each is described as it was at one moment, at another one
// than others. A queue pair that is there all the while is told once; one that comes or goes
// meanwhile, once or not at all. Where memory of a queue pair stalls for a second, those of its
// shard are left out.
func (d *Device) QPs() iter.Seq[QPInfo] {
	return look(d.nic.LookQPs, func(i *nic.QPInfo) (uint64, QPInfo) { return i.Number, QPInfo(*i) })
}

// MRs describes the device's memory regions and windows, as [Device.QPs] does.
func (d *Device) MRs() iter.Seq[MRInfo] {
	return look(d.nic.LookKeys, func(i *MRInfo) (uint64, MRInfo) { return i.Number, *i })
}

// CQs describes the device's completion queues, as [Device.QPs] does.
func (d *Device) CQs() iter.Seq[CQInfo] {
	return look(d.nic.LookCQs, func(i *nic.CQInfo) (uint64, CQInfo) { return i.Number, CQInfo(*i) })
}

// SRQs describes the device's shared receive queues, as [Device.QPs] does.
func (d *Device) SRQs() iter.Seq[SRQInfo] {
	return look(d.nic.LookSRQs, func(i *nic.SRQInfo) (uint64, SRQInfo) { return i.Number, SRQInfo(*i) })
}

// look walks through what f describes, some at a time; tell gives the number and the public
// form of each.
func look[E, T any](f func(after uint64, dst []E) int, tell func(*E) (uint64, T)) iter.Seq[T] {
	return func(yield func(T) bool) {
		some := make([]E, lookSlice)
		for n, after := len(some), uint64(0); n == len(some); {
			n = f(after, some)
			for i := range some[:n] {
				var info T
				if after, info = tell(&some[i]); !yield(info) {
					return
				}
			}
		}
	}
}

// Groups describes the multicast groups that queue pairs of the device are attached to, by
// address. All are of one moment, the members of each of another.
func (d *Device) Groups() []GroupInfo {
	groups := d.nic.LookGroups()
	out := make([]GroupInfo, len(groups))
	for i, g := range groups {
		out[i] = GroupInfo(g)
	}
	slices.SortFunc(out, func(a, b GroupInfo) int { return a.Addr.Compare(b.Addr) })
	return out
}

// ListenerInfo is what [Device.Listeners] tells of a [Listener].
type ListenerInfo struct {
	PortSpace PortSpace
	Local     netip.AddrPort
}

// Listeners describes the listeners that are open, by port.
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

// CMInfo is what [Device.CMs] tells of a connection of the connection manager, or of a request
// for a datagram queue pair.
type CMInfo struct {
	LocalID, RemoteID uint32 // communication IDs; RemoteID is 0 while it is not known
	State             string // as Linux names it, such as "ESTABLISHED"
	PortSpace         PortSpace
	Local, Remote     netip.AddrPort // port 0 where it is not known
	QPN, RemoteQPN    QPN            // 0 while they are not known
	Age               time.Duration
}

// CMs describes what the connection manager has, in the order in which it came to be: also what
// is being made, and what has just ended and rests. All are of one moment.
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
		Local: netip.AddrPortFrom(local, here), Remote: netip.AddrPortFrom(remote.WithZone(zoneFor(remote, local)), there),
		QPN: c.QPN, RemoteQPN: c.PeerQPN, Age: time.Duration(now - c.Since),
	}
}
