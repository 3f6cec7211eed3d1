package trace

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace/fabric"
)

// hosts are the states of the source addresses.
type hosts map[netip.Addr]*host

type host struct {
	right   bool // sent a packet with a right ICRC
	migReq  bool // sent a packet with MigReq
	packets int  // number of packets without MigReq
	first   int  // frame of the first packet
}

const (
	maxHosts      = 4096
	migReqPackets = 8 // packets without MigReq after which NeverMigReq is noted
)

// host returns the state of the current packet's source, or nil if it is new and there are maxHosts
// already.
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

// trusted reports whether the receiver accepts the current packet, judging by its ICRC. If no
// packet of the host has had a right ICRC, its ICRCs are ignored: hardware may compute them after
// the capture point.
func (a *Analyzer) trusted() bool {
	if a.p.ICRC.Verdict == Wrong {
		h := a.host()
		return h != nil && !h.right
	}
	return true
}

// checkMigReq updates h, the source of the current packet. It notes a source that has not set
// MigReq in its first migReqPackets packets.
func (a *Analyzer) checkMigReq(h *host) {
	p := a.p
	if h == nil || p.Err != nil || !a.good || a.info.Service == bth.ServiceCNP {
		return
	}
	h.right = h.right || p.ICRC.Verdict == Right || p.ICRC.Verdict == RightAsRxe
	if p.BTH.MigReq {
		h.migReq = true
	}
	if h.migReq || h.packets >= migReqPackets {
		return
	}
	if h.packets++; h.packets == migReqPackets {
		a.note(NeverMigReq, Info, fmt.Sprintf("%s has not set MigReq in its first %d packets (Linux rxe never sets it); most RNICs do, because a queue pair starts in path migration state MIGRATED", fabric.AddrText(p.Src.Addr()), migReqPackets), h.first, p.Number)
	}
}

// analyseWrongICRC handles a packet with a wrong ICRC, which the receiver drops and whose headers
// may be corrupt. It returns true only for a request with exactly the next PSN: the caller analyses
// this one as a request that was sent and lost.
func (a *Analyzer) analyseWrongICRC() bool {
	p := a.p
	h := a.table.find(directionKey{src: p.Src.Addr(), dst: p.Dst.Addr(), to: p.BTH.DestQP, net: a.net})
	if h != nil {
		p.Flow = h.conn.Flow
		if st := h.conn.seen(h.from); h.service == a.info.Service && a.info.Request() && st.open &&
			p.BTH.PSN == st.latestEnd {
			return true
		}
	}
	a.line.op(a.info).text(" with PSN ").psn(p.BTH.PSN).text(", wrong ICRC: dropped by the receiver")
	return false
}
