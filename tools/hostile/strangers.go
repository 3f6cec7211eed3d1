package hostile

import "github.com/gorxe/gorxe/bth"

// aliens are packets that no queue pair of the victim may accept.
var aliens = []Pattern{
	{Name: "garbage", Does: "64 random bytes", By: Stranger, Make: func(f *Flood, _ uint64) Datagram {
		f.buf = append(f.buf[:0], filler[:64]...)
		for i := range f.buf {
			f.buf[i] = byte(f.random.Uint32())
		}
		return Datagram{Bytes: f.buf}
	}},
	{Name: "empty", Does: "UDP datagrams without a byte",
		By: Stranger, Make: func(f *Flood, _ uint64) Datagram { return Datagram{} }},
	{Name: "fragments", Does: "datagrams of 20,000 bytes, in IP fragments",
		By: Stranger, Make: func(f *Flood, _ uint64) Datagram {
			if len(f.buf) < 20_000 {
				f.buf = make([]byte, 20_000)
			}
			return Datagram{Bytes: f.buf[:20_000], Cut: true}
		}},
	{Name: "wrong-icrc", Does: "SENDs of 8 bytes with a wrong ICRC", By: Stranger, Make: wrongICRC(8)},
	{Name: "wrong-icrc-4k", Does: "SENDs of 4,096 bytes with a wrong ICRC, all of which is computed",
		By: Stranger, Make: wrongICRC(MTU)},
	{Name: "unknown-qpn", Does: "SENDs to queue pairs that do not exist",
		By: Stranger, Make: func(f *Flood, i uint64) Datagram {
			p := f.request(f.own(i), bth.RCSendOnly, bth.PSN(i&0xffffff), 8)
			p.DestQP = unused(f, i)
			return f.sealed(p)
		}},
	{Name: "multicast-qpn", Does: "datagrams to the multicast QPN at a unicast address",
		By: Stranger, Make: func(f *Flood, i uint64) Datagram {
			p := f.request(f.own(i), bth.UDSendOnly, bth.PSN(i&0xffffff), 8)
			p.DestQP = bth.MulticastQPN
			return f.sealed(p)
		}},
	{Name: "wrong-source", Does: "WRITEs to the good pair's queue pair from another address",
		By: Stranger, Make: toGood(FromSelf)},
	{Name: "forged-good", Does: "WRITEs with random PSN to the good pair's queue pair, under its peer's address",
		By: Forger, Make: toGood(FromGood),
		Unheld: "a writer on the path, who knows QPN and address, can break any connection: SECURITY.md"},
	{Name: "odd-headers", Does: "wrong version, reserved opcodes, pad counts past the end, foreign P_Keys, in turn",
		By: Peer, Make: func(f *Flood, i uint64) Datagram {
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
	{Name: "cnp", Does: "congestion notifications", By: Peer, Make: func(f *Flood, i uint64) Datagram {
		f.p = bth.Packet{Opcode: bth.CNP, PKey: 0xffff, BECN: true, DestQP: f.own(i).QPN}
		return f.sealed(&f.p)
	}},
	{Name: "wrong-service", Does: "unreliable requests to a reliable queue pair",
		By: Peer, Make: func(f *Flood, i uint64) Datagram {
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
