package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// The PSNs of a long WRITE or READ need not be those of one message on the wire: a responder cannot
// tell several WRITEs or READs with consecutive PSNs and addresses from shorter work requests. Two
// things decide how many PSNs each takes (SendWQE.Chunk):
//
//   - The responses of a READ have no flow control of their own, so one request asks for at most
//     Config.ReadChunk of them.
//   - Segmentation offload sends packets of equal length in one call. FIRST carries a RETH or AETH
//     that MIDDLE does not, so each message of several packets breaks the train. WRITE ONLY packets,
//     each with a RETH of its own, are all of one length, and so are READ responses FIRST and LAST,
//     which both carry an AETH.
//
// Linux rxe gets whole messages: in two virtual machines it takes WRITEs of one packet each at 0.8
// times the rate of whole ones.

// readPair is the number of responses of a READ request whose responses have equal lengths.
const readPair = 2

// chunkOf returns how many PSNs each READ request or WRITE message of w takes. trains says that the
// link has segmentation offload.
func (c *RC) chunkOf(w *qp.SendWQE, trains bool) uint32 {
	trains = trains && c.peer == peerRNIC
	switch {
	case w.Opcode == qp.WRRead && trains && readPair*uint32(c.qp.Attr.MaxRdAtomic) >= c.window:
		return min(readPair, c.chunk)
	case w.Opcode == qp.WRRead:
		return c.chunk
	case w.Opcode == qp.WRWrite && trains:
		return 1
	}
	return w.Packets
}

// chunkRETH returns the RETH of the READ request or WRITE message that begins at a packet of w and
// takes n PSNs.
func (c *core) chunkRETH(w *qp.SendWQE, packet, n uint32) bth.RETH {
	off := uint64(packet) * uint64(c.mtu)
	return bth.RETH{
		VA:     w.RemoteAddr + off,
		RKey:   w.RKey,
		DMALen: uint32(min(w.Length-off, uint64(n)*uint64(c.mtu))),
	}
}
