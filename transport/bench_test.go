package transport

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

var benchSizes = []struct {
	name    string
	bytes   int
	packets int // with path MTU 4096
}{{"64B", 64, 1}, {"64KiB", 65536, 16}}

// BenchmarkRequester measures a requester alone: a WRITE is posted and split into packets, its
// acknowledgement arrives and it completes.
func BenchmarkRequester(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(size.name, func(b *testing.B) {
			w := newPump(4096)
			rc, wcs := w.rc[0], make([]qp.WC, 4)
			wr := &qp.SendWR{Opcode: qp.WRWrite, RKey: w.reg[1].RKey(),
				SGList: []qp.SGE{{Length: uint32(size.bytes), LKey: w.reg[0].LKey()}}}
			ack := bth.Packet{Opcode: bth.RCAck, PKey: 0xffff, DestQP: 16, AETH: bth.AETH{Syndrome: bth.AckUnlimited}}
			ack.PSN = ack.PSN.Sub(1)
			one := func() {
				if err := w.qp[0].SQ.Push(wr); err != nil {
					b.Fatal(err)
				}
				rc.Posted()
				rc.Transmit(w.now, nil, w.batch, 64)
				if w.batch.Len() != size.packets {
					b.Fatalf("%d packets, want %d", w.batch.Len(), size.packets)
				}
				w.batch.Reset()
				ack.PSN = ack.PSN.Add(uint32(size.packets))
				ack.AETH.MSN = (ack.AETH.MSN + 1) & 0xffffff
				if v := rc.Receive(w.now, &ack); v != Accepted {
					b.Fatal(v)
				}
				if w.cq[0].Poll(wcs) != 1 {
					b.Fatal("it did not complete")
				}
			}
			perPacket(b, size.packets, size.bytes, one)
		})
	}
}

// BenchmarkResponder measures a responder alone: the packets of a WRITE arrive, their payload is
// copied, and they are acknowledged.
func BenchmarkResponder(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(size.name, func(b *testing.B) {
			w := newPump(4096)
			rc, payload := w.rc[1], make([]byte, size.bytes/size.packets)
			p := bth.Packet{PKey: 0xffff, DestQP: 17, Payload: payload,
				RETH: bth.RETH{RKey: w.reg[1].RKey(), DMALen: uint32(size.bytes)}}
			one := func() {
				for i := range size.packets {
					p.Opcode, p.AckReq = bth.RCWriteMiddle, false
					switch {
					case size.packets == 1:
						p.Opcode, p.AckReq = bth.RCWriteOnly, true
					case i == 0:
						p.Opcode = bth.RCWriteFirst
					case i == size.packets-1:
						p.Opcode, p.AckReq = bth.RCWriteLast, true
					}
					if v := rc.Receive(w.now, &p); v != Accepted {
						b.Fatal(v)
					}
					p.PSN = p.PSN.Add(1)
				}
				rc.Transmit(w.now, nil, w.batch, 64)
				if w.batch.Len() != 1 {
					b.Fatalf("%d packets, want an acknowledgement", w.batch.Len())
				}
				w.batch.Reset()
			}
			perPacket(b, size.packets, size.bytes, one)
		})
	}
}

// perPacket measures one, which handles one message of the given size.
func perPacket(b *testing.B, packets, bytes int, one func()) {
	for range 200 {
		one()
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		one()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*packets), "ns/packet")
}
