package transport

import (
	"bytes"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// farMemory is memory without a pointer to it. It records the length of each read.
type farMemory struct {
	mr.Memory
	reads []int
}

func newFarMemory(b []byte) *farMemory { return &farMemory{Memory: mr.Bytes(b)} }

func (m *farMemory) ReadAt(p []byte, off uint64) error {
	m.reads = append(m.reads, len(p))
	return m.Memory.ReadAt(p, off)
}

// Memory without a pointer to it is read 64 KiB at a time, however short the packets are.
func TestAMessageIsReadInLongPieces(t *testing.T) {
	const size = 1 << 20
	const k = 1 << 10
	for name, c := range map[string]struct {
		op     qp.WROpcode
		length int
		reads  []int // reads of its memory
	}{
		"a WRITE of one packet":   {qp.WRWrite, 100, []int{100}},
		"a WRITE of 64 KiB":       {qp.WRWrite, 64 * k, []int{64 * k}},
		"a SEND of 64 KiB":        {qp.WRSend, 64 * k, []int{64 * k}},
		"a READ of 64 KiB":        {qp.WRRead, 64 * k, []int{64 * k}},
		"a WRITE with an odd end": {qp.WRWrite, 64*k + 3, []int{64 * k, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			mem := [2][]byte{make([]byte, size), make([]byte, size)}
			far := [2]*farMemory{newFarMemory(mem[0]), newFarMemory(mem[1])}
			w := newPumpOver(1024, far[0], far[1])
			from, to := 0, 1
			if c.op == qp.WRRead {
				from, to = 1, 0
			}
			for i := range mem[from][:c.length] {
				mem[from][i] = byte(i * 7)
			}
			wcs := make([]qp.WC, 4)
			sg := []qp.SGE{{Length: uint32(c.length), LKey: w.reg[0].LKey()}}
			rr := &qp.RecvWR{SGList: []qp.SGE{{Length: uint32(c.length), LKey: w.reg[1].LKey()}}}
			if c.op == qp.WRSend {
				if err := w.qp[1].Recv.(*qp.RecvQueue).Push(rr); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.qp[0].SQ.Push(&qp.SendWR{Opcode: c.op, RKey: w.reg[1].RKey(), SGList: sg}); err != nil {
				t.Fatal(err)
			}
			w.rc[0].Posted()
			w.run()
			if n := w.cq[0].Poll(wcs); n != 1 || wcs[0].Status != qp.WCSuccess {
				t.Fatalf("%d completions, the first %v", n, wcs[0].Status)
			}
			if !bytes.Equal(mem[0][:c.length], mem[1][:c.length]) {
				t.Error("other bytes arrived")
			}
			if !slices.Equal(far[from].reads, c.reads) || len(far[to].reads) > 0 {
				t.Errorf("%v bytes were read, want %v", far[from].reads, c.reads)
			}
		})
	}
}

// Messages sent together are each read from their own memory, whatever was read for another.
func TestWhatWasReadForOneMessageIsNotSentForAnother(t *testing.T) {
	const length = 4096
	from, to := make([]byte, 1<<20), make([]byte, 1<<20)
	for i := range from {
		from[i] = byte(i / 256)
	}
	w := newPumpOver(1024, newFarMemory(from), mr.Bytes(to))
	other := bytes.Repeat([]byte{0xee}, 1<<16)
	region, err := w.rc[0].keys.Register(w.qp[0].PD, newFarMemory(other), 0, 1<<16, mr.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	pieces := []struct {
		addr uint64
		lkey uint32
	}{{8192, w.reg[0].LKey()}, {8192, region.LKey()}, {8192 - 512, w.reg[0].LKey()}, {8192 + 512, w.reg[0].LKey()},
		{8192 + length, w.reg[0].LKey()}}
	var want []byte
	for i, p := range pieces {
		memory := from
		if p.lkey == region.LKey() {
			memory = other
		}
		want = append(want, memory[p.addr:][:length]...)
		err := w.qp[0].SQ.Push(&qp.SendWR{
			Opcode: qp.WRWrite, RemoteAddr: uint64(i) * length, RKey: w.reg[1].RKey(),
			SGList: []qp.SGE{{Addr: p.addr, Length: length, LKey: p.lkey}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.rc[0].Posted()
	w.run()
	if !bytes.Equal(to[:len(want)], want) {
		t.Error("other bytes arrived")
	}
}

// No more is read than may be sent: what the window holds back is read when it is sent.
func TestNoMoreIsReadThanMayLeave(t *testing.T) {
	const mtu, packets = 1024, 40
	mem := make([]byte, 1<<20)
	far := newFarMemory(mem)
	w := newPumpOver(mtu, far, mr.Bytes(make([]byte, 1<<20)))
	key := w.reg[0].LKey()
	err := w.qp[0].SQ.Push(&qp.SendWR{
		Opcode: qp.WRWrite, RKey: w.reg[1].RKey(),
		SGList: []qp.SGE{{Length: mtu / 2, LKey: key}, {Addr: mtu / 2, Length: packets*mtu - mtu/2, LKey: key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.rc[0].Posted()
	for _, limit := range []int{1, 7, 64} {
		w.rc[0].Transmit(w.now, nil, w.batch, limit)
		w.batch.Reset()
	}
	if want := []int{mtu / 2, mtu / 2, 7 * mtu, 32 * mtu}; !slices.Equal(far.reads, want) {
		t.Errorf("%v bytes were read, want %v", far.reads, want)
	}
}
