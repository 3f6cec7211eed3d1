package verbs_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"

	"github.com/gorxe/gorxe/verbs"
)

// complete waits for n successful completions of a queue pair's CQ.
func (n *node) complete(count int) {
	var wc [1]verbs.WC
	for range count {
		must(n.cq.Wait(context.Background(), wc[:]))
		if wc[0].Status != verbs.WCSuccess {
			log.Fatal(wc[0].Status)
		}
	}
}

// write writes into memory of b and returns the status.
func (n *node) write(addr uint64, rkey uint32) verbs.WCStatus {
	check(n.qp.PostSend(&verbs.SendWR{
		Opcode: verbs.WRWrite, Flags: verbs.Signaled,
		SGList: []verbs.SGE{n.mr.SGE(0, 8)}, RemoteAddr: addr, RKey: rkey,
	}))
	var wc [1]verbs.WC
	must(n.cq.Wait(context.Background(), wc[:]))
	return wc[0].Status
}

// A window of type 1 gives the peer access to a part of a region, until it is unbound.
func ExampleQP_BindMW() {
	a, b := twoNodes()
	defer a.dev.Close()
	defer b.dev.Close()

	region := must(b.pd.RegMR(make([]byte, 4096), verbs.LocalWrite|verbs.MWBind))
	w := must(b.pd.AllocMW(verbs.MWType1))
	key := must(b.qp.BindMW(w, verbs.BindInfo{
		Flags: verbs.Signaled, MR: region, Addr: region.Addr() + 1024, Length: 64, Access: verbs.RemoteWrite,
	}))
	b.complete(1)
	fmt.Println("inside:", a.write(region.Addr()+1024, key))

	must(b.qp.BindMW(w, verbs.BindInfo{Flags: verbs.Signaled}))
	b.complete(1)
	fmt.Println("unbound:", a.write(region.Addr()+1024, key))
	// Output:
	// inside: success
	// unbound: remote access error
}

// A work request binds a window of type 2; a SEND posted after it may carry the key. The peer
// invalidates the window by a SEND with the key.
func ExampleMW_Bind() {
	a, b := twoNodes()
	defer a.dev.Close()
	defer b.dev.Close()

	region := must(b.pd.RegMR(make([]byte, 4096), verbs.LocalWrite|verbs.MWBind))
	w := must(b.pd.AllocMW(verbs.MWType2))
	bind := w.Bind(region, region.Addr(), 64, verbs.RemoteWrite|verbs.ZeroBased)
	binary.BigEndian.PutUint32(b.buf, bind.NewKey)
	check(a.qp.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{a.mr.SGE(100, 4)}}))
	check(b.qp.PostSend(
		&verbs.SendWR{Opcode: verbs.WRBindMW, Bind: bind},
		&verbs.SendWR{Opcode: verbs.WRSend, Flags: verbs.Signaled, SGList: []verbs.SGE{b.mr.SGE(0, 4)}},
	))
	a.complete(1)
	b.complete(1)

	key := binary.BigEndian.Uint32(a.buf[100:])
	fmt.Println("write:", a.write(8, key))
	check(b.qp.PostRecv(&verbs.RecvWR{}))
	check(a.qp.PostSend(&verbs.SendWR{Opcode: verbs.WRSendInv, Flags: verbs.Signaled, Imm: key}))
	a.complete(1)
	var wc [1]verbs.WC
	must(b.cq.Wait(context.Background(), wc[:]))
	fmt.Println("invalidated:", wc[0].Flags == verbs.WCWithInv, wc[0].Imm == key, !w.Bound())
	// Output:
	// write: success
	// invalidated: true true true
}

// A work request registers memory in a fast-registration memory region, and another one invalidates
// the region.
func ExampleFastMR() {
	a, b := twoNodes()
	defer a.dev.Close()
	defer b.dev.Close()

	fast := must(b.pd.AllocFastMR(4096))
	for i := range 2 {
		buf := make([]byte, 64)
		check(b.qp.PostSend(&verbs.SendWR{
			Opcode: verbs.WRRegMR, Flags: verbs.Signaled,
			Reg: fast.Reg(buf, verbs.LocalWrite|verbs.RemoteWrite|verbs.ZeroBased),
		}))
		b.complete(1)
		a.buf[0] = byte('x' + i)
		fmt.Println("write:", a.write(0, fast.Key()))
		check(b.qp.PostSend(&verbs.SendWR{Opcode: verbs.WRLocalInv, Flags: verbs.Signaled, Imm: fast.Key()}))
		b.complete(1)
		fmt.Printf("b has %q\n", buf[0])
	}
	check(fast.Dereg())
	// Output:
	// write: success
	// b has 'x'
	// write: success
	// b has 'y'
}

// A region gets other rights without a new key.
func ExampleMR_Rereg() {
	a, b := twoNodes()
	defer a.dev.Close()
	defer b.dev.Close()

	key := b.mr.RKey()
	fmt.Println("before:", a.write(b.mr.Addr(), key))
	check(b.mr.Rereg(verbs.ReregAccess(verbs.RemoteRead)))
	fmt.Println("after:", a.write(b.mr.Addr(), key))
	// Output:
	// before: success
	// after: remote access error
}

// An ATOMIC WRITE after a FLUSH: a program that reads the eight bytes also finds the data written
// before.
func Example_flush() {
	a, b := twoNodes()
	defer a.dev.Close()
	defer b.dev.Close()
	attr, mask := verbs.QPAttr{Access: verbs.RemoteWrite | verbs.FlushGlobal}, verbs.AttrAccess
	check(b.qp.Modify(&attr, mask))
	region := must(b.pd.RegMR(make([]byte, 4096), verbs.LocalWrite|verbs.RemoteWrite|verbs.FlushGlobal))

	copy(a.buf, "data")
	check(a.qp.PostSend(
		&verbs.SendWR{
			Opcode: verbs.WRWrite, SGList: []verbs.SGE{a.mr.SGE(0, 4)},
			RemoteAddr: region.Addr() + 1024, RKey: region.RKey(),
		},
		&verbs.SendWR{
			Opcode: verbs.WRFlush, Flags: verbs.Signaled,
			RemoteAddr: region.Addr() + 1024, RKey: region.RKey(),
			Flush: verbs.Flush{Length: 4, Type: verbs.FlushToGlobal, Level: verbs.FlushRange},
		},
		&verbs.SendWR{
			Opcode: verbs.WRAtomicWrite, Flags: verbs.Signaled | verbs.Inline,
			InlineData: []byte{1, 1, 1, 1, 1, 1, 1, 1},
			RemoteAddr: region.Addr(), RKey: region.RKey(),
		},
	))
	a.completion("a")
	a.completion("a")
	fmt.Println("flag is set:", region.LoadUint64(0) != 0)
	// Output:
	// a: FLUSH, success, 0 bytes
	// a: ATOMIC_WRITE, success, 8 bytes
	// flag is set: true
}
