package verbs_test

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/verbs"
)

func TestALookIntoADeviceFindsItsObjects(t *testing.T) {
	a, b := connectedNodes(t, pipeLinks(t), 4096)
	srq, err := a.pd.CreateSRQ(verbs.SRQInitAttr{MaxWR: 4, MaxSGE: 1})
	if err != nil {
		t.Fatal(err)
	}
	q, err := a.pd.CreateQP(verbs.QPInitAttr{SendCQ: a.cq, SRQ: srq})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.qp.PostSend(a.oneSided(verbs.WRWrite, b, 4096)); err != nil {
		t.Fatal(err)
	}
	a.wait(1, make([]verbs.WC, 1))

	qps := slices.Collect(a.dev.QPs())
	if len(qps) != 2 {
		t.Fatalf("%d queue pairs, want 2", len(qps))
	}
	i := qps[0]
	if i.QPN != a.info.QPN || i.State != verbs.RTS || i.Type != verbs.RC || i.PD != a.pd.ID() || i.GIDIndex != 0 ||
		i.Local != a.info.GID.Addr() || i.Remote != b.info.GID.Addr() || i.RemoteQPN != b.info.QPN || i.Unacked() != 0 || i.Counters.SentPackets == 0 {
		t.Errorf("the connected queue pair: %+v", i)
	}
	if i := qps[1]; i.QPN != q.QPN() || i.State != verbs.RESET || i.SRQ != 1 || i.GIDIndex != -1 {
		t.Errorf("the one with an SRQ: %+v", i)
	}
	if mrs := slices.Collect(a.dev.MRs()); len(mrs) != 1 || mrs[0].Key != a.mr.RKey() || mrs[0].IOVA != a.mr.Addr() || mrs[0].Kind != verbs.MRRegion {
		t.Errorf("regions: %+v", mrs)
	}
	if cqs := slices.Collect(a.dev.CQs()); len(cqs) != 1 || cqs[0].Users != 4 || cqs[0].Number != i.SendCQ {
		t.Errorf("CQs: %+v", cqs)
	}
	if srqs := slices.Collect(a.dev.SRQs()); len(srqs) != 1 || srqs[0].Users != 1 || srqs[0].Depth != 4 {
		t.Errorf("SRQs: %+v", srqs)
	}
	if groups := a.dev.Groups(); len(groups) != 0 {
		t.Errorf("groups: %+v", groups)
	}
}

// Who has seen enough stops, and what is told comes in the order in which it was made,
// over more than one slice.
func TestALookMayEndAnywhere(t *testing.T) {
	a := openNode(t, pipeLinks(t)[0], 64)
	for range 200 {
		a.newQP()
	}
	for _, limit := range []int{1, 64, 65, 201} {
		last, n := uint64(0), 0
		for i := range a.dev.QPs() {
			if i.Number <= last {
				t.Fatalf("number %d after %d", i.Number, last)
			}
			last = i.Number
			if n++; n == limit {
				break
			}
		}
		if n != limit {
			t.Errorf("%d of %d", n, limit)
		}
	}
}

func TestUnackedCountsAcrossTheEndOfThePSNs(t *testing.T) {
	if n := (&verbs.QPInfo{SendPSN: 2, AckPSN: 0xfffffe}).Unacked(); n != 4 {
		t.Errorf("%d, want 4", n)
	}
}
