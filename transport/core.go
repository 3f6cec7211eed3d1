package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// defaultPKey is the only P_Key: full member of the default partition, as rxe.
const defaultPKey = 0xffff

// core is what the machines of all service types have in common.
type core struct {
	qp   *qp.QP
	keys *mr.Table

	state qp.State // as of the last Modified, or ERR once the machine failed
	mtu   uint32   // path MTU in bytes

	gather *Gather // of the shard, may be nil

	recv    qp.RecvWQE // the receive being filled
	holding bool       // recv is valid and not completed

	established bool // COMM_EST was raised
	draining    bool // in SQD, and SQ_DRAINED is to be raised
	lastWQE     bool // QP_LAST_WQE_REACHED was raised

	out   bth.Packet // scratch for the packet being built
	wc    qp.WC      // scratch for the completion being made
	count Counters
}

// Counters returns the live counters of this queue pair.
func (c *core) Counters() *Counters { return &c.count }

// ShareGather makes the machine hold back payloads for [mr.Vectored] memory in g. It has to be called before
// the first packet; without it each payload is stored by a call of its own.
func (c *core) ShareGather(g *Gather) { c.gather = g }

// packetOf returns the scratch packet with a BTH that has the fields all packets share. Extension
// headers that the opcode does not name hold what they held before, which nobody reads.
func (c *core) packetOf(op bth.Opcode, psn bth.PSN) *bth.Packet {
	p := &c.out
	p.Opcode, p.PSN = op, psn
	p.Solicited, p.AckReq = false, false
	p.MigReq = true // the initial migration state is "migrated" (IBA 9.2.6), as RNICs send it
	p.PKey = defaultPKey
	p.DestQP = c.qp.Attr.DestQPN
	return p
}

// transmission is the state of one call of Transmit.
type transmission struct {
	core *core
	now  Time
	path *packet.Path
	dst  *packet.Batch
	left int
	full bool // something could be sent but there was no room
	stage
}

// ahead is how many bytes of a message, of which left are to be sent, the packet whose frame was taken
// and those that may follow in this call can carry.
func (x *transmission) ahead(left uint64, mtu uint32) uint64 {
	return min(left, uint64(x.left+1)*uint64(mtu))
}

// frame returns the next frame with the header of p, or nil when there is no room.
func (x *transmission) frame(p *bth.Packet, payload uint64) *packet.Frame {
	if x.left == 0 {
		x.full = true
		return nil
	}
	f := x.dst.Next()
	if f == nil {
		x.full = true
		return nil
	}
	x.left--
	x.core.count.SentPackets++
	p.Pad = uint8(-payload & 3)
	f.Path = x.path
	f.Header = p.AppendHeaders(f.Header)
	for range p.Pad {
		f.Trailer = append(f.Trailer, 0)
	}
	return f
}
