package transport

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// requestPacket builds a packet with all fields chosen by the program.
func (b *bench) requestPacket(op bth.Opcode) *bth.Packet {
	p := &bth.Packet{Opcode: op, PKey: 0xffff, DestQP: 0x11}
	expected := bth.PSN(0)
	if b.c != nil {
		expected = b.c.rsp.expected
	} else {
		expected = b.uc.expected
	}
	p.PSN = expected.Add(pick[uint32](b, 0, 0, 0, 0, 1, 0xffffff, 2, 0xfffffe, 3, 0xfffffb, 16, 0xfffff0, 1<<23,
		1<<23-1, 1<<23+1))
	n := pick(b, benchMTU, 8, 0, 1, benchMTU-1, benchMTU+1, 4, 44)
	p.Payload = benchPayload[:n]
	place := int(b.byte()) % benchPlaces
	key := pick(b, 0, 0, 0, 0, 1, 2, 3, 4)
	rkey := b.regions[place].RKey()
	switch key {
	case 1:
		rkey = b.stale
	case 2:
		rkey ^= 1 // another variant
	case 3:
		rkey = 0
	case 4:
		rkey ^= 0x100 // another index
	}
	va := b.iova(place) + pick[uint64](b, 0, 0, 8, 1, 256, benchPage-256, benchPage-8, benchPage-1, benchPage,
		^uint64(0), ^uint64(0)-b.iova(place)+1, ^uint64(7)-b.iova(place)+1)
	dma := pick(b, uint32(n), uint32(n), uint32(n)+1, 0, 8, 256, 257, 300, 512, 1000, benchPage, benchPage+1, 1<<31,
		1<<31+1, 1<<32-1)
	p.RETH = bth.RETH{VA: va, RKey: rkey, DMALen: dma}
	p.AtomicETH = bth.AtomicETH{VA: va, RKey: rkey, SwapAdd: uint64(dma), Compare: uint64(n)}
	p.InvalidateRKey = rkey
	flags := b.byte()
	p.AckReq, p.Solicited, p.MigReq = flags&1 != 0, flags&2 != 0, flags&4 != 0
	p.FETH = bth.FETH{}
	return p
}

// FuzzResponder plays a peer that sends arbitrary requests to a queue pair that permits WRITEs,
// READs and atomics, and that knows some of its keys. Memory without the right key is neither
// changed nor disclosed, work requests complete once, and nothing grows without limit.
func FuzzResponder(f *testing.F) {
	requests := requestsOf(bth.ServiceRC)
	// A step is the kind of packet or, from 0xc0 up, another event, and then the fields of the
	// packet: PSN, length, region, key, address, DMA length, flags.
	packet := func(op bth.Opcode, fields ...byte) []byte {
		step := make([]byte, 8)
		step[0] = byte(slices.Index(requests, op))
		copy(step[1:], fields)
		return step
	}
	recv, send := []byte{0xc2, 0}, []byte{0xc0, 15}
	f.Add(slices.Concat(recv, packet(bth.RCSendOnly, 0, 1, 0, 0, 0, 0, 1), send))
	f.Add(slices.Concat(recv, packet(bth.RCSendFirst), packet(bth.RCSendMiddle),
		packet(bth.RCSendLastImm, 0, 3, 0, 0, 0, 0, 3), send))
	f.Add(slices.Concat(packet(bth.RCWriteFirst, 0, 0, 0, 0, 0, 9), packet(bth.RCWriteMiddle),
		packet(bth.RCWriteMiddle), send))
	f.Add(slices.Concat(packet(bth.RCReadRequest, 0, 2, 1, 0, 0, 9, 1), send,
		packet(bth.RCReadRequest, 7, 2, 1, 0, 4, 9, 1), send))
	f.Add(slices.Concat(packet(bth.RCFetchAdd, 0, 2, 2), packet(bth.RCCmpSwap, 0, 2, 2), send,
		packet(bth.RCFetchAdd, 5, 2, 2), send))
	f.Add(slices.Concat(packet(bth.RCWriteOnly, 4), send, packet(bth.RCWriteOnly, 0, 0, 4), send))
	f.Add(slices.Concat(packet(bth.RCReadRequest, 0, 2, 0, 0, 0, 10, 1), []byte{0xc0, 2, 0xc6, 0}, send))
	f.Add(slices.Concat(packet(bth.RCWriteOnly, 0, 1, 0, 0, 10, 0, 1), send))
	f.Add(slices.Concat(packet(bth.RCSendOnly), send, recv, packet(bth.RCSendOnly),
		packet(bth.RCSendOnlyInv, 0, 1, 0), send))
	f.Add(slices.Concat(packet(bth.RCWriteLast), []byte{0xc7, 2}, send))
	f.Add(slices.Concat(packet(bth.RCFlush, 0, 2, 0), send))
	// Two gaps and the packets that close them; then a kept SEND without a receive.
	f.Add(slices.Concat(packet(bth.RCWriteOnly, 4, 1, 0, 0, 0, 0, 4), packet(bth.RCFetchAdd, 8, 2, 2, 0, 0, 0, 4), send,
		packet(bth.RCWriteOnly, 0, 1, 0, 0, 0, 0, 4), send, packet(bth.RCReadRequest, 0, 2, 0, 0, 0, 0, 4), send,
		packet(bth.RCSendOnly, 4, 1, 0, 0, 0, 0, 4), packet(bth.RCWriteOnly, 0, 1, 0, 0, 0, 0, 4), send))
	f.Add(slices.Concat(packet(bth.RCAtomicWrite, 0, 1, 0), send))

	f.Fuzz(func(t *testing.T, program []byte) { runRequests(t, qp.RC, requests, program) })
}

// FuzzUnreliable is FuzzResponder for an unreliable connection.
func FuzzUnreliable(f *testing.F) {
	requests := requestsOf(bth.ServiceUC)
	for i := range requests {
		f.Add([]byte{0xc2, 0, byte(i), 0, 0, 0, 0, 0, 0, 0,
			byte(i + 1), 0, 0, 0, 0, 0, 0, 0, 0xc3, 0, 0, byte(i), 0xc0, 15})
	}
	f.Fuzz(func(t *testing.T, program []byte) { runRequests(t, qp.UC, requests, program) })
}

// requestsOf returns the opcodes of all requests of a service.
func requestsOf(service bth.Service) (ops []bth.Opcode) {
	for op := range bth.Opcodes() {
		if info := op.Info(); info.Service == service && info.Request() {
			ops = append(ops, op)
		}
	}
	return ops
}

func runRequests(t *testing.T, service qp.Type, requests []bth.Opcode, program []byte) {
	newBench(service, program).run(t, func(b *bench) {
		switch kind := b.byte(); {
		case kind >= 0xc0:
			b.common(kind)
		case kind >= 0xb0:
			b.request(bth.Opcode(b.byte()))
		default:
			b.request(requests[int(kind)%len(requests)])
		}
	})
}
