package rxelab

import (
	"slices"
	"testing"
)

func TestTooFewPacketsAreNoWholeRun(t *testing.T) {
	i := slices.IndexFunc(CM.Workloads(), func(w Workload) bool { return w.Tool.Name == "rping -v" && w.Params.Size == 4000 })
	c := Cell{Workload: CM.Workloads()[i]}
	full := Traffic{}
	full.Packets = 5 + 100*7
	if err := scarce(c, full); err != nil {
		t.Error(err)
	}
	full.Packets--
	if err := scarce(c, full); err == nil {
		t.Error("one packet less: no error")
	}
	full.Limited = true
	if err := scarce(c, full); err != nil {
		t.Errorf("a capture that reached its limit: %v", err)
	}
}
