package verbs_test

import (
	"runtime"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// manyQPs connects count queue pairs of two devices in memory, transfers a message over each, and
// returns the heap bytes of each queue pair afterwards.
func manyQPs(t testing.TB, count int) float64 {
	t.Helper()
	cfg := verbstest.PipeLinks(t)
	a, b := verbstest.Open(t, cfg[0], 4096), verbstest.Open(t, cfg[1], 4096)
	as, bs := make([]*verbs.QP, count), make([]*verbs.QP, count)
	before := heap()
	for i := range count {
		var ai, bi verbs.ConnInfo
		as[i], ai = a.NewQP()
		bs[i], bi = b.NewQP()
		verbstest.ConnectQPs(t, as[i], bs[i], ai, bi)
	}
	var wc [64]verbs.WC
	wr := a.OneSided(verbs.WRWrite, b, 64)
	for i := range count {
		if err := as[i].PostSend(wr); err != nil {
			t.Fatal(err)
		}
		a.Wait(1, wc[:])
	}
	perQP := float64(heap()-before) / float64(2*count)
	runtime.KeepAlive(as)
	runtime.KeepAlive(bs)
	if err := a.Device.Close(); err != nil {
		t.Error(err)
	}
	if err := b.Device.Close(); err != nil {
		t.Error(err)
	}
	return perQP
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Ten thousand connections on one device work, and an idle one costs little: memory that it needs
// only while it has work is released, or was never allocated.
func TestTenThousandQPs(t *testing.T) {
	const limit = 4096
	if perQP := manyQPs(t, 10_000); perQP > limit {
		t.Errorf("an idle connected queue pair holds %.0f bytes, the limit is %d", perQP, limit)
	} else {
		t.Logf("an idle connected queue pair holds %.0f bytes", perQP)
	}
}

// In steady state neither end allocates, per message or per packet. The count covers the whole
// process, including receiving goroutines.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, link := range []struct {
		name string
		cfg  func(testing.TB) [2]verbs.Config
	}{{"pipe", verbstest.PipeLinks}, {"udp", verbstest.UDPDevices}} {
		for _, op := range []verbs.WROpcode{verbs.WRWrite, verbs.WRRead, verbs.WRSend} {
			t.Run(link.name+"/"+op.String(), func(t *testing.T) {
				const size, messages = 20_000, 8
				a, b := verbstest.Connected(t, link.cfg(t), size)
				wr := a.OneSided(op, b, size)
				recv := &verbs.RecvWR{SGList: []verbs.SGE{b.MR.SGE(0, size)}}
				var wc [messages]verbs.WC
				round := func() {
					for range messages {
						if op == verbs.WRSend {
							if err := b.QP.PostRecv(recv); err != nil {
								t.Fatal(err)
							}
						}
						if err := a.QP.PostSend(wr); err != nil {
							t.Fatal(err)
						}
					}
					a.Wait(messages, wc[:])
					if op == verbs.WRSend {
						b.Wait(messages, wc[:])
					}
				}
				for range 200 {
					round()
				}
				// The depth of the queues depends on the scheduler: a queue that grows once more
				// on a busy host is not in steady state.
				n := testing.AllocsPerRun(100, round)
				for tries := 0; n != 0 && tries < 4; tries++ {
					n = testing.AllocsPerRun(100, round)
				}
				if n != 0 {
					t.Errorf("%v allocations for %d messages of %d bytes, want 0", n, messages, size)
				}
			})
		}
	}
}
