package hostile

import "github.com/gorxe/gorxe/bth"

// requests are requests of a peer. Some are legal, but not in such numbers.
var requests = []Pattern{
	{Name: "dup-send", Does: "duplicates of a SEND, each of which is acknowledged",
		By: Peer, Make: before(bth.RCSendOnly, 8)},
	{Name: "dup-write", Does: "duplicates of a WRITE of 8 bytes", By: Peer, Make: before(bth.RCWriteOnly, 8)},
	{Name: "dup-write-4k", Does: "duplicates of a WRITE of 4,096 bytes", By: Peer, Make: before(bth.RCWriteOnly, MTU)},
	{Name: "dup-read-64k", Does: "duplicates of a READ of 64 KiB that was answered",
		By: Peer, Legal: true, Setup: once(read(64 << 10)), Make: read(64 << 10)},
	{Name: "dup-read-1m", Does: "duplicates of a READ of 1 MiB",
		By: Peer, Legal: true, Setup: once(read(1 << 20)), Make: read(1 << 20)},
	{Name: "dup-read-2g", Does: "duplicates of a READ of 2 GiB that is being answered",
		By: Peer, Legal: true, Setup: once(read(bigLen)), Make: read(bigLen)},
	{Name: "dup-read-middle", Does: "duplicates of a READ of 2 GiB that ask for it from ever other places",
		By: Peer, Legal: true, Setup: once(read(bigLen)), Make: func(f *Flood, i uint64) Datagram {
			const packets = bigLen / MTU
			k := uint32(i*104729) % packets
			o := f.own(i)
			p := f.request(o, bth.RCReadRequest, o.PSN.Add(k), bigLen-int(k)*MTU)
			p.RETH.VA, p.RETH.RKey = o.BigVA+uint64(k)*MTU, o.BigRKey
			return f.sealed(p)
		}},
	{Name: "dup-read-qps", Does: "duplicates of READs of 1 MiB at 16 queue pairs",
		By: Peer, Needs: Needs{QPs: 16}, Legal: true, Setup: once(read(1 << 20)), Make: read(1 << 20)},
	{Name: "dup-read-256", Does: "duplicates of a READ of 1 MiB at path MTU 256: 4,096 packets for each",
		By: Peer, Needs: Needs{MTU: 256}, Legal: true, Setup: once(read(1 << 20)), Make: read(1 << 20)},
	{Name: "new-reads", Does: "READs of 64 KiB one after the other, without waiting",
		By: Peer, Needs: Needs{Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			o := f.own(i)
			return f.sealed(f.request(o, bth.RCReadRequest, o.PSN.Add(uint32(i)*(64<<10/MTU)), 64<<10))
		}},
	{Name: "dup-atomic", Does: "duplicates of a FETCH_ADD", By: Peer, Legal: true, Setup: once(fetchAdd), Make: fetchAdd},
	{Name: "far-ahead", Does: "WRITEs of 4,096 bytes behind a gap, which the responder keeps",
		By: Peer, Make: func(f *Flood, i uint64) Datagram {
			o := f.own(i)
			return f.sealed(f.request(o, bth.RCWriteOnly, o.PSN.Add(1+uint32(i)%2040), MTU))
		}},
	{Name: "far-ahead-qps", Does: "the same at 16 queue pairs, which takes all of the memory for it",
		By: Peer, Needs: Needs{QPs: 16}, Make: func(f *Flood, i uint64) Datagram {
			o := f.own(i)
			return f.sealed(f.request(o, bth.RCWriteOnly, o.PSN.Add(1+uint32(i/16)%2040), MTU))
		}},
	{Name: "early-walk", Does: "first 2,000 packets behind a gap, then the last but one of them again and again",
		By: Peer, Needs: Needs{MTU: 256},
		Setup: func(f *Flood) (out []Datagram) {
			for i := range uint32(2000) {
				out = append(out, copied(f.sealed(f.request(&f.Own[0], bth.RCWriteOnly, f.Own[0].PSN.Add(1+i), 8))))
			}
			return out
		},
		Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.request(&f.Own[0], bth.RCWriteOnly, f.Own[0].PSN.Add(1999), 8))
		}},
	{Name: "gap-and-close", Does: "a thousand packets behind a gap, what closes it, and so on",
		By: Peer, Needs: Needs{MTU: 256}, Make: func(f *Flood, i uint64) Datagram {
			const n = 1000
			o := f.own(i)
			k := uint32(i % n)
			if k++; k == n {
				k = 0
			}
			return f.sealed(f.request(o, bth.RCWriteOnly, o.PSN.Add(uint32(i/n)*n+k), 8))
		}},
	{Name: "behind", Does: "SENDs with PSNs from before the connection",
		By: Peer, Make: func(f *Flood, i uint64) Datagram {
			return f.sealed(f.request(f.own(i), bth.RCSendOnly, f.own(i).PSN.Sub(1+uint32(i)%1000), 8))
		}},
	{Name: "wild-psn", Does: "WRITEs with random PSNs", By: Peer, Make: func(f *Flood, i uint64) Datagram {
		return f.sealed(f.request(f.own(i), bth.RCWriteOnly, bth.PSN(f.random.Uint32()&0xffffff), 8))
	}},
	{Name: "key-guess", Does: "WRITEs with random keys; each ends a queue pair",
		By: Peer, Needs: Needs{QPs: 16, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			p := f.request(f.own(i), bth.RCWriteOnly, f.own(i).PSN, 8)
			p.RETH.RKey = f.random.Uint32()
			return f.sealed(p)
		}},
	{Name: "refused-atomic", Does: "atomics at addresses that no atomic takes",
		By: Peer, Needs: Needs{QPs: 16, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			p := f.request(f.own(i), bth.RCCmpSwap, f.own(i).PSN, 8)
			p.AtomicETH.VA++
			return f.sealed(p)
		}},
	{Name: "invalidate-guess", Does: "SENDs that invalidate random keys",
		By: Peer, Needs: Needs{QPs: 16, Revive: true}, Make: func(f *Flood, i uint64) Datagram {
			p := f.request(f.own(i), bth.RCSendOnlyInv, f.own(i).PSN, 8)
			p.InvalidateRKey = f.random.Uint32()
			return f.sealed(p)
		}},
	{Name: "zero-writes", Does: "WRITEs of no byte, one after the other", By: Peer, Make: inOrder(bth.RCWriteOnly, 0)},
	{Name: "small-writes", Does: "WRITEs of 8 bytes, one after the other, each to be acknowledged",
		By: Peer, Make: inOrder(bth.RCWriteOnly, 8)},
	{Name: "atomics", Does: "FETCH_ADDs, one after the other", By: Peer, Make: inOrder(bth.RCFetchAdd, 8)},
	{Name: "flushes", Does: "FLUSHes of a region", By: Peer, Make: func(f *Flood, i uint64) Datagram {
		o := f.own(i)
		p := f.request(o, bth.RCFlush, o.PSN.Add(uint32(i)), 8)
		p.FETH = bth.FETH{Type: 1, Level: 1}
		return f.sealed(p)
	}},
	{Name: "endless-write", Does: "a WRITE of 2 GiB whose end never comes, and then from the beginning",
		By: Peer, Make: func(f *Flood, i uint64) Datagram {
			o := f.own(i)
			op := bth.RCWriteMiddle
			if i == 0 {
				op = bth.RCWriteFirst
			}
			p := f.request(o, op, o.PSN.Add(uint32(i)), MTU)
			p.RETH = bth.RETH{VA: o.BigVA, RKey: o.BigRKey, DMALen: bigLen}
			return f.sealed(p)
		}},
	{Name: "same-first", Does: "the FIRST of a WRITE again and again",
		By: Peer, Make: func(f *Flood, i uint64) Datagram {
			o := f.own(i)
			p := f.request(o, bth.RCWriteFirst, o.PSN, MTU)
			p.RETH.DMALen = 2 * MTU
			return f.sealed(p)
		}},
	{Name: "rnr", Does: "SENDs that find no receive", By: Peer, Make: again(bth.RCSendOnly, 8)},
	{Name: "rnr-4k", Does: "SENDs of 4,096 bytes that find no receive", By: Peer, Make: again(bth.RCSendOnly, MTU)},
	{Name: "rnr-imm", Does: "WRITEs with immediate data that find no receive",
		By: Peer, Make: again(bth.RCWriteOnlyImm, 8)},
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
