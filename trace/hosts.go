package trace

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
)

// hosts are what is known of the addresses that packets come from.
type hosts map[netip.Addr]*host

type host struct {
	right   bool // a packet of it had the right ICRC
	migReq  bool // a packet of it had MigReq
	packets int  // without MigReq
	first   int  // frame of the first
}

const (
	maxHosts  = 4096
	migReqAny = 8 // packets without MigReq after which an address counts as one that never sets it
)

// host returns what is known of the sender of the packet in hand; nil where there are too many.
func (a *Analyzer) host() *host {
	h := a.hosts[a.p.Src.Addr()]
	if h == nil && len(a.hosts) < maxHosts {
		if a.hosts == nil {
			a.hosts = hosts{}
		}
		h = &host{first: a.p.Number}
		a.hosts[a.p.Src.Addr()] = h
	}
	return h
}

// trusted reports whether the receiver takes the packet in hand, as far as its ICRC tells. Where no packet of a host has had a
// right one, its ICRCs are computed behind the capture, or by rules of its own, and say nothing.
func (a *Analyzer) trusted() bool {
	if a.p.ICRC.Verdict == Wrong {
		h := a.host()
		return h != nil && !h.right
	}
	return true
}

// checkMigReq notes an address that never sets MigReq, once.
func (a *Analyzer) checkMigReq(h *host) {
	p := a.p
	if h == nil || p.Err != nil || !a.good || a.info.Service == bth.ServiceCNP {
		return
	}
	h.right = h.right || p.ICRC.Verdict == Right || p.ICRC.Verdict == RightAsRxe
	if p.BTH.MigReq {
		h.migReq = true
	}
	if h.migReq || h.packets >= migReqAny {
		return
	}
	if h.packets++; h.packets == migReqAny {
		a.note(NeverMigReq, Info, fmt.Sprintf("%s never sets MigReq, as Linux rxe does not: most RNICs do, because a queue pair begins in the state migrated", p.Src.Addr()), h.first, p.Number)
	}
}

// plausible takes a packet whose ICRC is wrong: its receiver drops it, and what it says of itself may be wrong. Only a request that
// is just what comes next counts as sent and lost; of all others it says that they are dropped.
func (a *Analyzer) plausible() bool {
	p := a.p
	h := a.table.find(halfKey{src: p.Src.Addr(), dst: p.Dst.Addr(), to: p.BTH.DestQP})
	if h != nil {
		p.Flow = h.conn.Flow
		if st := &h.conn.dir[h.from]; h.service == a.info.Service && a.info.Request() && st.open && p.BTH.PSN == st.pos {
			return true
		}
	}
	a.line.op(a.info).s(" with PSN ").psn(p.BTH.PSN).s(" and a wrong ICRC: its receiver drops it")
	return false
}
