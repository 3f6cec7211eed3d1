package verbs_test

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

func TestALookIntoADeviceFindsItsObjects(t *testing.T) {
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), 4096)
	srq, err := a.PD.CreateSRQ(verbs.SRQInitAttr{MaxWR: 4, MaxSGE: 1})
	if err != nil {
		t.Fatal(err)
	}
	q, err := a.PD.CreateQP(verbs.QPInitAttr{SendCQ: a.CQ, SRQ: srq})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.QP.PostSend(a.OneSided(verbs.WRWrite, b, 4096)); err != nil {
		t.Fatal(err)
	}
	a.Wait(1, make([]verbs.WC, 1))

	qps := slices.Collect(a.Device.QPs())
	if len(qps) != 2 {
		t.Fatalf("%d queue pairs, want 2", len(qps))
	}
	i := qps[0]
	if i.QPN != a.Info.QPN || i.State != verbs.RTS || i.Type != verbs.RC || i.PD != a.PD.ID() || i.GIDIndex != 0 ||
		i.Local != a.Info.GID.Addr() || i.Remote != b.Info.GID.Addr() || i.RemoteQPN != b.Info.QPN ||
		i.Unacked() != 0 || i.Counters.SentPackets == 0 {
		t.Errorf("the connected queue pair: %+v", i)
	}
	if i := qps[1]; i.QPN != q.QPN() || i.State != verbs.RESET || i.SRQ != 1 || i.GIDIndex != -1 {
		t.Errorf("the one with an SRQ: %+v", i)
	}
	if mrs := slices.Collect(a.Device.MRs()); len(mrs) != 1 || mrs[0].Key != a.MR.RKey() ||
		mrs[0].IOVA != a.MR.Addr() || mrs[0].Kind != verbs.MRRegion {
		t.Errorf("regions: %+v", mrs)
	}
	if cqs := slices.Collect(a.Device.CQs()); len(cqs) != 1 || cqs[0].Users != 4 || cqs[0].Number != i.SendCQ {
		t.Errorf("CQs: %+v", cqs)
	}
	if srqs := slices.Collect(a.Device.SRQs()); len(srqs) != 1 || srqs[0].Users != 1 || srqs[0].Depth != 4 {
		t.Errorf("SRQs: %+v", srqs)
	}
	if groups := a.Device.Groups(); len(groups) != 0 {
		t.Errorf("groups: %+v", groups)
	}
}

// The caller can stop an iteration, and objects are returned in the order of creation, over more
// than one slice.
func TestALookMayEndAnywhere(t *testing.T) {
	a := verbstest.Open(t, verbstest.PipeLinks(t)[0], 64)
	for range 200 {
		a.NewQP()
	}
	for _, limit := range []int{1, 64, 65, 201} {
		last, n := uint64(0), 0
		for i := range a.Device.QPs() {
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
