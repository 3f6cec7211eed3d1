package nic

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// openLoopback opens a device with Loopback over links at addrA and addrB, decorated by wrap.
func openLoopback(t testing.TB, wrap func(packet.Link) packet.Link, shards int) *Device {
	t.Helper()
	n := pipe.NewNet()
	d, err := Open(Config{
		Name: "test", Links: []packet.Link{wrap(openLink(t, n, addrA)), wrap(openLink(t, n, addrB))},
		Seed: 1, Shards: shards, Loopback: true, MaxQP: 100, MaxMR: 100, MaxCQ: 100, MaxSRQ: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func plain(l packet.Link) packet.Link { return l }

// sent returns the number of frames that the links of a device have sent.
func sent(d *Device) (n uint64) {
	for _, g := range d.gids {
		n += packet.StatsOf(g.link).TxFrames
	}
	return n
}

// connectAt connects e at entry index of the GID table with peer at peerIndex.
func (e *end) connectAt(index int, peer *end, peerIndex int) {
	e.t.Helper()
	e.connectBy(uint8(index), e.qp, e.dev.gids[peerIndex].local, peer.qp.Num(), peer.psn, usualRetry)
}

// inShards runs a test with a device of one shard, and of several.
func inShards(t *testing.T, f func(t *testing.T, shards int)) {
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprintf("shards=%d", shards), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, shards) })
		})
	}
}

// newEndBeside returns an end on the device of a, in another shard if there are several.
func newEndBeside(t testing.TB, a *end, psn bth.PSN, size int) *end {
	t.Helper()
	e := newEndOn(t, a.dev, psn, size)
	for a.qp.shard.multi && e.qp.shard == a.qp.shard {
		e.qp = e.newQP()
	}
	return e
}

// newLoopedPair returns two connected ends on one device, at addrA and addrB, in two shards if
// there are several.
func newLoopedPair(t testing.TB, size int, wrap func(packet.Link) packet.Link, shards int) (a, b *end) {
	t.Helper()
	a = newEndOn(t, openLoopback(t, wrap, shards), 1000, size)
	b = newEndBeside(t, a, 2000, size)
	a.connectAt(0, b, 1)
	b.connectAt(1, a, 0)
	return a, b
}

func TestQueuePairsOfOneDeviceNeedNoLink(t *testing.T) {
	for name, index := range map[string]int{"between two addresses": 1, "at one address": 0} {
		t.Run(name, func(t *testing.T) {
			inShards(t, func(t *testing.T, shards int) {
				dev := openLoopback(t, plain, shards)
				a := newEndOn(t, dev, 1000, 1<<20)
				b := newEndBeside(t, a, 2000, 1<<20)
				defer closeAll(t, a)
				a.connectAt(0, b, index)
				b.connectAt(index, a, 0)
				operations(t, a, b)
				if n := sent(dev); n > 0 {
					t.Errorf("%d frames left by the links", n)
				}
				if n := a.counter("tx_packets"); n == 0 || n != a.counter("rx_packets") {
					t.Errorf("%d packets sent, %d received", n, a.counter("rx_packets"))
				}
				if n := a.counter("tx_bytes"); n != a.counter("rx_bytes") {
					t.Errorf("%d bytes sent, %d received", n, a.counter("rx_bytes"))
				}
			})
		})
	}
}

func TestAQueuePairIsItsOwnPeerByLoopback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dev := openLoopback(t, plain, 1)
		a := newEndOn(t, dev, 1000, 8192)
		defer closeAll(t, a)
		a.connectAt(0, a, 0)
		fill(a.buf[:4096], 1)
		wr := a.write(a, 1, 0, 4096)
		wr.RemoteAddr += 4096
		a.post(wr)
		a.succeed(1)
		if !bytes.Equal(a.buf[:4096], a.buf[4096:]) {
			t.Error("the WRITE has left other bytes")
		}
	})
}

func TestRefusalsAndMissingReceivesAreThoseOfALink(t *testing.T) {
	inShards(t, func(t *testing.T, shards int) {
		a, b := newLoopedPair(t, 4096, plain, shards)
		defer closeAll(t, a)
		a.post(&qp.SendWR{ID: 1, Opcode: qp.WRSend, Flags: qp.Signaled, SGList: a.sge(0, 100)})
		synctest.Wait()
		if n := a.cq.Poll(make([]qp.WC, 1)); n != 0 {
			t.Fatal("a SEND completed for which there was no receive")
		}
		b.postRecv(&qp.RecvWR{ID: 2, SGList: b.sge(0, 100)})
		a.succeed(1)
		b.succeed(1)
		wr := a.write(b, 3, 0, 100)
		wr.RKey++
		a.post(wr)
		if wc := a.wait(1)[0]; wc.Status != qp.WCRemAccessErr {
			t.Errorf("a WRITE with a wrong key ended with %s", wc.Status.Name())
		}
	})
}

// Faults apply to the link: with loopback the frames would bypass them.
func TestALinkWithFaultsIsUsedInPlaceOfLoopback(t *testing.T) {
	inShards(t, func(t *testing.T, shards int) {
		a, b := newLoopedPair(t, 1<<20, func(l packet.Link) packet.Link { return fault.New(l, fault.Config{}) }, shards)
		defer closeAll(t, a)
		operations(t, a, b)
		if sent(a.dev) == 0 {
			t.Error("no frame left by the links")
		}
	})
}

func TestATapSeesFramesOfLoopbackAsTheyWouldBeSent(t *testing.T) {
	inShards(t, func(t *testing.T, shards int) {
		var mu sync.Mutex
		seen, bad := 0, 0
		a, b := newLoopedPair(t, 1<<20, func(l packet.Link) packet.Link {
			return packet.Tap(l, func(dir packet.Direction, f packet.TapFrame) {
				mu.Lock()
				defer mu.Unlock()
				seen++
				seed := seedWithoutID(f.Src, f.Dst, f.SrcPort, f.FlagsFragment, bth.UDPHeaderLen+len(f.Data))
				var p bth.Packet
				if dir != packet.Outgoing || !bth.CheckICRC(seed, f.Data) || p.Decode(f.Data) != nil {
					bad++
				}
			})
		}, shards)
		defer closeAll(t, a)
		operations(t, a, b)
		if sent := a.counter("tx_packets"); uint64(seen) != sent || bad > 0 {
			t.Errorf("the tap has seen %d of %d packets, %d of them with errors", seen, sent, bad)
		}
	})
}

func TestOneEndMayUseLoopbackAndTheOtherTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		dev, err := Open(Config{
			Name: "test", Links: []packet.Link{openLink(t, n, addrA)}, Seed: 1, Loopback: true,
			MaxQP: 100, MaxMR: 100, MaxCQ: 100, MaxSRQ: 100,
		})
		if err != nil {
			t.Fatal(err)
		}
		a, b := newEndOn(t, dev, 1000, 1<<20), newEndOn(t, dev, 2000, 1<<20)
		defer closeAll(t, a)
		a.connectBy(0, a.qp, addrB, b.qp.Num(), b.psn, usualRetry)
		if _, err := dev.AddLink(openLink(t, n, addrB)); err != nil {
			t.Fatal(err)
		}
		b.connectAt(1, a, 0)
		operations(t, a, b)
		if n := sent(dev); n == 0 || n == a.counter("tx_packets") {
			t.Errorf("%d of %d packets left by the links, want those of one end", n, a.counter("tx_packets"))
		}
	})
}

func TestLoopbackEndsWithTheAddressOfThePeer(t *testing.T) {
	inShards(t, func(t *testing.T, shards int) {
		a, b := newLoopedPair(t, 4096, plain, shards)
		defer closeAll(t, a)
		if err := a.dev.RemoveLink(1); err != nil {
			t.Fatal(err)
		}
		a.post(a.write(b, 1, 0, 64))
		if wc := a.wait(1)[0]; wc.Status != qp.WCRetryExcErr {
			t.Errorf("a WRITE to an address that is gone ended with %s", wc.Status.Name())
		}
	})
}

func TestSendWithInvalidateTakesAKeyAwayByLoopback(t *testing.T) {
	inShards(t, func(t *testing.T, shards int) {
		a, b := newLoopedPair(t, 1<<14, plain, shards)
		defer closeAll(t, a)
		mem, err := b.dev.Register(b.pd, mr.Bytes(b.buf), 0x90000, uint64(len(b.buf)), allAccess|mr.MWBind)
		if err != nil {
			t.Fatal(err)
		}
		w, err := b.dev.AllocWindow(b.pd, mr.WindowType2)
		if err != nil {
			t.Fatal(err)
		}
		key := mr.IncRKey(w.RKey())
		b.post(&qp.SendWR{ID: 1, Opcode: qp.WRBindMW, Flags: qp.Signaled, Bind: &mr.Bind{
			Key: w.RKey(), NewKey: key, LKey: mem.LKey(), Addr: mem.IOVA(), Length: mem.Length(),
			Access: mr.RemoteWrite,
		}})
		b.succeed(1)
		b.postRecv(&qp.RecvWR{ID: 2, SGList: b.sge(0, 4096)})
		fill(a.buf, 1)
		byWindow := func(id uint64) *qp.SendWR {
			wr := a.write(b, id, 0, len(a.buf))
			wr.RemoteAddr, wr.RKey = mem.IOVA(), key
			return wr
		}
		// All frames are in one batch, and payload of each is borrowed when the key is removed.
		a.post(byWindow(3),
			&qp.SendWR{ID: 4, Opcode: qp.WRSendInv, Flags: qp.Signaled, Imm: key, SGList: a.sge(0, 2000)},
			a.write(b, 5, 0, len(a.buf)))
		a.succeed(3)
		if wc := b.succeed(1)[0]; wc.ByteLen != 2000 || wc.Imm != key {
			t.Errorf("the receive completed as %+v, want 2000 bytes and key %#x invalidated", wc, key)
		}
		if !bytes.Equal(a.buf, b.buf) {
			t.Error("the ends hold different bytes")
		}
		a.post(byWindow(6))
		if wc := a.wait(1)[0]; wc.Status != qp.WCRemAccessErr {
			t.Errorf("a WRITE with the key that was taken away ended with %s", wc.Status.Name())
		}
	})
}

func TestLoopbackAllocatesNothing(t *testing.T) {
	for _, shards := range []int{1, 4} {
		a, b := newLoopedPair(t, 1<<18, plain, shards)
		defer closeAll(t, a)
		wrs := []*qp.SendWR{a.write(b, 1, 0, 1<<16), a.read(b, 2, 0, 1<<16)}
		wc := make([]qp.WC, 2)
		n := testing.AllocsPerRun(100, func() {
			if _, err := a.qp.PostSend(wrs); err != nil {
				t.Fatal(err)
			}
			for done := 0; done < 2; {
				done += a.cq.Poll(wc[done:])
			}
		})
		if n > 0 {
			t.Errorf("%d shards: %v allocations for a WRITE and a READ", shards, n)
		}
		if !bytes.Equal(a.buf[:1<<16], b.buf[:1<<16]) {
			t.Errorf("%d shards: the ends hold different bytes", shards)
		}
	}
}

// connectAs connects e, at address 0 of its device, as a queue pair of type typ to the queue pair
// peer at the same address, from which it expects psn.
func (e *end) connectAs(typ qp.Type, peer *end, psn bth.PSN) {
	e.t.Helper()
	for st := qp.INIT; st <= qp.RTS; st++ {
		needs, _, _ := qp.Requirements(typ, st-1, st)
		attr := qp.Attr{
			State: st, Port: 1, Access: mr.RemoteWrite | mr.RemoteRead, PathMTU: 1024, DestQPN: peer.qp.Num(),
			RQPSN: peer.psn, SQPSN: psn, MaxRdAtomic: 16, MaxDestRdAtomic: 16, MinRNRTimer: 12,
			Timeout: usualRetry.timeout, RetryCnt: usualRetry.count, RNRRetry: 7,
			AV: qp.AddressVector{DGID: qp.GIDFromAddr(addrA)},
		}
		if err := e.qp.Modify(&attr, needs|qp.AttrState); err != nil {
			e.t.Fatal(err)
		}
	}
}

// A packet contains its destination QPN but not its source QPN; here the sender is known.
func TestLoopbackDeliversFromTheConnectedQueuePairOnly(t *testing.T) {
	for _, typ := range []qp.Type{qp.RC, qp.UC} {
		t.Run(typ.String(), func(t *testing.T) {
			inShards(t, func(t *testing.T, shards int) {
				dev := openLoopback(t, plain, shards)
				var ends [3]*end
				for i := range ends {
					e := newEndOn(t, dev, bth.PSN(1000*(i+1)), 4096)
					// All in one shard, or a and b in two.
					for again := true; again; again = shards > 1 && i == 1 && e.qp.shard == ends[0].qp.shard {
						var err error
						e.qp, err = dev.CreateQP(QPInit{
							Type: typ, PD: e.pd, SendCQ: e.cq, RecvCQ: e.cq,
							Cap: qp.Cap{MaxSendWR: 4, MaxRecvWR: 4, MaxSendSGE: 1, MaxRecvSGE: 1},
						})
						if err != nil {
							t.Fatal(err)
						}
					}
					fill(e.buf, uint64(i))
					ends[i] = e
				}
				defer closeAll(t, ends[0])
				a, b, stranger := ends[0], ends[1], ends[2]
				a.connectAs(typ, b, a.psn)
				b.connectAs(typ, a, b.psn)
				stranger.connectAs(typ, b, a.psn) // b expects this PSN next from this address
				before := bytes.Clone(b.buf)
				stranger.post(stranger.write(b, 1, 0, 64))
				synctest.Wait()
				if !bytes.Equal(b.buf, before) {
					t.Error("a queue pair that is not the peer has written")
				}
				if b.drops()["stranger"] == 0 {
					t.Errorf("packets dropped: %v, want some from a stranger", b.drops())
				}
				a.post(a.write(b, 2, 0, 64))
				a.succeed(1)
				synctest.Wait() // UC requests complete when they are sent
				if !bytes.Equal(b.buf[:64], a.buf[:64]) {
					t.Error("the peer's WRITE has left other bytes")
				}
			})
		})
	}
}

// Frames for a shard without buffer space are lost, and retransmitted as over a link.
func TestWhatCrossesToAShardWithoutRoomIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newLoopedPair(t, 1<<14, plain, 4)
		defer closeAll(t, a)
		fill(a.buf, 1)
		s, batch := b.qp.shard, packet.NewBatch(1)
		stray := batch.AppendFrame()
		stray.Header = append(stray.Header, make([]byte, 1<<10)...)
		for s.crossing.Put(stray, 0, a.dev.gids[0].local, 0) {
		}
		a.post(a.write(b, 1, 0, len(a.buf)))
		synctest.Wait()
		if n := a.drops()["shard_busy"]; n == 0 || bytes.Equal(a.buf, b.buf) {
			t.Errorf("%d packets were dropped, and the WRITE has come through: %v", n, bytes.Equal(a.buf, b.buf))
		}
		s.lock()
		s.crossing.Take()
		s.unlock()
		a.succeed(1)
		if !bytes.Equal(a.buf, b.buf) {
			t.Error("the ends hold different bytes")
		}
	})
}
