package nic

import (
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// A peer that sends valid QPNs and ICRCs can read and write only what its keys permit, for each
// of these attacks, each operation and each service.
func TestHostilePeerReachesOnlyWhatItsKeyAllows(t *testing.T) {
	type target struct {
		rkey uint32
		va   uint64
		n    uint32
	}
	at := func(area int, off uint64, n uint32) func(*fortress) target {
		return func(v *fortress) target { return target{v.areas[area].RKey(), v.areas[area].IOVA() + off, n} }
	}
	key := func(change func(*fortress, uint32) uint32) func(*fortress) target {
		return func(v *fortress) target {
			return target{change(v, v.areas[areaAll].RKey()), v.areas[areaAll].IOVA(), 8}
		}
	}
	below := ^uint64(0) // minus one, modulo 2^64
	attacks := map[string]func(*fortress) target{
		"a byte before the region":             at(areaAll, below, 8),
		"a byte behind the region":             at(areaAll, fortPage-7, 8),
		"the first byte behind the region":     at(areaAll, fortPage, 8),
		"address and length that wrap":         at(areaAll, below-0x100000-6, 8),
		"2^31 bytes that wrap into the region": at(areaAll, 1<<63-1<<31, 1<<31),
		"the top of the address space": func(v *fortress) target {
			return target{v.areas[areaAll].RKey(), 1<<64 - 8, 8}
		},
		"a region of another protection domain": at(areaForeign, 0, 8),
		"a region without remote rights":        at(areaNone, 0, 8),
		"another region's address with this key": func(v *fortress) target {
			return target{v.areas[areaAll].RKey(), v.areas[areaNone].IOVA(), 8}
		},
		"a key that was deregistered": func(v *fortress) target { return target{v.stale, 0x900000, 8} },
		"another variant of a key":    key(func(_ *fortress, k uint32) uint32 { return k ^ 1 }),
		"another index":               key(func(_ *fortress, k uint32) uint32 { return k ^ 0x100 }),
		"key 0":                       key(func(*fortress, uint32) uint32 { return 0 }),
		"key 2^32 - 1":                key(func(*fortress, uint32) uint32 { return 1<<32 - 1 }),
	}
	tooLong := map[string]func(*fortress) target{
		"one byte more than the region": at(areaAll, 0, fortPage+1),
		"2^31 bytes from the region on": at(areaAll, 0, 1<<31),
		"2^32 - 1 bytes":                at(areaAll, 0, 1<<32-1),
	}
	try := func(attacks map[string]func(*fortress) target, op bth.Opcode) {
		for name, attack := range attacks {
			t.Run(fmt.Sprintf("%s by %v", name, op), func(t *testing.T) {
				v := newFortress(t)
				defer closeAll(t, v.end)
				a := attack(v)
				q := v.rc
				if op.Info().Service == bth.ServiceUC {
					q = v.uc
				}
				v.deliver(request(q, op, peerPSN, a.rkey, a.va, a.n))
				// The packets that would follow if the first one were accepted.
				for i := range uint32(4) {
					v.deliver(request(q, bth.RCWriteMiddle|op&0xe0, peerPSN.Add(1+i), 0, 0, 1024))
				}
				v.unwritten(t)
				v.breached()
				v.serves()
			})
		}
	}
	for op := range bth.Opcodes() {
		switch h := op.Info().Headers; {
		case h&bth.HasRETH != 0:
			try(attacks, op)
			try(tooLong, op)
		case h&bth.HasAtomicETH != 0: // it has 8 bytes and no length field
			try(attacks, op)
		}
	}
}

// unwritten fails the test if an attack changed memory that some key opens to WRITEs: a rejected
// request is rejected before its first byte.
func (v *fortress) unwritten(t *testing.T) {
	t.Helper()
	for i, want := range map[int]byte{areaAll: fortOpen, areaWrite: fortSecret} {
		for off, got := range v.area(i) {
			if got != want {
				t.Fatalf("area %d was written to at %d", i, off)
			}
		}
	}
}

// The rights of a region and of a queue pair apply to each operation separately.
func TestHostilePeerNeedsTheRightForEachOperation(t *testing.T) {
	for _, c := range []struct {
		op   bth.Opcode
		area int
		ok   bool
	}{
		{bth.RCWriteOnly, areaAll, true}, {bth.RCWriteOnly, areaWrite, true}, {bth.RCWriteOnly, areaRead, false},
		{bth.RCReadRequest, areaAll, true}, {bth.RCReadRequest, areaRead, true}, {bth.RCReadRequest, areaWrite, false},
		{bth.RCFetchAdd, areaAll, true}, {bth.RCFetchAdd, areaRead, false}, {bth.RCFetchAdd, areaWrite, false},
		{bth.RCCmpSwap, areaAll, true}, {bth.RCCmpSwap, areaRead, false}, {bth.RCCmpSwap, areaWrite, false},
		{bth.UCWriteOnly, areaAll, true}, {bth.UCWriteOnly, areaWrite, true}, {bth.UCWriteOnly, areaRead, false},
	} {
		t.Run(fmt.Sprintf("%v in area %d", c.op, c.area), func(t *testing.T) {
			v := newFortress(t)
			defer closeAll(t, v.end)
			q := v.rc
			if c.op.Info().Service == bth.ServiceUC {
				q = v.uc
			}
			v.deliver(request(q, c.op, peerPSN, v.areas[c.area].RKey(), v.areas[c.area].IOVA()+fortPage-8, 8))
			if got := v.counter("verdict_accepted") == 1; got != c.ok {
				t.Errorf("accepted: %v, want %v", got, c.ok)
			}
			if !c.ok {
				v.unwritten(t)
			}
			v.breached()
		})
	}
}

// A request that the queue pair does not permit is rejected, whatever the region permits.
func TestHostilePeerNeedsTheRightOfTheQueuePair(t *testing.T) {
	for op, right := range map[bth.Opcode]mr.Access{
		bth.RCWriteOnly: mr.RemoteWrite, bth.RCWriteFirst: mr.RemoteWrite, bth.RCWriteOnlyImm: mr.RemoteWrite,
		bth.RCReadRequest: mr.RemoteRead, bth.RCFetchAdd: mr.RemoteAtomic, bth.RCCmpSwap: mr.RemoteAtomic,
	} {
		t.Run(op.String(), func(t *testing.T) {
			v := newFortress(t)
			defer closeAll(t, v.end)
			attr := qp.Attr{State: qp.RTS, Access: (mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic) &^ right}
			if err := v.rc.Modify(&attr, qp.AttrState|qp.AttrAccess); err != nil {
				t.Fatal(err)
			}
			p := v.write(v.rc, op, peerPSN)
			if op.Info().Pos == bth.First {
				p.RETH.DMALen = 2048
			}
			v.deliver(p)
			if n := v.counter("verdict_invalid_request"); n != 1 {
				t.Errorf("%d packets were refused as invalid requests, want 1", n)
			}
			v.unwritten(t)
			v.breached()
		})
	}
}

// A SEND of any service writes to posted receives and to nothing else.
func TestHostilePeerFillsOnlyPostedReceives(t *testing.T) {
	for _, ops := range [][]bth.Opcode{
		{bth.RCSendOnly}, {bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendMiddle, bth.RCSendLast}, {bth.RCSendOnlyInv},
		{bth.UCSendOnly}, {bth.UCSendFirst, bth.UCSendMiddle, bth.UCSendMiddle, bth.UCSendLast}, {bth.UDSendOnly},
		{bth.UDSendOnlyImm},
	} {
		t.Run(fmt.Sprint(ops), func(t *testing.T) {
			v := newFortress(t)
			defer closeAll(t, v.end)
			q := map[bth.Service]*QP{bth.ServiceRC: v.rc, bth.ServiceUC: v.uc,
				bth.ServiceUD: v.ud}[ops[0].Info().Service]
			area := v.areas[areaNone]
			recv := &qp.RecvWR{SGList: []qp.SGE{{Addr: area.IOVA() + 64, Length: 100, LKey: area.LKey()}}}
			if _, err := q.PostRecv([]*qp.RecvWR{recv}); err != nil {
				t.Fatal(err)
			}
			for i, op := range ops {
				v.deliver(request(q, op, peerPSN.Add(uint32(i)), area.RKey(), area.IOVA(), 1024))
			}
			for off, got := range v.area(areaNone) {
				if got != fortSecret && (off < 64 || off >= 164) {
					t.Fatalf("byte %d was written to, the receive is 64 to 163", off)
				}
			}
			copy(v.area(areaNone)[64:164], v.pages[:100])
			v.unwritten(t)
			v.breached()
			v.serves()
		})
	}
}

// Packets of every opcode to queue pairs of every service in every state: only those of the same
// service, in a state that receives, have an effect.
func TestHostilePacketsInEveryState(t *testing.T) {
	move := func(q *QP, states ...qp.State) error {
		for _, s := range states {
			needs, _, _ := qp.Requirements(q.attr.Type, q.State(), s)
			if err := q.Modify(&qp.Attr{State: s, Port: 1}, needs|qp.AttrState); err != nil {
				return err
			}
		}
		return nil
	}
	for _, path := range [][]qp.State{{qp.RESET}, {qp.RESET, qp.INIT}, {qp.SQD}, {qp.ERR}} {
		state := path[len(path)-1]
		t.Run(state.String(), func(t *testing.T) {
			for op := range bth.Opcodes() {
				v := newFortress(t)
				for _, q := range []*QP{v.rc, v.uc, v.ud} {
					if err := move(q, path...); err != nil {
						t.Fatal(err)
					}
					was := v.counter("verdict_accepted")
					v.deliver(request(q, op, peerPSN, v.areas[areaAll].RKey(), v.areas[areaAll].IOVA(), 8))
					if state != qp.SQD && v.counter("verdict_accepted") != was {
						t.Errorf("%v was accepted in %v", op, state)
					}
					if op.Info().Service.String() != q.attr.Type.String() && v.counter("verdict_accepted") != was {
						t.Errorf("%v was accepted by a queue pair of type %v", op, q.attr.Type)
					}
					if state != qp.SQD && q.State() != state {
						t.Errorf("%v moved a queue pair from %v to %v", op, state, q.State())
					}
				}
				if state != qp.SQD {
					v.unwritten(t)
				}
				v.breached()
				v.serves()
				closeAll(t, v.end)
			}
		})
	}
}
