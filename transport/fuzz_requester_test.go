package transport

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// responsePacket builds a packet with all fields chosen by the program.
func (b *bench) responsePacket(op bth.Opcode) *bth.Packet {
	r := &b.c.req
	p := &bth.Packet{Opcode: op, PKey: 0xffff, DestQP: 0x11}
	p.PSN = pick(b, r.una, r.una, r.send, r.next).Add(pick[uint32](b, 0, 0, 0xffffff, 1, 0xfffffe, 2, 3, 1<<23))
	p.AETH.Syndrome = pick(b, bth.AckUnlimited, bth.AckUnlimited, bth.NakPSNSequence, bth.RNR(1), bth.RNR(0),
		bth.NakInvalidRequest, bth.NakRemoteAccess, bth.NakRemoteOperational, bth.NakInvalidRD, 0x6a, 0x9f, 0x00)
	v := b.byte()
	p.AtomicAck = uint64(v &^ 0x80) // never the secret, because it is stored in memory that may be sent later
	p.MigReq = v&0x80 == 0          // otherwise the packet looks like one of Linux rxe
	n := pick(b, -1, -1, -1, 0, 1, benchMTU-1, benchMTU, benchMTU+1)
	if n < 0 {
		n = b.rightLength(p.PSN)
	}
	p.Payload = benchPayload[:n]
	return p
}

// rightLength returns the payload length that a READ response with this PSN should have.
func (b *bench) rightLength(psn bth.PSN) int {
	if b.q.SQ.Len() == 0 {
		return 0
	}
	w := b.q.SQ.At(b.q.SQ.Head())
	i := uint64(distance(w.FirstPSN, psn))
	if w.Opcode != qp.WRRead || i*benchMTU >= w.Length {
		return 0
	}
	return int(min(w.Length-i*benchMTU, benchMTU))
}

// FuzzRequester plays a peer that sends arbitrary responses: to requests never sent, with wrong
// contents, or again. Work requests complete once and in order, and at most a window is
// outstanding.
func FuzzRequester(f *testing.F) {
	responses := []bth.Opcode{
		bth.RCAck, bth.RCReadResponseFirst, bth.RCReadResponseMiddle,
		bth.RCReadResponseLast, bth.RCReadResponseOnly, bth.RCAtomicAck,
	}
	// A step is the kind of response or, from 0x80 up, another event, and then the fields of the
	// packet: origin of the PSN, distance from it, syndrome, value, length.
	post := func(op, n byte) []byte { return []byte{0x83, op, 0, n, 0} }
	send, timeout := []byte{0x80, 15}, []byte{0x84}
	f.Add(slices.Concat(post(0, 2), post(1, 5), send, []byte{0, 3, 2, 0, 0, 0}, send))
	f.Add(slices.Concat(post(2, 2), send, []byte{1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0}))
	f.Add(slices.Concat(post(2, 5), send, []byte{1, 0, 0, 0, 0, 0, 2, 0, 3, 0, 0, 0}, send, []byte{2, 0, 0, 0, 0, 0}))
	f.Add(slices.Concat(post(3, 0), post(4, 0), send, []byte{5, 0, 0, 0, 1, 0, 5, 0, 0, 0, 2, 0}))
	f.Add(slices.Concat(post(0, 0), send, []byte{0, 0, 0, 3, 0, 0}, timeout, send, []byte{0, 0, 0, 0, 0, 0}))
	f.Add(slices.Concat(post(0, 2), send, []byte{0, 0, 3, 2, 0, 0}, send, timeout, send, timeout, send))
	f.Add(slices.Concat(post(0, 0), post(1, 0), post(0, 0), send, []byte{0, 0, 3, 6, 0, 0}, post(0, 0)))
	f.Add(slices.Concat(post(2, 0), post(0, 0), send, []byte{0, 3, 2, 0, 0, 0}, send, []byte{4, 0, 0, 0, 0, 0}))
	f.Add(slices.Concat(post(1, 5), send, []byte{0x86, 0}, []byte{0, 0, 3, 0, 0, 0}, send))
	// A repair, early packets kept, an unanswered packet, two probes.
	f.Add(slices.Concat(post(1, 5), send, []byte{0, 0, 3, 2, 0, 0}, send, []byte{0, 3, 2, 0, 0, 0}, post(1, 0), send,
		[]byte{0, 0, 0, 0, 0, 0},
		post(1, 5), send, timeout, send, timeout, send, timeout, send))
	// Repairs in vain.
	f.Add(slices.Concat(post(1, 5), send, []byte{0, 0, 0, 2, 0, 0}, send, []byte{0, 0, 0, 2, 0, 0}, send,
		[]byte{0, 0, 3, 2, 0, 0}, send, []byte{0, 0, 0, 0, 0, 0}, send))

	f.Fuzz(func(t *testing.T, program []byte) {
		newBench(qp.RC, program).run(t, func(b *bench) {
			switch kind := b.byte(); {
			case kind >= 0x80:
				b.common(kind)
			case kind >= 0x70:
				b.request(bth.Opcode(b.byte()))
			default:
				b.m.Receive(b.now, b.responsePacket(responses[int(kind)%len(responses)]))
			}
		})
	})
}
