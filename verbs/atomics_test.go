package verbs_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// farMemory is memory that is not addressable. It yields to other goroutines after each call.
type farMemory struct {
	mu    sync.Mutex
	bytes []byte
}

func (m *farMemory) Size() uint64 { return uint64(len(m.bytes)) }

func (m *farMemory) ReadAt(p []byte, off uint64) error {
	m.mu.Lock()
	copy(p, m.bytes[off:])
	m.mu.Unlock()
	runtime.Gosched()
	return nil
}

func (m *farMemory) WriteAt(p []byte, off uint64) error {
	m.mu.Lock()
	copy(m.bytes[off:], p)
	m.mu.Unlock()
	return nil
}

// linksSideBySide returns several links on each side, each with a receiving goroutine.
func linksSideBySide(t testing.TB, links int) (cfg [2]verbs.Config) {
	t.Helper()
	n := pipe.NewNet()
	for i := range cfg {
		for k := range links {
			l, err := n.Open(netip.MustParseAddr(fmt.Sprintf("192.0.2.%d", 1+i*100+k)), 9000)
			if err != nil {
				t.Fatal(err)
			}
			cfg[i].Links = append(cfg[i].Links, l)
		}
	}
	return cfg
}

// adder is a queue pair that adds to a word of the peer.
type adder struct {
	node *verbstest.Node
	qp   *verbs.QP
	cq   *verbs.CQ
	sge  verbs.SGE
}

// newAdder connects a queue pair on a link of one node with one of the other, which allows
// atomics.
func newAdder(t testing.TB, nodes [2]*verbstest.Node, i, link int) *adder {
	t.Helper()
	a := &adder{node: nodes[0], sge: nodes[0].MR.SGE(8*i, 8)}
	attr := verbs.DefaultConnAttr()
	attr.Access |= verbs.RemoteAtomic
	var qps [2]*verbs.QP
	var infos [2]verbs.ConnInfo
	for k, n := range nodes {
		cq, err := n.Device.CreateCQ(64)
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			a.cq = cq
		}
		if qps[k], err = n.PD.CreateQP(verbs.QPInitAttr{SendCQ: cq, Cap: verbstest.Cap}); err != nil {
			t.Fatal(err)
		}
		if infos[k], err = qps[k].Local(link, 0); err != nil {
			t.Fatal(err)
		}
	}
	for k := range qps {
		if err := qps[k].Connect(infos[k], infos[1-k], attr); err != nil {
			t.Fatal(err)
		}
	}
	a.qp = qps[0]
	return a
}

// add adds 1 to the first word of a region the given number of times, with up to 16 outstanding.
func (a *adder) add(region *verbs.MR, times int) error {
	var wc [16]verbs.WC
	for open, left := 0, times; open > 0 || left > 0; {
		for ; open < 16 && left > 0; left, open = left-1, open+1 {
			wr := &verbs.SendWR{
				Opcode: verbs.WRFetchAdd, Flags: verbs.Signaled, SGList: []verbs.SGE{a.sge},
				RemoteAddr: region.Addr(), RKey: region.RKey(), CompareAdd: 1,
			}
			if err := a.qp.PostSend(wr); err != nil {
				return err
			}
		}
		n, err := a.cq.Wait(a.node.Context(), wc[:])
		if err != nil {
			return err
		}
		for i := range wc[:n] {
			if wc[i].Status != verbs.WCSuccess {
				return fmt.Errorf("an atomic ended with %v", wc[i].Status)
			}
		}
		open -= n
	}
	return nil
}

// DeviceAttr announces IBV_ATOMIC_HCA: atomics are atomic with respect to all others of the
// device, on any memory, in any shard and through any region.
func TestAtomicsOfAllShardsAddUp(t *testing.T) {
	const queuePairs, links = 8, 4
	times := 2000
	if race.Enabled {
		times = 200
	}
	const access = verbs.LocalWrite | verbs.RemoteAtomic
	buf, far := make([]byte, 32), &farMemory{bytes: make([]byte, 16)}
	for name, mem := range map[string]struct {
		register func(pd *verbs.PD) (*verbs.MR, error)
		word     []byte
	}{
		"memory by calls": {func(pd *verbs.PD) (*verbs.MR, error) {
			return pd.RegMemory(far, access)
		}, far.bytes},
		"a slice that is not aligned": {func(pd *verbs.PD) (*verbs.MR, error) {
			return pd.RegMR(buf[3:], access, verbs.WithIOVA(0x1000))
		}, buf[3:]},
		"a slice that is aligned": {func(pd *verbs.PD) (*verbs.MR, error) {
			return pd.RegMR(buf[16:], access)
		}, buf[16:]},
	} {
		t.Run(name, func(t *testing.T) {
			clear(buf)
			cfg := linksSideBySide(t, links)
			var nodes [2]*verbstest.Node
			for i := range nodes {
				cfg[i].Shards = 4
				nodes[i] = verbstest.Open(t, cfg[i], 8*queuePairs)
			}
			var regions [2]*verbs.MR
			for i := range regions {
				var err error
				if regions[i], err = mem.register(nodes[1].PD); err != nil {
					t.Fatal(err)
				}
			}
			var running sync.WaitGroup
			for i := range queuePairs {
				a := newAdder(t, nodes, i, i%links)
				running.Go(func() {
					if err := a.add(regions[i/4], times); err != nil {
						t.Error(err)
					}
				})
			}
			running.Wait()
			for _, r := range regions {
				if err := r.Dereg(); err != nil {
					t.Fatal(err)
				}
			}
			if got := int(binary.NativeEndian.Uint64(mem.word)); got != queuePairs*times {
				t.Errorf("%d queue pairs added 1 %d times each, and the word is %d instead of %d", queuePairs, times,
					got, queuePairs*times)
			}
		})
	}
}
