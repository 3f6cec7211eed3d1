package transport

import (
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

var (
	pairDistances = []uint32{
		0, 0, 0, 1, 0xffffff, 2, 0xfffffe, 3, 0xfffffb, 16, 0xfffff0, pairWindow, 2*pairWindow - 1, 2 * pairWindow,
		1 << 23, 1<<23 - 1, 1<<23 + 1,
	}
	pairSyndromes = []bth.Syndrome{
		bth.AckUnlimited, bth.AckUnlimited, bth.NakPSNSequence, bth.RNR(1), bth.RNR(0), bth.RNR(31),
		bth.NakInvalidRequest, bth.NakRemoteAccess, bth.NakRemoteOperational, bth.NakInvalidRD, 0x6a, 0x00,
	}
	pairLengths = []uint32{0, 8, benchMTU, 257, 512, 1000, benchPage, benchPage + 1, 1 << 31, 1<<31 + 1, 1<<32 - 1}
	pairSizes   = []int{benchMTU, 8, 0, 1, benchMTU - 1, benchMTU + 1, 4, 44}
	pairOpcodes = slices.Collect(bth.Opcodes())
)

// alter changes one field of a packet in flight; its ICRC is right.
func (m *match) alter() {
	to, i := m.which()
	if i < 0 {
		return
	}
	w := m.wire[m.index(to)]
	var p bth.Packet
	if p.Decode(append(slices.Clone(w[i]), 0, 0, 0, 0)) != nil {
		return
	}
	switch m.byte() % 12 {
	case 0:
		p.Opcode = pick(m, pairOpcodes...)
	case 1:
		p.PSN = p.PSN.Add(pick(m, pairDistances...))
	case 2:
		p.AETH.Syndrome = pick(m, pairSyndromes...)
	case 3:
		p.AETH.MSN ^= 1 << (m.byte() % 24)
	case 4:
		p.RETH.DMALen = pick(m, pairLengths...)
	case 5:
		p.RETH.VA, p.RETH.RKey = to.peer.remote()
		p.AtomicETH.VA, p.AtomicETH.RKey, p.InvalidateRKey = p.RETH.VA, p.RETH.RKey, p.RETH.RKey
	case 6:
		p.Payload = benchPayload[:pick(m, pairSizes...)]
	case 7:
		p.AckReq = !p.AckReq
	case 8:
		p.MigReq = !p.MigReq // looks like Linux rxe, or no longer does
	case 9:
		p.Solicited = !p.Solicited
	case 10:
		p.FECN, p.BECN = true, m.byte()&1 != 0
	case 11:
		raw := p.Append(nil)
		raw[1] = raw[1]&^0x30 | m.byte()&3<<4 // pad count
		w[i] = raw
		return
	}
	w[i] = p.Append(nil)
}

// forge builds an arbitrary packet and delivers it as if the peer had sent it.
func (m *match) forge() {
	to := m.end()
	p := &bth.Packet{Opcode: pick(m, pairOpcodes...), PKey: defaultPKey, DestQP: to.q.Num}
	at := to.c.Progress()
	if info := p.Opcode.Info(); info.Response() {
		p.PSN = pick(m, at.AckPSN, at.AckPSN, at.SendPSN)
	} else {
		p.PSN = at.RecvPSN
	}
	p.PSN = p.PSN.Add(pick(m, pairDistances...))
	p.AETH.Syndrome = pick(m, pairSyndromes...)
	p.RETH.VA, p.RETH.RKey = to.peer.remote()
	p.RETH.DMALen = pick(m, pairLengths...)
	p.AtomicETH = bth.AtomicETH{VA: p.RETH.VA, RKey: p.RETH.RKey, SwapAdd: 1}
	p.InvalidateRKey = p.RETH.RKey
	p.FETH = bth.FETH{Type: uint8(qp.FlushToGlobal)}
	flags := m.byte()
	p.AckReq, p.Solicited, p.MigReq = flags&1 != 0, flags&2 != 0, flags&4 == 0
	if p.Opcode.Info().Payload {
		n := pick(m, pairSizes...)
		if flags&8 != 0 {
			n = to.rightLength(p.PSN)
		}
		p.Payload = benchPayload[:n]
	}
	times := 1
	if flags&16 != 0 {
		times = 16
	}
	raw := p.Append(nil)
	for range times {
		to.receive(raw)
	}
}

// rightLength returns the payload length that a READ response with this PSN should have.
func (e *pairEnd) rightLength(psn bth.PSN) int {
	if e.q.SQ.Len() == 0 {
		return 0
	}
	w := e.q.SQ.At(e.q.SQ.Head())
	i := uint64(distance(w.FirstPSN, psn))
	if w.Opcode != qp.WRRead || i*benchMTU >= w.Length {
		return 0
	}
	return int(min(w.Length-i*benchMTU, benchMTU))
}

// pairSeeds are programs that reach every step.
func pairSeeds() [][]byte {
	op := func(o bth.Opcode) byte { return byte(slices.Index(pairOpcodes, o)) }
	open := []byte{0, 0} // all rights at both ends
	send := func(end, opcode, n byte, rest ...byte) []byte {
		return append([]byte{stepSend, end, opcode, 0, n, 0}, append(rest, make([]byte, max(0, 3-len(rest)))...)...)
	}
	recv := func(end byte) []byte { return []byte{stepRecv, end, 5} }
	out := func(end byte) []byte { return []byte{stepTransmit, end, 15} }
	deliver := func(to, i byte) []byte { return []byte{stepDeliver, to, i} }
	forge := func(to byte, o bth.Opcode, rest ...byte) []byte {
		// PSN, syndrome, place, offset, key, length, flags, size; a response has the origin of
		// the PSN before it
		return append([]byte{stepForge, to, op(o)}, append(rest, make([]byte, 9-len(rest))...)...)
	}
	run := []byte{stepExchange, stepExchange}
	return [][]byte{
		// No faults: one of each work request, both ways.
		slices.Concat(open, recv(1), recv(0), send(0, 0, 3), send(1, 0, 5), send(0, 1, 5), send(0, 2, 7), run,
			send(1, 3, 0, 2), send(1, 4, 0, 2),
			send(0, 8, 0, 0, 0, 0, 0), send(0, 9, 0), run, run),
		// A peer that permits only WRITEs gets a READ and an atomic, one that permits only READs
		// gets a WRITE.
		slices.Concat([]byte{0, 3}, send(0, 2, 1), run, []byte{stepReconnect}, send(0, 3, 0, 2), run),
		slices.Concat([]byte{0, 4}, send(0, 1, 1), run),
		// A WRITE with one packet lost, one duplicated, and the rest reordered.
		slices.Concat(open, send(0, 1, 5), out(0), []byte{stepDrop, 1, 2}, deliver(1, 3),
			[]byte{stepDuplicate, 1, 1, 3}, run),
		// A READ requested again and again.
		slices.Concat(open, send(0, 2, 7), out(0), []byte{stepDuplicate, 1, 0, 15}, out(1),
			[]byte{stepDuplicate, 1, 0, 15}, out(1), run),
		// The memory of the peer is deregistered between a READ and its duplicate, and during a
		// WRITE.
		slices.Concat(open, send(0, 2, 5), out(0), []byte{stepDuplicate, 1, 0, 0}, out(1), []byte{stepDeregister, 1, 0},
			deliver(1, 0), out(1),
			[]byte{stepRegister, 1, 0}, run),
		slices.Concat(open, send(0, 1, 5), out(0), deliver(1, 0), []byte{stepDeregister, 1, 0}, run),
		// A packet is changed in flight: opcode, PSN, syndrome, length, key, payload, pad.
		slices.Concat(open, send(0, 1, 5), out(0), []byte{stepAlter, 1, 1, 0, op(bth.RCWriteFirst)}, run),
		slices.Concat(open, send(0, 1, 1), out(0), []byte{stepAlter, 1, 0, 1, 5}, run, send(0, 2, 5), out(0),
			[]byte{stepAlter, 1, 0, 4, 5}, run),
		slices.Concat(open, send(0, 0, 1), out(0), deliver(1, 0), out(1), []byte{stepAlter, 0, 0, 2, 2}, run),
		slices.Concat(open, send(0, 1, 1), out(0), []byte{stepAlter, 1, 0, 5, 5, 0, 0}, run),
		slices.Concat(open, send(0, 1, 1), out(0), []byte{stepAlter, 1, 0, 6, 4}, []byte{stepFlip, 1, 0, 1, 0x30}, run),
		// A READ response is lost, then the last acknowledgement; a FLUSH whose region is
		// deregistered.
		slices.Concat(open, send(0, 2, 5), send(0, 3, 0, 2), out(0), deliver(1, 0), deliver(1, 0), out(1),
			[]byte{stepDrop, 0, 0}, run),
		slices.Concat(open, send(0, 1, 1), out(0), deliver(1, 0), out(1), []byte{stepDrop, 0, 0},
			[]byte{stepTimeout, 0}, out(0), run),
		slices.Concat(open, send(0, 8, 0, 0, 0, 0, 0), out(0), []byte{stepDuplicate, 1, 0, 15},
			[]byte{stepDeregister, 1, 0}, run),
		// Forged NAKs: sequence, not ready, refused.
		slices.Concat(open, send(0, 1, 7), send(0, 1, 7), out(0), forge(0, bth.RCAck, 0, 0, 2, 0, 0, 0, 0, 16), out(0),
			forge(0, bth.RCAck, 0, 0, 3), []byte{stepTimeout, 0}, out(0), run),
		slices.Concat(open, send(0, 0, 1), out(0), forge(0, bth.RCAck, 0, 0, 6), run),
		// Forged READ responses, and one that is right.
		slices.Concat(open, forge(0, bth.RCReadResponseOnly, 0, 0, 0), send(0, 2, 1), out(0),
			forge(0, bth.RCReadResponseOnly, 0, 0, 0, 0, 0, 0, 0, 8), run),
		// Requests far ahead, which are kept until the window is full.
		slices.Concat(open, forge(1, bth.RCWriteOnly, 3, 0, 0, 0, 0, 2, 16, 0),
			forge(1, bth.RCWriteOnly, 11, 0, 0, 0, 0, 2), out(1), run),
		// Windows and fast regions are bound and invalidated during requests of the peer.
		slices.Concat(open, []byte{stepLocal, 1, 0, 0, 0}, []byte{stepLocal, 1, 1}, out(1), send(0, 1, 6, 0, 4, 6),
			send(0, 1, 6, 7, 0, 0), out(0),
			[]byte{stepLocal, 1, 2}, []byte{stepLocal, 1, 3}, out(1), run),
		slices.Concat(open, []byte{stepLocal, 1, 0, 0, 0}, out(1), recv(1), send(0, 7, 0, 0, 0, 6), run),
		// SENDs without a receive, until the retries of the peer are used up.
		slices.Concat(open, send(0, 0, 1), run, []byte{stepAdvance, 255}, run, []byte{stepAdvance, 255}, recv(1), run),
		// SQD, ERR, and a new connection with old packets on the wire.
		slices.Concat(open, send(0, 1, 7), out(0), []byte{stepModify, 0, 0}, run, []byte{stepModify, 0, 1},
			send(0, 1, 7), out(0), []byte{stepModify, 1, 3},
			run, []byte{stepReconnect}, recv(1), send(0, 0, 1), run),
	}
}
