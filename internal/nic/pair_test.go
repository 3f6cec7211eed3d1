package nic

import (
	"flag"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

var (
	addrA = netip.MustParseAddr("192.0.2.1")
	addrB = netip.MustParseAddr("192.0.2.2")
)

// With go test -shards 4 every device of these tests has four shards.
var shards = flag.Int("shards", 1, "`number` of shards of each device")

// oneShard skips a test of queue pairs in the same shard if there are several.
func oneShard(t testing.TB) {
	if *shards > 1 {
		t.Skip("this is about queue pairs of one shard, and -shards gives them several")
	}
}

const allAccess = mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead

// An end is a device with a queue pair and a registered buffer.
type end struct {
	t   testing.TB
	dev *Device
	pd  *mr.PD
	cq  *CQ
	qp  *QP
	mem *mr.Region
	buf []byte
	psn bth.PSN
}

func openLink(t testing.TB, n *pipe.Net, addr netip.Addr) packet.Link {
	t.Helper()
	l, err := n.Open(addr, 9000)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func openDevice(t testing.TB, seed uint64, links ...packet.Link) *Device {
	t.Helper()
	d, err := Open(Config{Name: "test", Links: links, Seed: seed, Shards: *shards, MaxQP: 1 << 16, MaxMR: 1 << 16,
		MaxCQ: 1 << 16, MaxSRQ: 1 << 8})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// newEnd opens a device over link, with a buffer of size bytes.
func newEnd(t testing.TB, seed uint64, link packet.Link, size int) *end {
	t.Helper()
	return newEndOn(t, openDevice(t, seed, link), bth.PSN(seed*1000), size)
}

// newEndOn makes an end on an open device.
func newEndOn(t testing.TB, dev *Device, psn bth.PSN, size int) *end {
	t.Helper()
	e := &end{t: t, dev: dev, pd: &mr.PD{}, psn: psn}
	e.register(make([]byte, size))
	var err error
	if e.cq, err = e.dev.CreateCQ(4096); err != nil {
		t.Fatal(err)
	}
	e.qp = e.newQP()
	return e
}

// register registers buf as the region of e.
func (e *end) register(buf []byte) {
	e.t.Helper()
	mem, err := e.dev.Register(e.pd, mr.Bytes(buf), 0x10000, uint64(len(buf)), allAccess)
	if err != nil {
		e.t.Fatal(err)
	}
	e.mem, e.buf = mem, buf
}

func (e *end) newQP() *QP {
	e.t.Helper()
	q, err := e.dev.CreateQP(QPInit{
		Type: qp.RC, PD: e.pd, SendCQ: e.cq, RecvCQ: e.cq,
		Cap: qp.Cap{MaxSendWR: 1024, MaxRecvWR: 1024, MaxSendSGE: 4, MaxRecvSGE: 4},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return q
}

// The two timing attributes that tests vary.
type retry struct{ timeout, count uint8 }

var usualRetry = retry{timeout: 14, count: 7}

// connect moves q of e to RTS, connected to the queue pair peer at addr.
func (e *end) connect(q *QP, addr netip.Addr, peer bth.QPN, peerPSN bth.PSN, r retry) {
	e.t.Helper()
	e.connectBy(0, q, addr, peer, peerPSN, r)
}

// connectBy is connect with entry index of the GID table.
func (e *end) connectBy(index uint8, q *QP, addr netip.Addr, peer bth.QPN, peerPSN bth.PSN, r retry) {
	e.t.Helper()
	for _, step := range []struct {
		attr qp.Attr
		mask qp.AttrMask
	}{{
		qp.Attr{State: qp.INIT, Port: 1, Access: mr.RemoteWrite | mr.RemoteRead},
		qp.AttrState | qp.AttrPKeyIndex | qp.AttrPort | qp.AttrAccess,
	}, {
		qp.Attr{
			State: qp.RTR, PathMTU: 1024, DestQPN: peer, RQPSN: peerPSN, MaxDestRdAtomic: 16, MinRNRTimer: 12,
			AV: qp.AddressVector{DGID: qp.GIDFromAddr(addr), SGIDIndex: index},
		},
		qp.AttrState | qp.AttrAV | qp.AttrPathMTU | qp.AttrDestQPN | qp.AttrRQPSN |
			qp.AttrMaxDestRdAtomic | qp.AttrMinRNRTimer,
	}, {
		qp.Attr{State: qp.RTS, SQPSN: e.psn, Timeout: r.timeout, RetryCnt: r.count, RNRRetry: 7, MaxRdAtomic: 16},
		qp.AttrState | qp.AttrSQPSN | qp.AttrTimeout | qp.AttrRetryCnt | qp.AttrRNRRetry | qp.AttrMaxRdAtomic,
	}} {
		if err := q.Modify(&step.attr, step.mask); err != nil {
			e.t.Fatal(err)
		}
	}
}

// newPair returns two connected ends with buffers of size bytes, over links that wrap may
// decorate. The caller closes them, for example with closeAll.
func newPair(t testing.TB, size int, r retry, wrap func(packet.Link) packet.Link) (a, b *end) {
	t.Helper()
	n := pipe.NewNet()
	if wrap == nil {
		wrap = func(l packet.Link) packet.Link { return l }
	}
	a = newEnd(t, 1, wrap(openLink(t, n, addrA)), size)
	b = newEnd(t, 2, wrap(openLink(t, n, addrB)), size)
	a.connect(a.qp, addrB, b.qp.Num(), b.psn, r)
	b.connect(b.qp, addrA, a.qp.Num(), a.psn, r)
	return a, b
}

func closeAll(t testing.TB, ends ...*end) {
	t.Helper()
	for _, e := range ends {
		if err := e.dev.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
}

func (e *end) sge(off, n int) []qp.SGE {
	return []qp.SGE{{Addr: e.mem.IOVA() + uint64(off), Length: uint32(n), LKey: e.mem.LKey()}}
}

// write returns a signaled WRITE of n bytes at offset off from e to the same offset at peer.
func (e *end) write(peer *end, id uint64, off, n int) *qp.SendWR {
	return &qp.SendWR{
		ID: id, Opcode: qp.WRWrite, Flags: qp.Signaled, SGList: e.sge(off, n),
		RemoteAddr: peer.mem.IOVA() + uint64(off), RKey: peer.mem.RKey(),
	}
}

func (e *end) read(peer *end, id uint64, off, n int) *qp.SendWR {
	wr := e.write(peer, id, off, n)
	wr.Opcode = qp.WRRead
	return wr
}

func (e *end) post(wrs ...*qp.SendWR) {
	e.t.Helper()
	if _, err := e.qp.PostSend(wrs); err != nil {
		e.t.Fatal(err)
	}
}

func (e *end) postRecv(wr *qp.RecvWR) {
	e.t.Helper()
	if _, err := e.qp.PostRecv([]*qp.RecvWR{wr}); err != nil {
		e.t.Fatal(err)
	}
}

// wait returns the next n completions.
func (e *end) wait(n int) []qp.WC {
	e.t.Helper()
	var out []qp.WC
	for len(out) < n {
		wc := make([]qp.WC, n-len(out))
		k, err := e.cq.Wait(e.t.Context(), wc)
		if err != nil {
			e.t.Fatalf("after %d of %d completions: %v", len(out), n, err)
		}
		out = append(out, wc[:k]...)
	}
	return out
}

// succeed is wait, and fails the test unless every completion is a success.
func (e *end) succeed(n int) []qp.WC {
	e.t.Helper()
	wcs := e.wait(n)
	for _, wc := range wcs {
		if wc.Status != qp.WCSuccess {
			e.t.Fatalf("work request %d ended with %s (%v)", wc.WRID, wc.Status.Name(), wc.Status)
		}
	}
	return wcs
}

func (e *end) counter(name string) uint64 {
	e.t.Helper()
	value, found := uint64(0), false
	e.dev.Counters(func(n string, v uint64) {
		if n == name {
			value, found = v, true
		}
	})
	if !found {
		e.t.Fatalf("there is no counter %q", name)
	}
	return value
}

// drops returns the counters of dropped packets that are not 0.
func (e *end) drops() map[string]uint64 {
	out := map[string]uint64{}
	e.dev.Counters(func(n string, v uint64) {
		if len(n) > 5 && n[:5] == "drop_" && v > 0 {
			out[n[5:]] = v
		}
	})
	return out
}
