package hostile

import "github.com/gorxe/gorxe/bth"

// strayPackets are packets that no queue pair of the victim may accept.
var strayPackets = []Pattern{
	{Name: "garbage", Description: "64 random bytes", Actor: Stranger, Make: func(f *Flood, _ uint64) Datagram {
		f.buf = append(f.buf[:0], filler[:64]...)
		for i := range f.buf {
			f.buf[i] = byte(f.random.Uint32())
		}
		return Datagram{Bytes: f.buf}
	}},
	{Name: "empty", Description: "UDP datagrams without a byte",
		Actor: Stranger, Make: func(f *Flood, _ uint64) Datagram { return Datagram{} }},
	{Name: "fragments", Description: "datagrams of 20,000 bytes, in IP fragments",
		Actor: Stranger, Make: func(f *Flood, _ uint64) Datagram {
			if len(f.buf) < 20_000 {
				f.buf = make([]byte, 20_000)
			}
			return Datagram{Bytes: f.buf[:20_000], Cut: true}
		}},
	{Name: "wrong-icrc", Description: "SENDs of 8 bytes with a wrong ICRC", Actor: Stranger, Make: wrongICRC(8)},
	{Name: "wrong-icrc-4k", Description: "SENDs of 4,096 bytes with a wrong ICRC, all of which is computed",
		Actor: Stranger, Make: wrongICRC(MTU)},
	{Name: "unknown-qpn", Description: "SENDs to queue pairs that do not exist",
		Actor: Stranger, Make: func(f *Flood, i uint64) Datagram {
			p := f.request(f.own(i), bth.RCSendOnly, bth.PSN(i&0xffffff), 8)
			p.DestQP = unused(f, i)
			return f.sealed(p)
		}},
	{Name: "multicast-qpn", Description: "datagrams to the multicast QPN at a unicast address",
		Actor: Stranger, Make: func(f *Flood, i uint64) Datagram {
			p := f.request(f.own(i), bth.UDSendOnly, bth.PSN(i&0xffffff), 8)
			p.DestQP = bth.MulticastQPN
			return f.sealed(p)
		}},
	{Name: "wrong-source", Description: "WRITEs to the good pair's queue pair from another address",
		Actor: Stranger, Make: toGood(FromSelf)},
	{Name: "forged-good", Description: "WRITEs with random PSN to the good pair's queue pair, under its peer's address",
		Actor: Forger, Make: toGood(FromGood),
		Unheld: "a writer on the path, who knows QPN and address, can break any connection: SECURITY.md"},
	{Name: "odd-headers", Description: "wrong version, reserved opcodes, pad counts past the end, foreign P_Keys, in turn",
		Actor: Peer, Make: func(f *Flood, i uint64) Datagram {
			d := f.sealed(f.request(f.own(i), bth.RCSendOnly, f.own(i).PSN, 8))
			switch i % 5 {
			case 0:
				d.Bytes[1] |= 1
			case 1:
				d.Bytes[0] = 0x1f
			case 2:
				d.Bytes[0] = 0xff
			case 3:
				d.Bytes = d.Bytes[:bth.BTHLen]
				d.Bytes[1] |= 3 << 4
			case 4:
				d.Bytes[3] = 1
			}
			return d
		}},
	{Name: "cnp", Description: "congestion notifications", Actor: Peer, Make: func(f *Flood, i uint64) Datagram {
		f.p = bth.Packet{Opcode: bth.CNP, PKey: 0xffff, BECN: true, DestQP: f.own(i).QPN}
		return f.sealed(&f.p)
	}},
	{Name: "wrong-service", Description: "unreliable requests to a reliable queue pair",
		Actor: Peer, Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.request(f.own(i), bth.UCWriteOnly, f.own(i).PSN, 8))
		}},
}

func wrongICRC(n int) func(*Flood, uint64) Datagram {
	return func(f *Flood, i uint64) Datagram {
		d := f.sealed(f.request(f.own(i), bth.RCSendOnly, f.own(i).PSN, n))
		d.Sealed, d.Broken = false, true
		return d
	}
}

// unused returns a queue pair number that the victim does not use.
func unused(f *Flood, i uint64) bth.QPN {
	n := bth.QPN(i*7919)&0xffff00 | 0xff
	for _, o := range f.Own {
		if n == o.QPN {
			n ^= 1
		}
	}
	if n == f.GoodQPN {
		n ^= 2
	}
	return n
}

func toGood(from Source) func(*Flood, uint64) Datagram {
	return func(f *Flood, i uint64) Datagram {
		p := f.request(f.own(i), bth.RCWriteOnly, bth.PSN(f.random.Uint32()&0xffffff), 8)
		p.DestQP = f.GoodQPN
		d := f.sealed(p)
		d.From = from
		return d
	}
}
