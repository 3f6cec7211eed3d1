package scenario

import (
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// maxRequest is the length of the longest message that programs send, in bytes.
const maxRequest = 24 << 10

var verbs = map[qp.Type][]qp.WROpcode{
	qp.RC: {
		qp.WRSend, qp.WRSend, qp.WRSendImm, qp.WRWrite, qp.WRWrite, qp.WRWriteImm, qp.WRRead, qp.WRRead,
		qp.WRFetchAdd, qp.WRCmpSwap, qp.WRAtomicWrite, qp.WRFlush, qp.WRSendInv, qp.WRRegMR, qp.WRBindMW,
	},
	qp.UC: {qp.WRSend, qp.WRSendImm, qp.WRWrite, qp.WRWriteImm, qp.WRRegMR, qp.WRBindMW},
	qp.UD: {qp.WRSend, qp.WRSendImm},
}

// request fills a with a random work request.
func (g *generator) request(a *Act, c *ConnSpec) {
	a.Op = pick(g, verbs[c.Type]...)
	a.Imm = g.r.Uint32()
	a.Key = pick(g, KeyRegion, KeyRegion, KeyFast, KeyWindow)
	for _, f := range []qp.SendFlags{qp.Fence, qp.Signaled, qp.Solicited} {
		if g.one(3) {
			a.Flags |= f
		}
	}
	n := g.size(int(c.MTU))
	if c.Type == qp.UD && !g.one(12) {
		n = min(n, int(c.MTU)) // a longer message is dropped silently
	}
	switch a.Op {
	case qp.WRRead:
		a.SG = g.pieces(g.target(n), n)
		a.Remote = g.anywhere(n)
	case qp.WRRegMR, qp.WRBindMW:
		return
	case qp.WRFlush:
		a.Remote, a.Add = g.anywhere(n), uint64(n)
		if g.one(3) {
			a.Imm |= 1 << 31 // the whole region
		}
	case qp.WRAtomicWrite:
		a.SG = g.pieces(MemBase+uint64(g.r.IntN(MemSource-8)), 8)
		a.Remote = MemBase + MemSource + uint64(8*g.r.IntN(64))
		a.Inline = g.one(2)
	case qp.WRFetchAdd, qp.WRCmpSwap:
		a.SG = g.pieces(g.target(8), 8)
		// Use few addresses, so that connections contend for them.
		a.Remote = MemBase + MemSource + uint64(8*g.r.IntN(4))
		a.Add, a.Match = g.r.Uint64(), g.one(2)
	default:
		a.SG = g.pieces(MemBase+uint64(g.r.IntN(MemSource-n)), n)
		a.Remote = g.target(n)
		a.Inline = n <= MaxInline && g.one(2)
	}
	if TakesReceive(a.Op) {
		room := n
		if a.Op == qp.WRWriteImm {
			room = g.r.IntN(64) // the receive consumes no buffer, so any size will do
		} else if g.one(2) {
			room += g.r.IntN(300)
		}
		if c.Ends[1-a.End].SRQ || a.Conn%4 > 0 {
			room = maxRequest // it must fit any message
		}
		if c.Type == qp.UD {
			room += transport.GRHLen
		}
		a.Recv = g.pieces(g.target(room), room)
		if g.one(4) {
			a.RecvDelay = 1 + g.upTo(pick(g, 20*Microsecond, 500*Microsecond, 5*Millisecond))
		}
	}
	if g.one(80) {
		g.spoil(a, c, n)
	}
}

// spoil makes the request fail.
func (g *generator) spoil(a *Act, c *ConnSpec, n int) {
	switch a.Op {
	case qp.WRSend, qp.WRSendImm, qp.WRSendInv:
		if c.Type == qp.UD && g.one(2) {
			a.Wrong = WrongQKey
			return
		}
		a.Wrong = pick(g, WrongLKey, WrongRoom, WrongRecvKey)
	case qp.WRFetchAdd, qp.WRCmpSwap, qp.WRAtomicWrite:
		a.Wrong = pick(g, WrongLKey, WrongRKey, WrongAlign)
	case qp.WRFlush:
		a.Wrong = WrongRKey
	default:
		a.Wrong = pick(g, WrongLKey, WrongRKey, WrongBounds)
	}
	if a.Wrong == WrongAlign {
		a.Remote += 4
	}
	if a.Wrong == WrongBounds && n > 0 {
		a.Remote = MemBase + MemSize - uint64(n) + 1
	}
}

// IsSend reports whether op is a SEND.
func IsSend(op qp.WROpcode) bool {
	return op == qp.WRSend || op == qp.WRSendImm || op == qp.WRSendInv
}

// TakesReceive reports whether op consumes a receive of the peer.
func TakesReceive(op qp.WROpcode) bool {
	return IsSend(op) || op == qp.WRWriteImm
}

// size returns a random message length, often near a multiple of the MTU.
func (g *generator) size(mtu int) int {
	n := 0
	switch g.r.IntN(6) {
	case 0:
		n = g.r.IntN(10)
	case 1:
		n = mtu*(1+g.r.IntN(4)) + g.r.IntN(3) - 1
	case 2:
		n = g.r.IntN(256)
	case 3:
		n = g.r.IntN(4 * mtu)
	case 4:
		n = mtu * (1 + g.r.IntN(40))
	}
	return min(n, maxRequest)
}

// target returns a random address of n bytes that may be written.
func (g *generator) target(n int) uint64 {
	return MemBase + MemSource + uint64(g.r.IntN(MemSize-MemSource-n))
}

// anywhere returns a random address of n bytes.
func (g *generator) anywhere(n int) uint64 {
	return MemBase + uint64(g.r.IntN(MemSize-n))
}

// pieces splits n bytes at addr into SGEs, some of them empty. Their order in the message may
// differ from their order in memory.
func (g *generator) pieces(addr uint64, n int) []qp.SGE {
	if n == 0 && g.one(2) {
		return nil
	}
	var sg []qp.SGE
	for n > 0 && len(sg) < MaxSGE-1 && !g.one(2) {
		k := g.r.IntN(n + 1)
		sg = append(sg, qp.SGE{Addr: addr, Length: uint32(k)})
		addr, n = addr+uint64(k), n-k
	}
	sg = append(sg, qp.SGE{Addr: addr, Length: uint32(n)})
	if g.one(3) {
		g.r.Shuffle(len(sg), func(i, j int) { sg[i], sg[j] = sg[j], sg[i] })
	}
	return sg
}
