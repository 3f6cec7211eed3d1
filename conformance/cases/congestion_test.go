package cases

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
)

func correctCNP(*bth.Packet) []byte { return nil }

func TestVerdictsOnCongestionManagement(t *testing.T) {
	const (
		pass, fail  = conformance.Pass, conformance.Fail
		unsupported = conformance.Unsupported
	)
	for _, x := range []struct {
		name   string
		device *fake
		want   map[string]conformance.Verdict // of cases that do not pass
	}{
		{"correct", &fake{cnp: correctCNP}, map[string]conformance.Verdict{"congestion/5": conformance.Measured}},
		{"no CNPs", &fake{}, map[string]conformance.Verdict{
			"congestion/2": unsupported, "congestion/3": unsupported, "congestion/5": unsupported}},
		{"CNP with a PSN", &fake{cnp: func(p *bth.Packet) []byte { p.PSN = 1; return nil }},
			map[string]conformance.Verdict{"congestion/2": fail, "congestion/5": conformance.Measured}},
		{"CNP with junk", &fake{cnp: func(*bth.Packet) []byte { return []byte{15: 1} }},
			map[string]conformance.Verdict{"congestion/3": fail, "congestion/5": conformance.Measured}},
		{"CNPs for all packets", &fake{cnp: correctCNP, marksAll: true}, map[string]conformance.Verdict{
			"congestion/4": fail, "congestion/5": conformance.Measured}},
		{"drops marked packets", &fake{refusesCE: true}, map[string]conformance.Verdict{"congestion/1": fail,
			"congestion/2": unsupported, "congestion/3": unsupported, "congestion/5": unsupported}},
		{"answers CNPs", &fake{answers: true, cnp: correctCNP}, map[string]conformance.Verdict{"congestion/9": fail,
			"congestion/10": fail, "congestion/5": conformance.Measured}},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, id := range []string{"1", "2", "3", "4", "5", "8", "9", "10"} {
				id = "congestion/" + id
				got := x.device.verdicts(t, id)[id]
				want := pass
				if v, ok := x.want[id]; ok {
					want = v
				}
				if got.Verdict != want {
					t.Errorf("%s %s: %v, want %v: %s", id, got.Case.Rule, got.Verdict, want, got.Detail)
				}
			}
		})
	}
}

func TestASenderThatSlowsDownAndRecoversPasses(t *testing.T) {
	for id, x := range (&fake{}).verdicts(t, "congestion/6", "congestion/7") {
		if x.Verdict != conformance.Pass {
			t.Errorf("%s: %v: %s", id, x.Verdict, x.Detail)
		}
	}
}
