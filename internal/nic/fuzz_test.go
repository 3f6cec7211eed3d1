package nic

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/transport"
)

// FuzzReceive sends arbitrary packets to a connected queue pair, with a correct ICRC. They must
// not cause a panic, each is counted once, and memory outside the region does not change. data
// contains packets, each preceded by two bytes: 13 bits of length and, from the top, one bit each
// for "to the existing queue pair", "with the expected PSN" and "with the key of the region in
// the RETH".
func FuzzReceive(f *testing.F) {
	write := bth.Packet{
		Opcode: bth.RCWriteOnly, PKey: 0xffff, AckReq: true,
		RETH: bth.RETH{VA: 0x10000, DMALen: 8}, Payload: []byte("attacked"),
	}
	for _, op := range []bth.Opcode{
		bth.RCSendOnly, bth.RCWriteFirst, bth.RCWriteOnly, bth.RCWriteOnlyImm, bth.RCReadRequest,
		bth.RCAck, bth.RCReadResponseOnly, bth.RCCmpSwap, 0x1f, 0x81,
	} {
		p := write
		p.Opcode = op
		b := p.Append(nil)
		f.Add(append([]byte{0xe0, byte(len(b))}, b...))
	}
	f.Add([]byte{0x80, 0})

	f.Fuzz(func(t *testing.T, data []byte) {
		n := pipe.NewNet()
		memory := bytes.Repeat([]byte{0x5a}, 3*4096)
		e := newEnd(t, 1, openLink(t, n, addrA), 4096)
		defer closeAll(t, e)
		if err := e.dev.Deregister(e.mem); err != nil {
			t.Fatal(err)
		}
		e.register(memory[4096:8192])
		e.connect(e.qp, addrB, peerQPN, peerPSN, usualRetry)

		in := newInbox(e.dev.gids[0], e.dev.shard0())
		psn, packets := peerPSN, 0
		for len(data) >= 2 {
			flags, size := data[0], int(data[0]&0x1f)<<8|int(data[1])
			size = min(size, len(data)-2)
			b := bytes.Clone(data[2 : 2+size])
			data = data[2+size:]
			if flags&0x80 != 0 && len(b) >= bth.BTHLen {
				copy(b[5:8], []byte{byte(e.qp.Num() >> 16), byte(e.qp.Num() >> 8), byte(e.qp.Num())})
				copy(b[2:4], []byte{0xff, 0xff})
			}
			if flags&0x40 != 0 && len(b) >= bth.BTHLen {
				copy(b[9:12], []byte{byte(psn >> 16), byte(psn >> 8), byte(psn)})
				psn = psn.Add(1)
			}
			if flags&0x20 != 0 && len(b) >= bth.BTHLen+bth.RETHLen {
				binary.BigEndian.PutUint32(b[bth.BTHLen+8:], e.mem.RKey())
			}
			in.rb.Frames = append(in.rb.Frames[:0], received4(addrB, addrA, b))
			in.deliver()
			packets++
		}
		if got := e.judged(); got != uint64(packets) {
			t.Errorf("%d packets are counted, %d came", got, packets)
		}
		outside := append(bytes.Clone(memory[:4096]), memory[8192:]...)
		if !bytes.Equal(outside, bytes.Repeat([]byte{0x5a}, len(outside))) {
			t.Error("memory outside the region was written to")
		}
	})
}

// received4 returns b with its ICRC as a link would deliver it over IPv4.
func received4(src, dst netip.Addr, b []byte) packet.Received {
	h := bth.Header4{
		Src: src.As4(), Dst: dst.As4(), FlagsFragment: packet.DontFragment,
		SrcPort: packet.Port, DstPort: packet.Port, UDPLen: bth.UDPHeaderLen + len(b) + bth.ICRCLen,
	}
	return packet.Received{
		Data: bth.AppendICRC(b, bth.ICRC(h.Seed(), b)), Src: src, Dst: dst, SrcPort: packet.Port,
		HeaderSeen: true, FlagsFragment: packet.DontFragment,
	}
}

// judged returns the number of packets that were dropped or passed to a machine.
func (e *end) judged() (n uint64) {
	for _, d := range e.drops() {
		n += d
	}
	for v := range transport.NumVerdicts {
		n += e.counter("verdict_" + v.String())
	}
	return n
}
