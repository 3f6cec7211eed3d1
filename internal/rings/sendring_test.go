package rings_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// handle is an address handle.
type handle struct{ num uint32 }

func (handle) PD() *mr.PD               { return nil }
func (handle) Vector() qp.AddressVector { return qp.AddressVector{} }
func (handle) Multicast() bool          { return false }

func findHandle(num uint32) (qp.AH, bool) { return handle{num}, num == 7 }

const junk = 0x5a5a5a5a5a5a5a5a

// element writes fields by offset, over arbitrary data in all other fields except the opcode
// and the flags: fields that the opcode does not use must be ignored.
func element(opcode, flags uint32, u32 map[int]uint32, u64 map[int]uint64) func(e []byte) {
	return func(e []byte) {
		for i := 0; i < len(e); i += 8 {
			host.PutUint64(e[i:], junk)
		}
		sendHead(e, 42, opcode, flags)
		for at, v := range u32 {
			host.PutUint32(e[at:], v)
		}
		for at, v := range u64 {
			host.PutUint64(e[at:], v)
		}
	}
}

func TestWhatIsFetched(t *testing.T) {
	type f32 = map[int]uint32
	type f64 = map[int]uint64
	one := []qp.SGE{{Addr: 0x1122334455667788, Length: 100, LKey: 0x99}}
	rdma64, rdma32 := f64{24: 0x40000, 208: one[0].Addr}, f32{32: 0x77, 196: 1, 216: 100, 220: 0x99}
	with := func(m f32, at int, v uint32) f32 {
		c := f32{at: v}
		for k, v := range m {
			c[k] = v
		}
		return c
	}
	be := func(v uint32) uint32 { return host.Uint32(big.AppendUint32(nil, v)) }
	atomic64, atomic32 := f64{24: 0x40000, 32: 5, 40: 6, 208: one[0].Addr}, f32{48: 0x77, 196: 1, 216: 8, 220: 0x99}
	eight := []qp.SGE{{Addr: one[0].Addr, Length: 8, LKey: 0x99}}
	for name, c := range map[string]struct {
		fill func([]byte)
		ud   bool
		want *qp.SendWR // nil: invalid request
	}{
		"WRITE": {element(0, 2, rdma32, rdma64), false,
			&qp.SendWR{Opcode: qp.WRWrite, Flags: qp.Signaled, SGList: one, RemoteAddr: 0x40000, RKey: 0x77}},
		"WRITE_IMM": {element(1, 0, with(rdma32, 20, be(0xabcd)), rdma64), false,
			&qp.SendWR{Opcode: qp.WRWriteImm, SGList: one, RemoteAddr: 0x40000, RKey: 0x77, Imm: 0xabcd}},
		"SEND": {element(2, 7, f32{196: 1, 216: 100, 220: 0x99}, f64{208: one[0].Addr}), false,
			&qp.SendWR{Opcode: qp.WRSend, Flags: qp.Fence | qp.Signaled | qp.Solicited, SGList: one}},
		"SEND of nothing": {element(2, 0, f32{196: 0}, nil), false, &qp.SendWR{Opcode: qp.WRSend}},
		"SEND with flags that mean nothing": {element(2, 0xfffffff0, f32{196: 0}, nil), false,
			&qp.SendWR{Opcode: qp.WRSend}},
		"SEND_IMM": {element(3, 0, f32{20: be(0xabcd), 196: 0}, nil), false,
			&qp.SendWR{Opcode: qp.WRSendImm, Imm: 0xabcd}},
		"READ": {element(4, 0, rdma32, rdma64), false,
			&qp.SendWR{Opcode: qp.WRRead, SGList: one, RemoteAddr: 0x40000, RKey: 0x77}},
		"CAS": {element(5, 0, atomic32, atomic64), false,
			&qp.SendWR{Opcode: qp.WRCmpSwap, SGList: eight, RemoteAddr: 0x40000, RKey: 0x77, CompareAdd: 5, Swap: 6}},
		"FAA": {element(6, 0, atomic32, atomic64), false,
			&qp.SendWR{Opcode: qp.WRFetchAdd, SGList: eight, RemoteAddr: 0x40000, RKey: 0x77, CompareAdd: 5, Swap: 6}},
		"LOCAL_INV": {element(7, 0, f32{20: 0x1234}, nil), false, &qp.SendWR{Opcode: qp.WRLocalInv, Imm: 0x1234}},
		"BIND_MW": {element(8, 0, f32{40: 1, 44: 0x200, 48: 0x201, 52: 6}, f64{24: 0x1000, 32: 1 << 40}), false,
			&qp.SendWR{Opcode: qp.WRBindMW,
				Bind: &mr.Bind{Key: 0x200, NewKey: 0x201, LKey: 1, Addr: 0x1000, Length: 1 << 40,
					Access: mr.RemoteWrite | mr.RemoteRead}}},
		"SEND_INV": {element(9, 0, f32{20: 0x1234, 196: 0}, nil), false, &qp.SendWR{Opcode: qp.WRSendInv, Imm: 0x1234}},
		"FLUSH": {element(14, 0, f32{32: 99, 36: 0x77, 40: host.Uint32([]byte{2, 1, 0, 0})}, f64{24: 0x40000}), false,
			&qp.SendWR{Opcode: qp.WRFlush, RemoteAddr: 0x40000, RKey: 0x77,
				Flush: qp.Flush{Length: 99, Type: 2, Level: 1}}},
		"ATOMIC_WRITE": {element(15, 0, f32{32: 0x77, 196: 0}, f64{24: 0x40000, 208: 0x0807060504030201}), false,
			&qp.SendWR{Opcode: qp.WRAtomicWrite, Flags: qp.Inline, RemoteAddr: 0x40000, RKey: 0x77,
				InlineData: host.AppendUint64(nil, 0x0807060504030201)}},
		"inline": {element(2, 8, f32{184: 3}, f64{208: 0}), false,
			&qp.SendWR{Opcode: qp.WRSend, Flags: qp.Inline, InlineData: []byte{0, 0, 0}}},
		"the most inline": {element(2, 8, f32{184: 40}, nil), false,
			&qp.SendWR{Opcode: qp.WRSend, Flags: qp.Inline, InlineData: bytes.Repeat([]byte{0x5a}, 40)}},
		"too much inline":           {element(2, 8, f32{184: 41}, nil), false, nil},
		"inline data without end":   {element(2, 8, f32{184: 1<<32 - 1}, nil), false, nil},
		"too many SGEs":             {element(2, 0, f32{196: 3}, nil), false, nil},
		"SGEs without end":          {element(2, 0, f32{196: 1<<32 - 1}, nil), false, nil},
		"an opcode between others":  {element(10, 0, f32{196: 0}, nil), false, nil},
		"an opcode behind the last": {element(16, 0, f32{196: 0}, nil), false, nil},
		"REG_MR, the kernel's own":  {element(0x20, 0, f32{196: 0}, nil), false, nil},
		"an opcode of 9 bits":       {element(0x102, 0, f32{196: 0}, nil), false, nil},
		"UD SEND": {element(2, 0, f32{24: 0x11, 28: 0x22, 36: 7, 196: 0}, nil), true,
			&qp.SendWR{Opcode: qp.WRSend, AH: handle{7}, RemoteQPN: 0x11, RemoteQKey: 0x22}},
		"UD SEND_IMM": {element(3, 0, f32{20: be(5), 24: 0x11, 28: 0x22, 36: 7, 196: 0}, nil), true,
			&qp.SendWR{Opcode: qp.WRSendImm, AH: handle{7}, RemoteQPN: 0x11, RemoteQKey: 0x22, Imm: 5}},
		"UD without a handle":  {element(2, 0, f32{36: 0, 196: 0}, nil), true, nil},
		"UD of another handle": {element(2, 0, f32{36: 8, 196: 0}, nil), true, nil},
	} {
		r, p := newSendRing(t, 3, rings.SendConfig{MaxSGE: 2, MaxInline: 40, Datagram: c.ud, AH: findHandle})
		p.post(c.fill)
		p.post(send(43))
		wr := qp.SendWR{Reg: &mr.FastReg{}, Swap: 9, SGList: make([]qp.SGE, 1), InlineData: make([]byte, 1)}
		status, want := r.Fetch(&wr), qp.FetchGot
		if c.want == nil {
			c.want, want = &qp.SendWR{}, qp.FetchBad
		}
		c.want.ID = 42
		if status != want {
			t.Errorf("%s: status %d, want %d", name, status, want)
		}
		if diff := cmp.Diff(c.want, &wr, cmpopts.EquateEmpty(), cmp.AllowUnexported(handle{})); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		if c.ud {
			continue
		}
		if status := r.Fetch(&wr); status != qp.FetchGot || wr.ID != 43 {
			t.Errorf("%s: the next is %d with status %d", name, wr.ID, status)
		}
	}
}

func TestSigAllSignalsEachRequest(t *testing.T) {
	r, p := newSendRing(t, 3, rings.SendConfig{SigAll: true})
	p.post(send(1))
	var wr qp.SendWR
	if r.Fetch(&wr); wr.Flags != qp.Signaled {
		t.Errorf("flags are %#x", wr.Flags)
	}
}

func TestFetchedSlotsStayTakenUntilTheyRetire(t *testing.T) {
	r, p := newSendRing(t, 3, rings.SendConfig{})
	var wr qp.SendWR
	fetch := func(ids ...uint64) {
		t.Helper()
		for _, id := range ids {
			if s := r.Fetch(&wr); s != qp.FetchGot || wr.ID != id {
				t.Fatalf("fetched %d with status %d, want %d", wr.ID, s, id)
			}
		}
		if s := r.Fetch(&wr); s != qp.FetchNone {
			t.Fatalf("fetched %d more, status %d", wr.ID, s)
		}
	}
	post := func(ids ...uint64) {
		t.Helper()
		for _, id := range ids {
			if !p.post(send(id)) {
				t.Fatalf("no room for %d", id)
			}
		}
	}
	full := func() {
		t.Helper()
		if p.post(send(99)) {
			t.Fatal("there is room")
		}
	}
	if r.Depth() != 3 || r.Len() != 0 {
		t.Fatalf("depth %d, length %d", r.Depth(), r.Len())
	}
	post(1, 2, 3)
	full()
	if r.Len() != 3 {
		t.Fatalf("%d wait", r.Len())
	}
	fetch(1, 2, 3)
	full()
	r.Retire(2)
	if p.consumer() != 2 {
		t.Fatalf("consumer %d", p.consumer())
	}
	post(4, 5)
	full()
	fetch(4, 5)
	r.Retire(3)
	r.Retire(5) // more than there are
	if p.consumer() != p.producer() {
		t.Fatalf("consumer %d, producer %d", p.consumer(), p.producer())
	}
	fetch()
}

func TestResetRemovesFetchedAndWaitingRequests(t *testing.T) {
	r, p := newSendRing(t, 7, rings.SendConfig{})
	var wr qp.SendWR
	for id := range uint64(5) {
		p.post(send(id))
	}
	r.Fetch(&wr)
	r.Fetch(&wr)
	r.Retire(1)
	r.Reset()
	r.Retire(1)
	if p.consumer() != 5 || r.Len() != 0 || r.Fetch(&wr) != qp.FetchNone {
		t.Errorf("consumer %d, %d wait", p.consumer(), r.Len())
	}
	p.post(send(9))
	if s := r.Fetch(&wr); s != qp.FetchGot || wr.ID != 9 {
		t.Errorf("after a reset %d is fetched, status %d", wr.ID, s)
	}
}

// If a program moves its index to a fetched slot, no slot is fetched twice.
func TestAnIndexAmongFetchedSlotsIsNothingNew(t *testing.T) {
	r, p := newSendRing(t, 7, rings.SendConfig{})
	var wr qp.SendWR
	for id := range uint64(4) {
		p.post(send(id))
		r.Fetch(&wr)
	}
	for _, producer := range []uint32{0, 1, 2, 3, 4, 8, 12, 0xfffffff8} {
		p.index(128).Store(producer)
		if s := r.Fetch(&wr); s != qp.FetchNone || r.Len() != 0 {
			t.Errorf("producer %d: status %d, %d wait", producer, s, r.Len())
		}
	}
	for n, producer := range []uint32{13, 6, 0x80000007} {
		p.index(128).Store(producer)
		if r.Len() != n+1 {
			t.Errorf("producer %d: %d wait, want %d", producer, r.Len(), n+1)
		}
	}
}

// The program writes to a slot while it is being decoded.
func TestASlotIsCopiedBeforeItIsExamined(t *testing.T) {
	var p program
	r, p := newSendRing(t, 3, rings.SendConfig{MaxSGE: 2, Datagram: true, AH: func(uint32) (qp.AH, bool) {
		for i := range p.buf {
			p.buf[i] = 0xff
		}
		return handle{}, true
	}})
	p.post(send(5, qp.SGE{Addr: 1, Length: 2, LKey: 3}))
	var wr qp.SendWR
	if s := r.Fetch(&wr); s != qp.FetchGot || wr.ID != 5 || len(wr.SGList) != 1 ||
		wr.SGList[0] != (qp.SGE{Addr: 1, Length: 2, LKey: 3}) {
		t.Errorf("status %d, %+v", s, wr)
	}
}
