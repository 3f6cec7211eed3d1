package verbs_test

import (
	"errors"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// client holds one object of each kind in its own context.
type client struct {
	ctx     *verbs.Context
	pd      *verbs.PD
	channel *verbs.CompChannel
	cq      *verbs.CQ
	srq     *verbs.SRQ
	mr      *verbs.MR
	fast    *verbs.FastMR
	mw      *verbs.MW
	qp      *verbs.QP
	info    verbs.ConnInfo
	buf     []byte
}

func newClient(t *testing.T, dev *verbs.Device, limits verbs.ContextLimits) *client {
	t.Helper()
	c := &client{ctx: dev.OpenContext(limits), buf: make([]byte, 4096)}
	var errs [9]error
	c.pd, errs[0] = c.ctx.AllocPD()
	c.channel, errs[1] = c.ctx.CreateCompChannel()
	c.cq, errs[2] = c.ctx.CreateCQ(64, verbs.OnChannel(c.channel))
	c.srq, errs[3] = c.pd.CreateSRQ(verbs.SRQInitAttr{MaxWR: 4, MaxSGE: 1})
	c.mr, errs[4] = c.pd.RegMR(c.buf, verbs.LocalWrite|verbs.RemoteWrite|verbs.MWBind)
	c.fast, errs[5] = c.pd.AllocFastMR(64)
	c.mw, errs[6] = c.pd.AllocMW(verbs.MWType1)
	if c.qp, errs[7] = c.pd.CreateQP(verbs.QPInitAttr{SendCQ: c.cq, SRQ: c.srq, Cap: verbstest.Cap}); c.qp != nil {
		c.info, errs[8] = c.qp.Local(0, 100)
	}
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return c
}

// write sends a WRITE of one byte to another client and returns its status.
func (c *client) write(t *testing.T, to *client) verbs.WCStatus {
	t.Helper()
	err := c.qp.PostSend(&verbs.SendWR{
		Opcode: verbs.WRWrite, Flags: verbs.Signaled, SGList: []verbs.SGE{c.mr.SGE(0, 1)},
		RemoteAddr: to.mr.Addr(), RKey: to.mr.RKey(),
	})
	if err != nil {
		t.Fatal(err)
	}
	wc := make([]verbs.WC, 1)
	if _, err := c.cq.Wait(t.Context(), wc); err != nil {
		t.Fatal(err)
	}
	return wc[0].Status
}

func TestCloseOfAContextEndsItsObjectsAndNoOthers(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	dev, peer := verbstest.Open(t, cfg[0], 8).Device, verbstest.Open(t, cfg[1], 8).Device
	var local, remote [2]*client
	for i := range local {
		local[i], remote[i] = newClient(t, dev, verbs.ContextLimits{}), newClient(t, peer, verbs.ContextLimits{})
		verbstest.ConnectQPs(t, local[i].qp, remote[i].qp, local[i].info, remote[i].info)
		if s := remote[i].write(t, local[i]); s != verbs.WCSuccess {
			t.Fatalf("a WRITE ended with %v", s.Name())
		}
	}
	keys := func() map[uint32]bool {
		all := map[uint32]bool{}
		for m := range dev.MRs() {
			all[m.Key] = true
		}
		return all
	}
	before, ended := keys(), []uint32{local[0].mr.RKey(), local[0].fast.Key(), local[0].mw.RKey()}
	for range 2 {
		if err := local[0].ctx.Close(); err != nil {
			t.Fatalf("Close = %v", err)
		}
	}
	gone := local[0]
	for what, err := range map[string]error{
		"a post":                       gone.qp.PostSend(&verbs.SendWR{Opcode: verbs.WRWrite}),
		"a post to the SRQ":            gone.srq.PostRecv(&verbs.RecvWR{}),
		"a wait for a completion":      second(gone.cq.Wait(t.Context(), make([]verbs.WC, 1))),
		"a wait for a CQ":              second(gone.channel.Wait(t.Context())),
		"a domain":                     second(gone.ctx.AllocPD()),
		"a completion queue":           second(gone.ctx.CreateCQ(1)),
		"a completion channel":         second(gone.ctx.CreateCompChannel()),
		"a region":                     second(gone.pd.RegMR(gone.buf, verbs.LocalWrite)),
		"a region for registration":    second(gone.pd.AllocFastMR(64)),
		"a window":                     second(gone.pd.AllocMW(verbs.MWType1)),
		"a shared receive queue":       second(gone.pd.CreateSRQ(verbs.SRQInitAttr{MaxWR: 1})),
		"a queue pair with another CQ": second(gone.pd.CreateQP(verbs.QPInitAttr{SendCQ: gone.cq})),
	} {
		if !errors.Is(err, verbs.ErrClosed) {
			t.Errorf("after Close, %s: %v, want ErrClosed", what, err)
		}
	}
	after := keys()
	for _, k := range ended {
		delete(before, k)
	}
	if !maps.Equal(before, after) {
		t.Errorf("keys %v are left, want %v", slices.Collect(maps.Keys(after)), slices.Collect(maps.Keys(before)))
	}
	if s := remote[1].write(t, local[1]); s != verbs.WCSuccess {
		t.Errorf("a WRITE to the other context ended with %v", s.Name())
	}
	if s := local[1].write(t, remote[1]); s != verbs.WCSuccess {
		t.Errorf("a WRITE of the other context ended with %v", s.Name())
	}
	if err := errors.Join(dev.Close(), local[1].ctx.Close()); err != nil {
		t.Errorf("Close of the device, then of a context: %v", err)
	}
}

// second returns the error of a call with two results.
func second[T any](_ T, err error) error { return err }

func TestAContextHasNoMoreObjectsThanItsLimits(t *testing.T) {
	dev := verbstest.Open(t, verbstest.PipeLinks(t)[0], 8).Device
	full := newClient(t, dev, verbs.ContextLimits{MaxPD: 1, MaxCQ: 1, MaxSRQ: 1, MaxQP: 1, MaxMR: 2, MaxMW: 1})
	more := map[string]func() error{
		"all 1 protection domains":    func() error { return second(full.ctx.AllocPD()) },
		"all 1 completion queues":     func() error { return second(full.ctx.CreateCQ(1)) },
		"all 1 shared receive queues": func() error { return second(full.pd.CreateSRQ(verbs.SRQInitAttr{MaxWR: 1})) },
		"all 1 queue pairs": func() error {
			return second(full.pd.CreateQP(verbs.QPInitAttr{SendCQ: full.cq}))
		},
		"all 2 memory regions": func() error { return second(full.pd.RegMR(full.buf, verbs.LocalWrite)) },
		"all 1 memory windows": func() error { return second(full.pd.AllocMW(verbs.MWType1)) },
	}
	for want, create := range more {
		verbstest.MustMention(t, create(), want, "of the context are in use")
	}
	verbstest.MustMention(t, second(full.pd.AllocFastMR(64)), "all 2 memory regions")
	// An object that was destroyed makes space for one other.
	for range 2 {
		_ = full.mr.Dereg()
	}
	if err := more["all 2 memory regions"](); err != nil {
		t.Error(err)
	}
	verbstest.MustMention(t, more["all 2 memory regions"](), "all 2 memory regions")
	// An object that could not be created uses none.
	if err := full.qp.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		verbstest.MustMention(t, second(full.pd.CreateQP(verbs.QPInitAttr{SendCQ: full.cq,
			Cap: verbs.QPCap{MaxSendWR: -1}})), "MaxSendWR")
	}
	if err := more["all 1 queue pairs"](); err != nil {
		t.Error(err)
	}
}

// An unused domain costs nothing once the program drops it.
func TestTheDeviceKeepsNoListOfItsOwnDomains(t *testing.T) {
	dev := verbstest.Open(t, verbstest.PipeLinks(t)[0], 8).Device
	collected := make(chan struct{})
	runtime.AddCleanup(dev.AllocPD(), func(done chan struct{}) { close(done) }, collected)
	for range 1000 {
		runtime.GC()
		select {
		case <-collected:
			return
		default:
			runtime.Gosched()
		}
	}
	t.Error("a domain without users is kept")
}

func TestObjectsOfTwoContextsAreNotCombined(t *testing.T) {
	dev := verbstest.Open(t, verbstest.PipeLinks(t)[0], 8).Device
	a, b := newClient(t, dev, verbs.ContextLimits{}), newClient(t, dev, verbs.ContextLimits{})
	_, bind := a.qp.BindMW(b.mw, verbs.BindInfo{MR: a.mr, Length: 1})
	for what, err := range map[string]error{
		"a CQ for sends":    second(a.pd.CreateQP(verbs.QPInitAttr{SendCQ: b.cq, RecvCQ: a.cq})),
		"a CQ for receives": second(a.pd.CreateQP(verbs.QPInitAttr{SendCQ: a.cq, RecvCQ: b.cq})),
		"an SRQ":            second(a.pd.CreateQP(verbs.QPInitAttr{SendCQ: a.cq, SRQ: b.srq})),
		"a channel":         second(a.ctx.CreateCQ(1, verbs.OnChannel(b.channel))),
		"a domain":          a.mr.Rereg(verbs.ReregPD(b.pd)),
		"a window":          bind,
	} {
		if err == nil {
			t.Errorf("%s of another context is taken", what)
		} else {
			verbstest.MustMention(t, err, "context")
		}
	}
}

// No object that is created while the context is being closed outlives it.
func TestCloseOfAContextMeetsObjectsBeingMade(t *testing.T) {
	dev := verbstest.Open(t, verbstest.PipeLinks(t)[0], 8).Device
	objects := func() (n int) {
		for range dev.QPs() {
			n++
		}
		for range dev.MRs() {
			n++
		}
		for range dev.CQs() {
			n++
		}
		return n
	}
	before := objects()
	for range 20 {
		ctx := dev.OpenContext(verbs.ContextLimits{})
		var making sync.WaitGroup
		begun := make(chan struct{}, 4)
		for range cap(begun) {
			making.Go(func() {
				pd, err := ctx.AllocPD()
				begun <- struct{}{}
				for err == nil {
					_, err = pd.RegMR(make([]byte, 8), verbs.LocalWrite)
					if err == nil {
						var cq *verbs.CQ
						if cq, err = ctx.CreateCQ(1); err == nil {
							_, err = pd.CreateQP(verbs.QPInitAttr{SendCQ: cq})
						}
					}
				}
				if !errors.Is(err, verbs.ErrClosed) {
					t.Errorf("objects were made until %v, want ErrClosed", err)
				}
			})
		}
		for range cap(begun) {
			<-begun
		}
		if err := ctx.Close(); err != nil {
			t.Fatal(err)
		}
		making.Wait()
		if n := objects(); n != before {
			t.Fatalf("%d objects are left, want %d", n, before)
		}
	}
}
