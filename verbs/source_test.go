package verbs_test

import (
	"sync"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// sends is a source of send requests.
type sends struct {
	mu      sync.Mutex
	wrs     []verbs.SendWR
	retired int
}

func (s *sends) Fetch(wr *verbs.SendWR) qp.FetchStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.wrs) == 0 {
		return qp.FetchNone
	}
	*wr, s.wrs = s.wrs[0], s.wrs[1:]
	return qp.FetchGot
}

func (s *sends) Reset() {}

func (s *sends) Retire(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired += n
}

// receives is a source of receives that queue pairs share.
type receives struct {
	pd *mr.PD
	mu sync.Mutex
	wr []verbs.RecvWR
}

func (r *receives) Take(dst *qp.RecvWQE) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.wr) == 0 {
		return false
	}
	dst.ID, dst.SG, dst.Length = r.wr[0].ID, dst.SG[:0], 0
	for _, s := range r.wr[0].SGList {
		dst.SG = append(dst.SG, qp.Segment{Addr: s.Addr, Length: s.Length, LKey: s.LKey})
		dst.Length += uint64(s.Length)
	}
	r.wr = r.wr[1:]
	return true
}

func (r *receives) PD() *mr.PD   { return r.pd }
func (r *receives) Shared() bool { return true }
func (r *receives) Len() int     { return len(r.wr) }
func (r *receives) Depth() int   { return cap(r.wr) }
func (r *receives) Reset()       {}

// store keeps completions and requests a notification for each.
type store struct {
	mu  sync.Mutex
	wcs []verbs.WC
}

func (s *store) Push(wc *verbs.WC) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wcs = append(s.wcs, *wc)
	return true
}

func (s *store) Len() int         { return len(s.wcs) }
func (s *store) Depth() int       { return 1 << 20 }
func (s *store) Overflowed() bool { return false }
func (s *store) Resize(int) error { return nil }

// With several shards, queue pairs that share receives call their source one at a time: the race
// detector checks it.
func TestAProgramOfAnotherProcessSendsAndReceivesThroughItsOwnQueues(t *testing.T) {
	cfg := pipeConfigs(t)
	a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
	client := b.Device.OpenContext(verbs.ContextLimits{})
	pd, err := client.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64)
	region, err := pd.RegMR(buf, verbs.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	done, told := &store{}, make(chan struct{}, 8)
	cq, err := client.CreateCQOver(done, func() { told <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	rq, sq := &receives{pd: pd.Domain()}, [2]*sends{{}, {}}
	var qps [2]*verbs.QP
	for i := range qps {
		if qps[i], err = pd.CreateQP(verbs.QPInitAttr{SendCQ: cq, Cap: verbstest.Cap, Sends: sq[i],
			Receives: rq}); err != nil {
			t.Fatal(err)
		}
		info, err := qps[i].Local(0, 1)
		if err != nil {
			t.Fatal(err)
		}
		peer, peerInfo := a.NewQP()
		verbstest.ConnectQPs(t, peer, qps[i], peerInfo, info)
		rq.mu.Lock()
		rq.wr = append(rq.wr, verbs.RecvWR{ID: uint64(10 + i), SGList: []verbs.SGE{region.SGE(0, 8)}})
		rq.mu.Unlock()
		if err := peer.PostSend(&verbs.SendWR{Opcode: verbs.WRSend, SGList: []verbs.SGE{a.MR.SGE(0, 8)}}); err != nil {
			t.Fatal(err)
		}
		<-told
		if err := peer.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{a.MR.SGE(0, 8)}}); err != nil {
			t.Fatal(err)
		}
		sq[i].mu.Lock()
		sq[i].wrs = append(sq[i].wrs, verbs.SendWR{ID: uint64(20 + i), Opcode: verbs.WRSend, Flags: verbs.Signaled,
			SGList: []verbs.SGE{region.SGE(8, 8)}})
		sq[i].mu.Unlock()
		if err := qps[i].Doorbell(); err != nil {
			t.Fatal(err)
		}
		<-told
		a.Wait(1, make([]verbs.WC, 1))
	}
	done.mu.Lock()
	defer done.mu.Unlock()
	var ids []uint64
	for _, wc := range done.wcs {
		if wc.Status != verbs.WCSuccess {
			t.Errorf("%+v", wc)
		}
		ids = append(ids, wc.WRID)
	}
	if len(ids) != 4 || ids[0] != 10 || ids[1] != 20 || ids[2] != 11 || ids[3] != 21 {
		t.Errorf("completions of %v, want 10, 20, 11 and 21", ids)
	}
	if sq[0].retired != 1 || sq[1].retired != 1 {
		t.Errorf("%d and %d requests were retired, want 1 of each", sq[0].retired, sq[1].retired)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}

func TestSourcesAndStoresThatCannotBeUsedAreRefused(t *testing.T) {
	n := verbstest.Open(t, verbstest.PipeLinks(t)[0], 64)
	client := n.Device.OpenContext(verbs.ContextLimits{})
	if _, err := client.CreateCQOver(nil, func() {}); err == nil {
		t.Error("a completion queue over no store")
	}
	if _, err := client.CreateCQOver(&store{}, nil); err == nil {
		t.Error("a completion queue that notifies nothing")
	}
	srq, err := n.PD.CreateSRQ(verbs.SRQInitAttr{MaxWR: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer srq.Close()
	_, err = n.PD.CreateQP(verbs.QPInitAttr{SendCQ: n.CQ, SRQ: srq, Receives: &receives{pd: n.PD.Domain()}})
	verbstest.MustMention(t, err, "both a source of receives and a shared receive queue")
	_, err = n.PD.CreateQP(verbs.QPInitAttr{SendCQ: n.CQ, Receives: &receives{}})
	verbstest.MustMention(t, err, "no protection domain")
}

// pipeConfigs returns two links in memory, for devices with several shards.
func pipeConfigs(t *testing.T) [2]verbs.Config {
	cfg := verbstest.PipeLinks(t)
	cfg[0].Shards, cfg[1].Shards = 4, 4
	return cfg
}
