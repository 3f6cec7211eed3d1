package nic

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// floods are packets that a peer can send without end. A packet is the i-th of its flood.
var floods = map[string]func(v *fortress, i uint32) *bth.Packet{
	"requests ahead of the expected PSN": func(v *fortress, i uint32) *bth.Packet {
		return v.write(v.rc, bth.RCWriteOnly, peerPSN.Add(1+i%1000))
	},
	"duplicates of a WRITE": func(v *fortress, i uint32) *bth.Packet {
		return v.write(v.rc, bth.RCWriteOnly, peerPSN.Add(min(i, 1)-1&0xffffff))
	},
	"duplicates from before the connection": func(v *fortress, i uint32) *bth.Packet {
		return v.write(v.rc, bth.RCSendOnly, peerPSN.Sub(1+i%1000))
	},
	"SENDs that find no receive": func(v *fortress, i uint32) *bth.Packet {
		return v.write(v.rc, bth.RCSendOnly, peerPSN)
	},
	"a READ and its repetitions": func(v *fortress, i uint32) *bth.Packet {
		p := v.write(v.rc, bth.RCReadRequest, peerPSN)
		p.RETH.DMALen = fortPage
		return p
	},
	"a FETCH ADD and its repetitions": func(v *fortress, i uint32) *bth.Packet {
		return v.write(v.rc, bth.RCFetchAdd, peerPSN)
	},
	"READs one after the other": func(v *fortress, i uint32) *bth.Packet {
		return v.write(v.rc, bth.RCReadRequest, peerPSN.Add(i))
	},
	"WRITEs one after the other": func(v *fortress, i uint32) *bth.Packet {
		return v.write(v.rc, bth.RCWriteOnly, peerPSN.Add(i))
	},
	"the same FIRST again and again": func(v *fortress, i uint32) *bth.Packet {
		p := v.write(v.rc, bth.RCWriteFirst, peerPSN)
		p.RETH.DMALen = 2048
		return p
	},
	"sequence NAKs": func(v *fortress, i uint32) *bth.Packet { return v.answer(bth.RCAck, bth.NakPSNSequence) },
	"RNR NAKs":      func(v *fortress, i uint32) *bth.Packet { return v.answer(bth.RCAck, bth.RNR(1)) },
	"ghost ACKs": func(v *fortress, i uint32) *bth.Packet {
		p := v.answer(bth.RCAck, bth.AckUnlimited)
		p.PSN = p.PSN.Add(1000 + i)
		return p
	},
	"READ responses to nothing": func(v *fortress, i uint32) *bth.Packet {
		return v.answer(bth.RCReadResponseOnly, bth.AckUnlimited)
	},
	"a NAK that ends the connection, and more": func(v *fortress, i uint32) *bth.Packet {
		return v.answer(bth.RCAck, bth.NakRemoteAccess)
	},
	"refused requests": func(v *fortress, i uint32) *bth.Packet {
		p := v.write(v.rc, bth.RCWriteOnly, peerPSN)
		p.RETH.RKey = 0
		return p
	},
	"half messages on an unreliable connection": func(v *fortress, i uint32) *bth.Packet {
		p := v.write(v.uc, bth.UCWriteFirst, peerPSN.Add(i))
		p.RETH.DMALen = 2048
		return p
	},
	"SENDs on an unreliable connection": func(v *fortress, i uint32) *bth.Packet {
		return v.write(v.uc, bth.UCSendOnly, peerPSN.Add(i))
	},
	"datagrams without receive": func(v *fortress, i uint32) *bth.Packet {
		return v.write(v.ud, bth.UDSendOnly, bth.PSN(i&0xffffff))
	},
	"datagrams with a wrong Q_Key": func(v *fortress, i uint32) *bth.Packet {
		p := v.write(v.ud, bth.UDSendOnly, bth.PSN(i&0xffffff))
		p.DETH.QKey = i
		return p
	},
	"every opcode to every queue pair": func(v *fortress, i uint32) *bth.Packet {
		q := []*QP{v.rc, v.uc, v.ud}[i%3]
		op := bth.Opcode(i / 3)
		for !op.Valid() {
			op++
		}
		return v.write(q, op, peerPSN.Add(i))
	},
	"queue pairs that nobody has": func(v *fortress, i uint32) *bth.Packet {
		p := v.write(v.rc, bth.RCSendOnly, 0)
		p.DestQP = bth.QPN(i*7919) & 0xffffff &^ 0xf
		for _, q := range []*QP{v.rc, v.uc, v.ud, v.bystander} {
			if q.Num() == p.DestQP {
				p.DestQP = 5
			}
		}
		return p
	},
}

func (v *fortress) write(q *QP, op bth.Opcode, psn bth.PSN) *bth.Packet {
	return request(q, op, psn, v.areas[areaAll].RKey(), v.areas[areaAll].IOVA(), 8)
}

// answer is a response to the oldest request of the attacked queue pair.
func (v *fortress) answer(op bth.Opcode, s bth.Syndrome) *bth.Packet {
	return &bth.Packet{Opcode: op, PKey: 0xffff, DestQP: v.rc.Num(), PSN: v.psn, AETH: bth.AETH{Syndrome: s}}
}

// A flood of valid packets retains no memory and does not delay another queue pair.
func TestHostileFloods(t *testing.T) {
	packets, most := uint32(10_000), int64(256<<10)
	if testing.Short() {
		packets = 2000
	}
	for name, flood := range floods {
		t.Run(name, func(t *testing.T) {
			v := newFortress(t)
			defer closeAll(t, v.end)
			v.spy.take(goodQPN)
			for i := range 4 {
				if _, err := v.rc.PostSend([]*qp.SendWR{{ID: uint64(i), Opcode: qp.WRSend,
					SGList: v.sge(0, 64)}}); err != nil {
					t.Fatal(err)
				}
			}
			batch := make([]*bth.Packet, 50)
			send := func(from, to uint32) {
				for i := from; i < to; i += uint32(len(batch)) {
					for j := range batch {
						batch[j] = flood(v, i+uint32(j))
					}
					v.deliver(batch...)
				}
			}
			send(0, packets/10)
			before := liveHeap()
			send(packets/10, packets)
			if grown := liveHeap() - before; grown > most {
				t.Errorf("%d packets made the heap grow by %d bytes", packets, grown)
			}
			v.breached()
			v.serves()
		})
	}
}

func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// zeros is memory larger than that of any process.
type zeros uint64

func (z zeros) Size() uint64 { return uint64(z) }

func (z zeros) ReadAt(p []byte, _ uint64) error { clear(p); return nil }

func (z zeros) WriteAt([]byte, uint64) error { return nil }

// A peer that requests the longest possible READs, as many as it may, gets its responses in
// turns: packets of another queue pair are answered while their batch is processed, its own
// requests are sent at once, and no memory is retained.
func TestHostileReadsOfTwoGigabytesKeepNobodyWaiting(t *testing.T) {
	for _, count := range []int{1, 3, 16} {
		t.Run(fmt.Sprintf("%d of them", count), func(t *testing.T) {
			v := newFortress(t)
			defer closeAll(t, v.end)
			big, err := v.dev.Register(v.pd, zeros(1<<31), 0, 1<<31, mr.RemoteRead)
			if err != nil {
				t.Fatal(err)
			}
			var reads []*bth.Packet
			psn := peerPSN
			for range count {
				reads = append(reads, request(v.rc, bth.RCReadRequest, psn, big.RKey(), 0, 1<<31))
				psn = psn.Add(1 << 31 / 1024)
			}
			before := liveHeap()
			v.deliver(reads...)
			for i := range 50 {
				v.serves()
				v.asks(uint64(i))
				// Duplicates of a request that is being answered do not add to the responses.
				v.deliver(reads...)
			}
			if grown := liveHeap() - before; grown > 1<<20 {
				t.Errorf("the heap grew by %d bytes", grown)
			}
			// PSNs cannot distinguish responses that are more than 2^23 PSNs apart: only the peer
			// that requests so many is affected.
			if s := v.rc.State(); s != qp.RTS && count <= 3 {
				t.Errorf("the attacked queue pair is in %v: the READs were to be answered", s)
			}
		})
	}
}

// Responses that a peer requests repeatedly are limited to 31.25 MB/s while other queue pairs
// send; otherwise a peer with many queue pairs would have a turn for each. If no other queue pair
// sends, they are sent without a limit.
func TestWhatIsAskedForOftenLeavesSlowlyBesideOthers(t *testing.T) {
	oneShard(t)
	const (
		packets = 1024 // of 1,024 bytes
		serves  = 50
		asked   = serves * 20
		span    = serves * 2 * time.Millisecond
	)
	answers := func(t *testing.T, beside, behind bool) (sent int) {
		synctest.Test(t, func(t *testing.T) {
			v := newFortress(t)
			defer closeAll(t, v.end)
			time.Sleep(time.Second) // the device's clock is not at 0
			mem, err := v.dev.Register(v.pd, zeros(packets<<10), 0, packets<<10, mr.RemoteRead)
			if err != nil {
				t.Fatal(err)
			}
			var asks []*bth.Packet
			psn := peerPSN
			if behind {
				open := v.areas[areaAll]
				asks = append(asks, request(v.rc, bth.RCFetchAdd, psn, open.RKey(), open.IOVA(), 8))
				psn = psn.Add(1)
			}
			asks = append(asks, request(v.rc, bth.RCReadRequest, psn, mem.RKey(), 0, packets<<10))
			for range serves {
				if beside {
					v.serves()
					sent--
				}
				for range asked / serves {
					v.deliver(asks...)
					time.Sleep(span / asked)
				}
			}
			s := v.dev.shard0()
			s.lock()
			sent += int(s.count.txFrames)
			s.unlock()
		})
		return sent
	}
	const (
		usual = packets + 2*(packets+64)  // duplicates up to this number are not unusual
		most  = packets + 16*(packets+64) // of one READ, in total
		turn  = turnBytes >> 10
		paced = int(span/(32*time.Nanosecond)) >> 10
	)
	if got := answers(t, false, false); got != most {
		t.Errorf("with nobody beside it %d packets left, want %d", got, most)
	}
	// The initial content of the bucket, and the turn that its last byte permits.
	const slow = usual + 2*turn + paced
	if got := answers(t, true, false); got <= usual || got > slow {
		t.Errorf("beside another queue pair %d packets left, want %d to %d", got, usual+1, slow)
	}
	if got := answers(t, true, true); got <= usual || got > slow+asked {
		t.Errorf("behind an atomic that is asked for as often %d packets left, want %d to %d", got, usual+1, slow+asked)
	}
}

// Duplicates from a peer do not move its responses ahead of those of others that wait.
func TestDuplicatesDoNotBringForwardWhatWaits(t *testing.T) {
	oneShard(t)
	synctest.Test(t, func(t *testing.T) {
		v := newFortress(t)
		defer closeAll(t, v.end)
		time.Sleep(time.Second)
		waits := &holding{}
		s, q := v.dev.shard0(), v.rc
		s.lock()
		defer s.unlock()
		q.reads = waits
		now := s.dev.now()
		q.out.othersSentAt, q.out.lastRepeater = now, 0
		q.out.bucket.Take(repeatRate, time.Unix(0, int64(now)), turnBytes)
		for range 2 { // the first has to wait, the second comes when the bucket has tokens again
			s.markReady(q)
			s.flush(now)
			if !waits.hold {
				t.Fatal("a queue pair sends that was to wait for its time")
			}
			now += postponed / 2
		}
		q.postponed = false // its delay is over
		s.markReady(q)
		if s.flush(now); waits.hold {
			t.Error("a queue pair waits beyond its time")
		}
	})
}

// holding is a machine whose responses were requested repeatedly.
type holding struct{ hold bool }

func (h *holding) HasResponses() bool { return true }

func (h *holding) HoldReplays(hold bool) { h.hold = hold }

func (h *holding) Replayed() (int, bool) { return 0, h.hold }

// asks fails the test unless a request posted by the bystander is sent; its peer answers.
func (v *fortress) asks(id uint64) {
	v.t.Helper()
	if _, err := v.bystander.PostSend([]*qp.SendWR{{ID: id, Opcode: qp.WRSend, SGList: v.sge(0, 8)}}); err != nil {
		v.t.Fatal(err)
	}
	for range 2 {
		for _, p := range v.spy.take(goodQPN) {
			if p.Opcode == bth.RCSendOnly {
				v.deliverFrom(addrC, &bth.Packet{
					Opcode: bth.RCAck, PKey: 0xffff, DestQP: v.bystander.Num(), PSN: p.PSN,
					AETH: bth.AETH{Syndrome: bth.AckUnlimited},
				})
				return
			}
		}
		// A queue pair that is kept busy sends in the shard's next turn.
		s := v.dev.shard0()
		s.mu.Lock()
		s.flush(s.dev.now())
		s.mu.Unlock()
	}
	v.t.Fatal("another queue pair's request did not leave")
}

// A hostile peer can at most bring its own queue pair into ERR: others keep their state, whatever
// it sends to them from its own address.
func TestHostilePeerCannotReachAnothersQueuePair(t *testing.T) {
	for op := range bth.Opcodes() {
		t.Run(fmt.Sprint(op), func(t *testing.T) {
			v := newFortress(t)
			defer closeAll(t, v.end)
			for _, psn := range []bth.PSN{v.good, v.good.Add(1), v.good.Sub(1), v.psn} {
				v.deliver(v.write(v.bystander, op, psn))
			}
			if n := v.drops()["stranger"]; n != 4 {
				t.Errorf("%d packets were dropped as a stranger's, want 4: %v", n, v.drops())
			}
			if s := v.bystander.State(); s != qp.RTS {
				t.Errorf("the queue pair is in %v, want RTS", s)
			}
			v.unwritten(t)
			v.serves()
		})
	}
}
