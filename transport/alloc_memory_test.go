package transport

import (
	"testing"

	"github.com/gorxe/gorxe/internal/host/hostmem"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

func TestFlushAndAtomicWriteAllocateNothing(t *testing.T) {
	w := newPump(1024)
	flush := &qp.SendWR{Opcode: qp.WRFlush, RKey: w.reg[1].RKey(),
		Flush: qp.Flush{Type: qp.FlushToGlobal, Level: qp.FlushRegion}}
	write := &qp.SendWR{Opcode: qp.WRAtomicWrite, RKey: w.reg[1].RKey(), Flags: qp.Inline, InlineData: make([]byte, 8)}
	w.steady(t, 0, 2, func() error {
		if err := w.qp[0].SQ.Push(flush); err != nil {
			return err
		}
		return w.qp[0].SQ.Push(write)
	})
}

// Files, shared memory and anonymous memory of the host take the same path as memory of this
// process.
func TestHostMemoryDoesNotAllocate(t *testing.T) {
	var mem [2]mr.Memory
	for i := range mem {
		m, err := hostmem.Anonymous(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		mem[i] = m
	}
	w := newPumpOver(1024, mem[:]...)
	for _, op := range []qp.WROpcode{qp.WRWrite, qp.WRRead, qp.WRFetchAdd, qp.WRCmpSwap, qp.WRAtomicWrite, qp.WRFlush} {
		wr := &qp.SendWR{Opcode: op, RKey: w.reg[1].RKey()}
		switch op {
		case qp.WRFlush:
			wr.Flush = qp.Flush{Length: 4096, Type: qp.FlushToGlobal}
		case qp.WRWrite, qp.WRRead:
			wr.SGList = []qp.SGE{{Length: 65536, LKey: w.reg[0].LKey()}}
		default:
			wr.SGList = []qp.SGE{{Length: 8, LKey: w.reg[0].LKey()}}
		}
		w.steady(t, 0, 1, func() error { return w.qp[0].SQ.Push(wr) })
	}
}

// Binding and unbinding a window allocates only the region that its key leads to.
func TestABindAllocatesOneRegion(t *testing.T) {
	w := newPump(1024)
	keys, pd := w.rc[0].keys, w.qp[0].PD
	region, err := keys.Register(pd, mr.Bytes(make([]byte, 64)), 0, 64, mr.MWBind)
	if err != nil {
		t.Fatal(err)
	}
	window, err := keys.AllocWindow(pd, mr.WindowType2)
	if err != nil {
		t.Fatal(err)
	}
	bind := &qp.SendWR{Opcode: qp.WRBindMW, Bind: &mr.Bind{LKey: region.LKey(), Length: 64, Access: mr.RemoteRead}}
	inv := &qp.SendWR{Opcode: qp.WRLocalInv}
	w.steady(t, 1, 2, func() error {
		bind.Bind.Key = window.RKey()
		bind.Bind.NewKey = mr.IncRKey(bind.Bind.Key)
		inv.Imm = bind.Bind.NewKey
		if err := w.qp[0].SQ.Push(bind); err != nil {
			return err
		}
		return w.qp[0].SQ.Push(inv)
	})
}

// steady checks that post, and all that follows from it until the given number of completions,
// makes allocs allocations in steady state.
func (w *pump) steady(t *testing.T, allocs float64, completions int, post func() error) {
	t.Helper()
	wcs := make([]qp.WC, 8)
	one := func() {
		if err := post(); err != nil {
			t.Fatal(err)
		}
		w.run()
		if n := w.cq[0].Poll(wcs); n != completions {
			t.Fatalf("%d completions, want %d", n, completions)
		}
		for _, wc := range wcs[:completions] {
			if wc.Status != qp.WCSuccess {
				t.Fatalf("%v ends with %v", wc.Opcode, wc.Status)
			}
		}
	}
	for range 200 {
		one()
	}
	if a := testing.AllocsPerRun(200, one); a != allocs {
		t.Errorf("%v allocations, want %v", a, allocs)
	}
}
