package nic

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

const testQKey = 0x11111111

var (
	addrA6 = netip.MustParseAddr("2001:db8::1")
	addrB6 = netip.MustParseAddr("2001:db8::2")
)

// newDatagramEnd opens a device over links with a datagram queue pair in RTS.
func newDatagramEnd(t testing.TB, seed uint64, links ...packet.Link) *end {
	t.Helper()
	e := &end{t: t, dev: openDevice(t, seed, links...), pd: &mr.PD{}, psn: bth.PSN(seed * 1000)}
	e.register(make([]byte, 1<<16))
	var err error
	if e.cq, err = e.dev.CreateCQ(4096); err != nil {
		t.Fatal(err)
	}
	e.qp = e.newDatagramQP(testQKey)
	return e
}

func (e *end) newDatagramQP(qkey uint32) *QP {
	e.t.Helper()
	q, err := e.dev.CreateQP(QPInit{
		Type: qp.UD, PD: e.pd, SendCQ: e.cq, RecvCQ: e.cq, User: e.dev.NewUser(),
		Cap: qp.Cap{MaxSendWR: 64, MaxRecvWR: 64, MaxSendSGE: 2, MaxRecvSGE: 2},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	e.startDatagrams(q, qkey)
	return q
}

// startDatagrams moves a datagram queue pair to RTS.
func (e *end) startDatagrams(q *QP, qkey uint32) {
	e.t.Helper()
	for _, st := range []qp.State{qp.INIT, qp.RTR, qp.RTS} {
		needs, _, _ := qp.Requirements(qp.UD, st-1, st)
		if err := q.Modify(&qp.Attr{State: st, Port: 1, QKey: qkey, SQPSN: e.psn}, needs|qp.AttrState); err != nil {
			e.t.Fatal(err)
		}
	}
}

func (e *end) ah(link uint8, to netip.Addr) *transport.AH {
	e.t.Helper()
	ah, err := e.dev.CreateAH(e.pd, qp.AddressVector{DGID: qp.GIDFromAddr(to), SGIDIndex: link, TrafficClass: 0x0a})
	if err != nil {
		e.t.Fatal(err)
	}
	return ah
}

// datagram returns a signaled send of n bytes at offset off.
func (e *end) datagram(id uint64, ah *transport.AH, to bth.QPN, off, n int) *qp.SendWR {
	return &qp.SendWR{
		ID: id, Opcode: qp.WRSendImm, Flags: qp.Signaled, Imm: uint32(id), SGList: e.sge(off, n),
		AH: ah, RemoteQPN: to, RemoteQKey: testQKey,
	}
}

func TestDatagramThereAndBack(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b netip.Addr
	}{{"IPv4", addrA, addrB}, {"IPv6", addrA6, addrB6}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := pipe.NewNet()
				n.HideHeader = true
				a, b := newDatagramEnd(t, 1, openLink(t, n, c.a)), newDatagramEnd(t, 2, openLink(t, n, c.b))
				defer closeAll(t, a, b)
				fill(a.buf[:1024], 1)
				b.postRecv(&qp.RecvWR{ID: 7, SGList: b.sge(0, 2000)})
				a.post(a.datagram(5, a.ah(0, c.b), b.qp.Num(), 0, 1024))
				a.succeed(1)
				wc := b.succeed(1)[0]
				if wc.WRID != 7 || wc.ByteLen != 1064 || wc.Flags != qp.GRH|qp.WithImm || wc.Imm != 5 ||
					wc.SrcQP != a.qp.Num() {
					t.Errorf("received as %+v", wc)
				}
				if !bytes.Equal(b.buf[40:1064], a.buf[:1024]) {
					t.Error("other bytes arrived")
				}
				av, err := b.dev.ReplyVector((*transport.GRH)(b.buf))
				if err != nil || av != (qp.AddressVector{DGID: qp.GIDFromAddr(c.a), TrafficClass: 0x08}) {
					t.Fatalf("ReplyVector = %+v, %v: want one to %v without the ECN bits", av, err, c.a)
				}
				ah, err := b.dev.CreateAH(b.pd, av)
				if err != nil {
					t.Fatal(err)
				}
				a.postRecv(&qp.RecvWR{ID: 8, SGList: a.sge(4096, 100)})
				b.post(b.datagram(9, ah, wc.SrcQP, 40, 60))
				if got := a.succeed(1)[0]; got.WRID != 8 || got.ByteLen != 100 {
					t.Errorf("the answer was received as %+v", got)
				}
			})
		})
	}
}

// The GRH area of an IPv4 datagram has the identification even if the link does not see it: it
// follows from the ICRC. The header checksum is correct for it.
func TestHeaderOfADatagramHasTheIdentification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		n.HideHeader = true
		a := newDatagramEnd(t, 1, openLink(t, n, addrA))
		peer := newRawPeer(t, n, addrB)
		defer peer.link.Close()
		defer closeAll(t, a)
		a.postRecv(&qp.RecvWR{SGList: a.sge(0, 100)})
		p := bth.Packet{Opcode: bth.UDSendOnly, PKey: 0xffff, DestQP: a.qp.Num(),
			DETH: bth.DETH{QKey: testQKey, SrcQP: 3}, Payload: []byte("data")}
		peer.sendWithID(addrA, p.Append(nil), 0xbeef)
		a.succeed(1)
		if id := binary.BigEndian.Uint16(a.buf[24:]); id != 0xbeef {
			t.Errorf("identification %#x, want 0xbeef", id)
		}
		if src, dst, _, err := (*transport.GRH)(a.buf).Origin(); err != nil || src != addrB || dst != addrA {
			t.Errorf("Origin = %v, %v, %v", src, dst, err)
		}
	})
}

// Each datagram is sent by the link of its handle, in posting order as far as completions show,
// and is received whichever address of the peer it is sent to.
func TestDatagramsOfOneQueuePairLeaveBySeveralLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a := newDatagramEnd(t, 1, openLink(t, n, addrA), openLink(t, n, addrA6))
		b := newDatagramEnd(t, 2, openLink(t, n, addrB6), openLink(t, n, addrB))
		defer closeAll(t, a, b)
		four, six := a.ah(0, addrB), a.ah(1, addrB6)
		const count = 60
		var wrs []*qp.SendWR
		for i := range count {
			ah := four
			if i%7 < 3 {
				ah = six
			}
			wrs = append(wrs, a.datagram(uint64(i), ah, b.qp.Num(), i, 10))
			b.postRecv(&qp.RecvWR{ID: uint64(i), SGList: b.sge(100*i, 100)})
		}
		a.post(wrs...)
		for i, wc := range a.succeed(count) {
			if wc.WRID != uint64(i) {
				t.Errorf("completion %d is of work request %d", i, wc.WRID)
			}
		}
		seen := map[uint32]bool{}
		for _, wc := range b.succeed(count) {
			src, _, _, err := (*transport.GRH)(b.buf[100*wc.WRID:]).Origin()
			if want := wrs[wc.Imm].AH == six; err != nil || src.Is6() != want || seen[wc.Imm] {
				t.Errorf("datagram %d came from %v, %v; seen before: %v", wc.Imm, src, err, seen[wc.Imm])
			}
			seen[wc.Imm] = true
		}
	})
}

func TestAddressHandlesAreChecked(t *testing.T) {
	n := pipe.NewNet()
	a := newDatagramEnd(t, 1, openLink(t, n, addrA))
	defer closeAll(t, a)
	for _, c := range []struct {
		av   qp.AddressVector
		want string
	}{
		{qp.AddressVector{DGID: qp.GIDFromAddr(addrB), SGIDIndex: 1}, "no GID with index 1"},
		{qp.AddressVector{DGID: qp.GIDFromAddr(addrB6)}, "one is IPv4, the other IPv6"},
		{qp.AddressVector{}, "not the GID of a peer"},
		{qp.AddressVector{DGID: qp.GIDFromAddr(addrB), FlowLabel: 1 << 20}, "flow label 0x100000"},
	} {
		if _, err := a.dev.CreateAH(a.pd, c.av); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("CreateAH(%+v) = %v, want %q", c.av, err, c.want)
		}
	}
	wr := a.datagram(1, nil, 17, 0, 1)
	if _, err := a.qp.PostSend([]*qp.SendWR{wr}); err == nil {
		t.Error("a handle that is nil was taken")
	}
	group := a.ah(0, netip.MustParseAddr("239.1.2.3"))
	if _, err := a.qp.PostSend([]*qp.SendWR{a.datagram(1, group, 17, 0, 1)}); err == nil ||
		!strings.Contains(err.Error(), "0xffffff") {
		t.Errorf("a datagram to QPN 17 of a group: %v", err)
	}
	if _, err := a.dev.ReplyVector(&transport.GRH{}); err == nil {
		t.Error("a way back to nowhere")
	}
}

func TestTheGeneralServicesInterfaceIsQP1(t *testing.T) {
	n := pipe.NewNet()
	a := newDatagramEnd(t, 1, openLink(t, n, addrA))
	defer closeAll(t, a)
	init := QPInit{Type: qp.GSI, PD: a.pd, SendCQ: a.cq, RecvCQ: a.cq}
	q, err := a.dev.CreateQP(init)
	if err != nil || q.Num() != bth.GSI {
		t.Fatalf("QPN %v, %v, want 1", q.Num(), err)
	}
	if _, err := a.dev.CreateQP(init); err == nil {
		t.Error("a second QP1 was made")
	}
	q.Close()
	if _, err := a.dev.CreateQP(init); err != nil {
		t.Errorf("QP1 cannot be made again: %v", err)
	}
}

// Of the packets with a correct ICRC, only a datagram with the correct Q_Key is accepted.
func TestHostileDatagrams(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*bth.Packet)
		verdict string
	}{
		{"another Q_Key", func(p *bth.Packet) { p.DETH.QKey++ }, "bad_q_key"},
		{"the GSI's Q_Key", func(p *bth.Packet) { p.DETH.QKey = transport.GSIQKey }, "bad_q_key"},
		{"longer than the receive", func(p *bth.Packet) { p.Payload = make([]byte, 4096) }, "too_long"},
		{"a WRITE of a reliable connection", func(p *bth.Packet) { p.Opcode = bth.RCWriteOnly }, "wrong_service"},
		{"a READ request", func(p *bth.Packet) { p.Opcode, p.Payload = bth.RCReadRequest, nil }, "wrong_service"},
		{"an acknowledgement", func(p *bth.Packet) { p.Opcode, p.Payload = bth.RCAck, nil }, "wrong_service"},
		{"a SEND of an unreliable connection", func(p *bth.Packet) { p.Opcode = bth.UCSendOnly }, "wrong_service"},
		{"a congestion notification", func(p *bth.Packet) { p.Opcode, p.Payload = bth.CNP, nil }, "wrong_service"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := pipe.NewNet()
				a, peer := newDatagramEnd(t, 1, openLink(t, n, addrA)), newRawPeer(t, n, addrB)
				defer peer.link.Close()
				defer closeAll(t, a)
				a.postRecv(&qp.RecvWR{ID: 1, SGList: a.sge(0, 2000)})
				good := bth.Packet{Opcode: bth.UDSendOnly, PKey: 0xffff, DestQP: a.qp.Num(),
					DETH: bth.DETH{QKey: testQKey, SrcQP: 3}, Payload: []byte("datagram")}
				bad := good
				c.change(&bad)
				peer.sendSealed(addrA, bad.Append(nil))
				synctest.Wait()
				if got := a.counter("verdict_" + c.verdict); got != 1 {
					t.Errorf("%s is counted %d times", c.verdict, got)
				}
				if !bytes.Equal(a.buf, make([]byte, len(a.buf))) || len(peer.answers()) > 0 {
					t.Error("it was written or answered")
				}
				peer.sendSealed(addrA, good.Append(nil))
				if wc := a.succeed(1)[0]; wc.WRID != 1 || wc.ByteLen != 48 {
					t.Errorf("a good datagram is received as %+v", wc)
				}
			})
		})
	}
}

// FuzzReceiveDatagrams is FuzzReceive for a datagram queue pair. data contains packets, each
// preceded by two bytes: 13 bits of length and, from the top, one bit for "to the existing queue
// pair" and one for "with its Q_Key".
func FuzzReceiveDatagrams(f *testing.F) {
	for _, op := range []bth.Opcode{bth.UDSendOnly, bth.UDSendOnlyImm, bth.RCSendOnly, bth.RCWriteOnly, bth.UCSendFirst,
		0x66, 0x81} {
		for _, flags := range []byte{0xc0, 0x80} {
			p := bth.Packet{Opcode: op, PKey: 0xffff, Payload: []byte("datagram")}
			b := p.Append(nil)
			f.Add(append([]byte{flags, byte(len(b))}, b...))
		}
	}
	n := pipe.NewNet()
	f.Fuzz(func(t *testing.T, data []byte) {
		memory := bytes.Repeat([]byte{0x5a}, 3*4096)
		link, err := n.Open(addrA, 9000)
		if err != nil {
			t.Fatal(err)
		}
		e := newDatagramEnd(t, 1, link)
		defer closeAll(t, e)
		e.register(memory[4096:8192])
		for i := range 4 {
			e.postRecv(&qp.RecvWR{SGList: e.sge(1000*i, 30+10*i)})
		}
		in := newInbox(e.dev.gids[0], e.dev.shard0())
		packets, wrong := 0, 0
		for len(data) >= 2 {
			flags, size := data[0], min(int(data[0]&0x1f)<<8|int(data[1]), len(data)-2)
			b := bytes.Clone(data[2 : 2+size])
			data = data[2+size:]
			if flags&0x80 != 0 && len(b) >= bth.BTHLen {
				copy(b[5:8], []byte{byte(e.qp.Num() >> 16), byte(e.qp.Num() >> 8), byte(e.qp.Num())})
				copy(b[2:4], []byte{0xff, 0xff})
			}
			if flags&0x40 != 0 && len(b) >= bth.BTHLen+bth.DETHLen {
				binary.BigEndian.PutUint32(b[bth.BTHLen:], testQKey)
			}
			if len(b) >= bth.BTHLen+4 && binary.BigEndian.Uint32(b[bth.BTHLen:]) != testQKey {
				wrong++
			}
			in.rb.Frames = append(in.rb.Frames[:0], received4(addrB, addrA, b))
			in.deliver()
			packets++
		}
		if got := e.judged(); got != uint64(packets) {
			t.Errorf("%d packets are counted, %d came", got, packets)
		}
		if got := e.counter("verdict_accepted"); got > uint64(packets-wrong) {
			t.Errorf("%d packets accepted of %d, %d of which have another Q_Key", got, packets, wrong)
		}
		for i, b := range memory {
			inside := i >= 4096 && i < 8192 && (i-4096)%1000 < 60
			if !inside && b != 0x5a {
				t.Fatalf("byte %d, outside of every receive, was written to", i)
			}
		}
	})
}
