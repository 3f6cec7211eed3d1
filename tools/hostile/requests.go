package hostile

import "github.com/gorxe/gorxe/bth"

// requests are requests of a peer. Some are legal, but not in such numbers.
var requests = []Pattern{
	{Name: "dup-send", Description: "duplicates of a SEND, each of which is acknowledged",
		Actor: Peer, Make: before(bth.RCSendOnly, 8)},
	{Name: "dup-write", Description: "duplicates of a WRITE of 8 bytes", Actor: Peer, Make: before(bth.RCWriteOnly, 8)},
	{Name: "dup-write-4k", Description: "duplicates of a WRITE of 4,096 bytes", Actor: Peer,
		Make: before(bth.RCWriteOnly, MTU)},
	{Name: "dup-read-64k", Description: "duplicates of a READ of 64 KiB that was answered",
		Actor: Peer, Legal: true, Setup: once(read(64 << 10)), Make: read(64 << 10)},
	{Name: "dup-read-1m", Description: "duplicates of a READ of 1 MiB",
		Actor: Peer, Legal: true, Setup: once(read(1 << 20)), Make: read(1 << 20)},
	{Name: "dup-read-2g", Description: "duplicates of a READ of 2 GiB that is being answered",
		Actor: Peer, Legal: true, Setup: once(read(bigLen)), Make: read(bigLen)},
	{Name: "dup-read-middle", Description: "duplicates of a READ of 2 GiB that ask for it from ever other places",
		Actor: Peer, Legal: true, Setup: once(read(bigLen)), Make: func(f *Flood, i uint64) Datagram {
			const packets = bigLen / MTU
			k := uint32(i*104729) % packets
			o := f.own(i)
			p := f.request(o, bth.RCReadRequest, o.PSN.Add(k), bigLen-int(k)*MTU)
			p.RETH.VA, p.RETH.RKey = o.BigVA+uint64(k)*MTU, o.BigRKey
			return f.sealed(p)
		}},
	{Name: "dup-read-qps", Description: "duplicates of READs of 1 MiB at 16 queue pairs",
		Actor: Peer, Needs: Needs{QPs: 16}, Legal: true, Setup: once(read(1 << 20)), Make: read(1 << 20)},
	{Name: "dup-read-256", Description: "duplicates of a READ of 1 MiB at path MTU 256: 4,096 packets for each",
		Actor: Peer, Needs: Needs{MTU: 256}, Legal: true, Setup: once(read(1 << 20)), Make: read(1 << 20)},
	{Name: "new-reads", Description: "READs of 64 KiB one after the other, without waiting",
		Actor: Peer, Needs: Needs{Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			o := f.own(i)
			return f.sealed(f.request(o, bth.RCReadRequest, o.PSN.Add(uint32(i)*(64<<10/MTU)), 64<<10))
		}},
	{Name: "dup-atomic", Description: "duplicates of a FETCH_ADD", Actor: Peer, Legal: true, Setup: once(fetchAdd),
		Make: fetchAdd},
	{Name: "far-ahead", Description: "WRITEs of 4,096 bytes behind a gap, which the responder keeps",
		Actor: Peer, Make: func(f *Flood, i uint64) Datagram {
			o := f.own(i)
			return f.sealed(f.request(o, bth.RCWriteOnly, o.PSN.Add(1+uint32(i)%2040), MTU))
		}},
	{Name: "far-ahead-qps", Description: "the same at 16 queue pairs, which takes all of the memory for it",
		Actor: Peer, Needs: Needs{QPs: 16}, Make: func(f *Flood, i uint64) Datagram {
			o := f.own(i)
			return f.sealed(f.request(o, bth.RCWriteOnly, o.PSN.Add(1+uint32(i/16)%2040), MTU))
		}},
	{Name: "early-walk", Description: "first 2,000 packets behind a gap, then the last but one of them again and again",
		Actor: Peer, Needs: Needs{MTU: 256},
		Setup: func(f *Flood) (out []Datagram) {
			for i := range uint32(2000) {
				out = append(out, copied(f.sealed(f.request(&f.Own[0], bth.RCWriteOnly, f.Own[0].PSN.Add(1+i), 8))))
			}
			return out
		},
		Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.request(&f.Own[0], bth.RCWriteOnly, f.Own[0].PSN.Add(1999), 8))
		}},
	{Name: "gap-and-close", Description: "a thousand packets behind a gap, what closes it, and so on",
		Actor: Peer, Needs: Needs{MTU: 256}, Make: func(f *Flood, i uint64) Datagram {
			const n = 1000
			o := f.own(i)
			k := uint32(i % n)
			if k++; k == n {
				k = 0
			}
			return f.sealed(f.request(o, bth.RCWriteOnly, o.PSN.Add(uint32(i/n)*n+k), 8))
		}},
	{Name: "behind", Description: "SENDs with PSNs from before the connection",
		Actor: Peer, Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.request(f.own(i), bth.RCSendOnly, f.own(i).PSN.Sub(1+uint32(i)%1000), 8))
		}},
	{Name: "wild-psn", Description: "WRITEs with random PSNs", Actor: Peer, Make: func(f *Flood, i uint64) Datagram {
		return f.sealed(f.request(f.own(i), bth.RCWriteOnly, bth.PSN(f.random.Uint32()&0xffffff), 8))
	}},
	{Name: "key-guess", Description: "WRITEs with random keys; each ends a queue pair",
		Actor: Peer, Needs: Needs{QPs: 16, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			p := f.request(f.own(i), bth.RCWriteOnly, f.own(i).PSN, 8)
			p.RETH.RKey = f.random.Uint32()
			return f.sealed(p)
		}},
	{Name: "refused-atomic", Description: "atomics at addresses that no atomic takes",
		Actor: Peer, Needs: Needs{QPs: 16, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			p := f.request(f.own(i), bth.RCCmpSwap, f.own(i).PSN, 8)
			p.AtomicETH.VA++
			return f.sealed(p)
		}},
	{Name: "invalidate-guess", Description: "SENDs that invalidate random keys",
		Actor: Peer, Needs: Needs{QPs: 16, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			p := f.request(f.own(i), bth.RCSendOnlyInv, f.own(i).PSN, 8)
			p.InvalidateRKey = f.random.Uint32()
			return f.sealed(p)
		}},
	{Name: "zero-writes", Description: "WRITEs of no byte, one after the other", Actor: Peer,
		Make: inOrder(bth.RCWriteOnly, 0)},
	{Name: "small-writes", Description: "WRITEs of 8 bytes, one after the other, each to be acknowledged",
		Actor: Peer, Make: inOrder(bth.RCWriteOnly, 8)},
	{Name: "atomics", Description: "FETCH_ADDs, one after the other", Actor: Peer, Make: inOrder(bth.RCFetchAdd, 8)},
	{Name: "flushes", Description: "FLUSHes of a region", Actor: Peer, Make: func(f *Flood, i uint64) Datagram {
		o := f.own(i)
		p := f.request(o, bth.RCFlush, o.PSN.Add(uint32(i)), 8)
		p.FETH = bth.FETH{Type: 1, Level: 1}
		return f.sealed(p)
	}},
	{Name: "endless-write", Description: "a WRITE of 2 GiB whose end never comes, and then from the beginning",
		Actor: Peer, Make: func(f *Flood, i uint64) Datagram {
			o := f.own(i)
			op := bth.RCWriteMiddle
			if i == 0 {
				op = bth.RCWriteFirst
			}
			p := f.request(o, op, o.PSN.Add(uint32(i)), MTU)
			p.RETH = bth.RETH{VA: o.BigVA, RKey: o.BigRKey, DMALen: bigLen}
			return f.sealed(p)
		}},
	{Name: "same-first", Description: "the FIRST of a WRITE again and again",
		Actor: Peer, Make: func(f *Flood, i uint64) Datagram {
			o := f.own(i)
			p := f.request(o, bth.RCWriteFirst, o.PSN, MTU)
			p.RETH.DMALen = 2 * MTU
			return f.sealed(p)
		}},
	{Name: "rnr", Description: "SENDs that find no receive", Actor: Peer, Make: again(bth.RCSendOnly, 8)},
	{Name: "rnr-4k", Description: "SENDs of 4,096 bytes that find no receive", Actor: Peer,
		Make: again(bth.RCSendOnly, MTU)},
	{Name: "rnr-imm", Description: "WRITEs with immediate data that find no receive",
		Actor: Peer, Make: again(bth.RCWriteOnlyImm, 8)},
}

// before returns a maker of duplicates of the last request before the connection.
func before(op bth.Opcode, n int) func(*Flood, uint64) Datagram {
	return func(f *Flood, i uint64) Datagram { return f.sealed(f.request(f.own(i), op, f.own(i).PSN.Sub(1), n)) }
}

// again returns a maker of the request that is expected next, always the same.
func again(op bth.Opcode, n int) func(*Flood, uint64) Datagram {
	return func(f *Flood, i uint64) Datagram { return f.sealed(f.request(f.own(i), op, f.own(i).PSN, n)) }
}

func inOrder(op bth.Opcode, n int) func(*Flood, uint64) Datagram {
	return func(f *Flood, i uint64) Datagram {
		return f.sealed(f.request(f.own(i), op, f.own(i).PSN.Add(uint32(i)), n))
	}
}

// read returns a maker of a READ of the first n bytes of the large region, at the first PSN.
func read(n int) func(*Flood, uint64) Datagram {
	return func(f *Flood, i uint64) Datagram {
		o := f.own(i)
		p := f.request(o, bth.RCReadRequest, o.PSN, n)
		p.RETH.VA, p.RETH.RKey = o.BigVA, o.BigRKey
		return f.sealed(p)
	}
}

func fetchAdd(f *Flood, i uint64) Datagram {
	return f.sealed(f.request(f.own(i), bth.RCFetchAdd, f.own(i).PSN, 8))
}
