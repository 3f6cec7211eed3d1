package nic

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// A fortress is a device with memory of which only a part is open to the peer, with a queue pair
// of each service that the peer knows, and a bystander: a queue pair with another peer. The test
// injects packets directly, with a correct ICRC; spy records what is sent.
type fortress struct {
	*end
	in        *inbox
	spy       *spyLink
	pages     []byte
	areas     [areas]*mr.Region
	stale     uint32
	rc, uc    *QP
	ud        *QP
	bystander *QP
	good      bth.PSN // of the bystander's peer
}

// Areas of a fortress, one page each, separated by memory that is open to no peer.
const (
	areaAll     = iota // remote WRITE, READ and atomics
	areaRead           // remote READ
	areaWrite          // remote WRITE
	areaNone           // no remote right
	areaForeign        // every right, in another protection domain
	areas
)

const (
	fortPage   = 4096
	fortSecret = 0x5e
	fortOpen   = 0x11
	goodQPN    = bth.QPN(0x77)
)

var fortAccess = [areas]mr.Access{
	mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic, mr.LocalWrite | mr.RemoteRead,
	mr.LocalWrite | mr.RemoteWrite, mr.LocalWrite, mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic,
}

func newFortress(t testing.TB) *fortress {
	t.Helper()
	spy := &spyLink{Link: openLink(t, pipe.NewNet(), addrA)}
	v := &fortress{end: newEnd(t, 1, spy, 4096), spy: spy, good: 9}
	v.pages = bytes.Repeat([]byte{fortSecret}, (2*areas+1)*fortPage)
	for i, access := range fortAccess {
		pd := v.pd
		if i == areaForeign {
			pd = &mr.PD{ID: 99}
		}
		v.areas[i] = v.open(pd, v.area(i), uint64(0x100000*(i+1)), access)
	}
	copy(v.area(areaAll), bytes.Repeat([]byte{fortOpen}, fortPage))
	copy(v.area(areaRead), bytes.Repeat([]byte{fortOpen}, fortPage))
	gone := v.open(v.pd, v.pages[:fortPage], 0x900000, fortAccess[areaAll])
	v.stale = gone.RKey()
	if err := v.dev.Deregister(gone); err != nil {
		t.Fatal(err)
	}
	v.rc, v.bystander = v.qp, v.newQP()
	v.connect(v.rc, addrB, peerQPN, peerPSN, usualRetry)
	v.connect(v.bystander, addrC, goodQPN, v.good, usualRetry)
	v.uc = v.connectUC(peerQPN, peerPSN)
	v.ud = v.newDatagramQP(testQKey)
	all := qp.Attr{State: qp.RTS, Access: mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic}
	if err := v.rc.Modify(&all, qp.AttrState|qp.AttrAccess); err != nil {
		t.Fatal(err)
	}
	v.in = newInbox(v.dev.gids[0], v.dev.shard0())
	return v
}

func (v *fortress) area(i int) []byte { return v.pages[(2*i+1)*fortPage:][:fortPage] }

func (v *fortress) open(pd *mr.PD, b []byte, iova uint64, access mr.Access) *mr.Region {
	v.t.Helper()
	r, err := v.dev.Register(pd, mr.Bytes(b), iova, uint64(len(b)), access)
	if err != nil {
		v.t.Fatal(err)
	}
	return r
}

// connectUC makes an unreliable connection to the peer, which may WRITE.
func (v *fortress) connectUC(peer bth.QPN, psn bth.PSN) *QP {
	v.t.Helper()
	q, err := v.dev.CreateQP(QPInit{
		Type: qp.UC, PD: v.pd, SendCQ: v.cq, RecvCQ: v.cq,
		Cap: qp.Cap{MaxSendWR: 64, MaxRecvWR: 64, MaxSendSGE: 1, MaxRecvSGE: 1},
	})
	if err != nil {
		v.t.Fatal(err)
	}
	for _, st := range []qp.State{qp.INIT, qp.RTR, qp.RTS} {
		needs, _, _ := qp.Requirements(qp.UC, st-1, st)
		attr := qp.Attr{
			State: st, Port: 1, Access: mr.RemoteWrite, PathMTU: 1024, DestQPN: peer, RQPSN: psn, SQPSN: v.psn,
			AV: qp.AddressVector{DGID: qp.GIDFromAddr(addrB)},
		}
		if err := q.Modify(&attr, needs|qp.AttrState); err != nil {
			v.t.Fatal(err)
		}
	}
	return q
}

// deliver receives packets of the peer in one batch.
func (v *fortress) deliver(packets ...*bth.Packet) { v.deliverFrom(addrB, packets...) }

func (v *fortress) deliverFrom(src netip.Addr, packets ...*bth.Packet) {
	v.in.rb.Frames = v.in.rb.Frames[:0]
	for _, p := range packets {
		v.in.rb.Frames = append(v.in.rb.Frames, received4(src, addrA, p.Append(nil)))
	}
	v.in.deliver()
}

// request returns a request of the peer to q; a WRITE, READ or atomic accesses n bytes at va.
func request(q *QP, op bth.Opcode, psn bth.PSN, rkey uint32, va uint64, n uint32) *bth.Packet {
	p := &bth.Packet{
		Opcode: op, PKey: 0xffff, DestQP: q.Num(), AckReq: true, PSN: psn, InvalidateRKey: rkey,
		RETH:      bth.RETH{VA: va, RKey: rkey, DMALen: n},
		AtomicETH: bth.AtomicETH{VA: va, RKey: rkey, SwapAdd: 0x4141414141414141},
		DETH:      bth.DETH{QKey: testQKey, SrcQP: peerQPN},
	}
	switch info := op.Info(); {
	case !info.Payload:
	case info.Pos == bth.First || info.Pos == bth.Middle:
		p.Payload = bytes.Repeat([]byte{'A'}, 1024)
	default:
		p.Payload = bytes.Repeat([]byte{'A'}, int(min(n, 1024)))
	}
	return p
}

// breached fails the test if memory outside the open areas was written or sent.
func (v *fortress) breached() {
	v.t.Helper()
	for i := range 2*areas + 1 {
		page, area := v.pages[i*fortPage:][:fortPage], i/2
		want := byte(fortSecret)
		switch {
		case i%2 == 1 && (area == areaAll || area == areaWrite):
			continue
		case i%2 == 1 && area == areaRead:
			want = fortOpen
		}
		if bytes.Count(page, []byte{want}) != fortPage {
			v.t.Errorf("page %d was written to", i)
		}
	}
	for _, f := range v.spy.take(0) {
		if bytes.IndexByte(f.Payload, fortSecret) >= 0 {
			v.t.Errorf("%v shows memory that no key opens", f.Opcode)
		}
	}
}

// serves fails the test unless the bystander's WRITE is executed and its ACK is sent by the time
// its batch has been processed.
func (v *fortress) serves() {
	v.t.Helper()
	p := request(v.bystander, bth.RCWriteOnly, v.good, v.areas[areaWrite].RKey(), v.areas[areaWrite].IOVA(), 8)
	v.spy.take(goodQPN)
	v.deliverFrom(addrC, p)
	for _, a := range v.spy.take(goodQPN) {
		if a.Opcode == bth.RCAck && a.PSN == v.good && a.AETH.Syndrome.IsAck() {
			v.good = v.good.Add(1)
			return
		}
	}
	v.t.Fatal("another queue pair was not served: its WRITE had no ACK")
}
