package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// A long WRITE or READ need not be one message on the wire. A responder cannot tell several WRITEs
// or READs with consecutive PSNs and addresses from shorter work requests. A work request is
// therefore sent as messages of SendWQE.Chunk PSNs each, for two reasons:
//
//   - READ responses have no flow control of their own, so one READ request asks for at most
//     Config.ReadChunk of them.
//   - Segmentation offload sends a train, packets of equal length, in one call. The FIRST packet
//     of a message has a RETH or AETH that a MIDDLE packet does not have, so each message of
//     several packets ends a train. WRITE ONLY packets, each with a RETH, have equal lengths, and
//     so do the READ responses FIRST and LAST, both with an AETH.
//
// Linux rxe gets whole messages: between two virtual machines it receives WRITEs of one packet each
// at 0.8 times the rate of longer messages.

// readPair is the number of responses to a READ request that has only the responses FIRST and LAST,
// which have equal lengths because both have an AETH.
const readPair = 2

// chunkOf returns the value of SendWQE.Chunk for w: the number of PSNs of each READ request or
// WRITE message that w is sent as. trains reports whether the link has segmentation offload. A
// WRITE with immediate data and a SEND stay whole, because the completion of their receive has the
// length of one message.
func (c *RC) chunkOf(w *qp.SendWQE, trains bool) uint32 {
	trains = trains && c.peer == peerRNIC
	switch {
	// Pairs fill the window only if max_rd_atomic allows that many of them.
	case w.Opcode == qp.WRRead && trains && readPair*uint32(c.qp.Attr.MaxRdAtomic) >= c.window:
		return min(readPair, c.chunk)
	case w.Opcode == qp.WRRead:
		return c.chunk
	case w.Opcode == qp.WRWrite && trains:
		return 1
	}
	return w.Packets
}

// chunkRETH returns the RETH of the READ request or WRITE message that begins at the given packet
// of w and uses n PSNs. Its length is the path MTU for each PSN, less in the last chunk; the sum is
// the length of the work request.
func (c *core) chunkRETH(w *qp.SendWQE, packet, n uint32) bth.RETH {
	off := uint64(packet) * uint64(c.mtu)
	return bth.RETH{
		VA:     w.RemoteAddr + off,
		RKey:   w.RKey,
		DMALen: uint32(min(w.Length-off, uint64(n)*uint64(c.mtu))),
	}
}
