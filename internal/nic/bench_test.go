package nic

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// BenchmarkSeal computes the ICRC of an outgoing frame, including its IP header.
func BenchmarkSeal(b *testing.B) {
	for _, size := range []int{64, 4096} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			o := &outbox{gid: &gid{local: addrA}}
			batch := packet.NewBatch(1)
			f := batch.AppendFrame()
			f.Path = &packet.Path{Src: addrA, Dst: addrB}
			f.Header = append(f.Header, make([]byte, bth.BTHLen)...)
			f.Payload = append(f.Payload, make([]byte, size))
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				o.seal(f)
				f.Trailer = f.Trailer[:0]
			}
		})
	}
}

// BenchmarkCheck does all processing of a received frame before the lock: decoding, addresses,
// ICRC.
func BenchmarkCheck(b *testing.B) {
	for _, size := range []int{64, 4096} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			const frames = 32
			in := checkingInbox(b, addrA)
			p := bth.Packet{Opcode: bth.RCWriteMiddle, PKey: 0xffff, DestQP: 17, Payload: make([]byte, size)}
			sealed := sealedBy(&outbox{gid: &gid{local: addrB}}, addrA, p.Append(nil))
			for range frames {
				in.rb.Frames = append(in.rb.Frames, sealed)
			}
			b.SetBytes(frames * int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if in.check() != frames {
					b.Fatal("a frame is refused")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*frames), "ns/packet")
		})
	}
}

// checkingInbox returns an inbox of a new device, which receives nothing by itself.
func checkingInbox(b *testing.B, addr netip.Addr) *inbox {
	b.Helper()
	link := openLink(b, pipe.NewNet(), addr)
	d := openDevice(b, 1, link)
	b.Cleanup(func() { d.Close() })
	g, err := newGID(link, 0, 1)
	if err != nil {
		b.Fatal(err)
	}
	return newInbox(g, d.shard0())
}

// sealedBy returns the packet raw as it is received at to from o.
func sealedBy(o *outbox, to netip.Addr, raw []byte) packet.Received {
	f := packet.NewBatch(1).AppendFrame()
	f.Path = &packet.Path{Src: o.local, Dst: to}
	f.FlagsFragment = packet.DontFragment
	f.Header = raw
	o.seal(f)
	return packet.Received{Data: append(raw, f.Trailer...), Src: o.local, Dst: to, FlagsFragment: packet.DontFragment}
}

// BenchmarkCompletion is a completion from a machine to a program that polls.
func BenchmarkCompletion(b *testing.B) {
	d := openDevice(b, 1, openLink(b, pipe.NewNet(), addrA))
	defer d.Close()
	cq, err := d.CreateCQ(256)
	if err != nil {
		b.Fatal(err)
	}
	wc := &qp.WC{}
	var got [16]qp.WC
	b.ReportAllocs()
	for b.Loop() {
		for range got {
			cq.Complete(wc)
		}
		if cq.Poll(got[:]) != len(got) {
			b.Fatal("a completion is lost")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(got)), "ns/completion")
}

// BenchmarkTimers sets a deadline, lets it expire and sets it again, among those of many queue
// pairs.
func BenchmarkTimers(b *testing.B) {
	for _, n := range []int{1, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("%d QPs", n), func(b *testing.B) {
			t := newTimers()
			defer t.runtime.Stop()
			now := transport.Time(0)
			for i := range n {
				t.at(&QP{slot: noSlot}, now, now+transport.Time(i+1)<<tickBits)
			}
			b.ReportAllocs()
			for b.Loop() {
				now += 1 << tickBits
				q := t.due(now)
				if q == nil {
					b.Fatal("nothing is due")
				}
				t.at(q, now, now+transport.Time(n)<<tickBits)
				t.rearm(now)
			}
		})
	}
}
