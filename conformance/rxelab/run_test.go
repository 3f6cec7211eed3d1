package rxelab

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/report"
)

func TestTooFewPacketsAreNoWholeRun(t *testing.T) {
	i := slices.IndexFunc(cell.CM.Workloads(),
		func(w cell.Workload) bool { return w.Tool.Name == "rping -v" && w.Params.Size == 4000 })
	c := cell.Cell{Workload: cell.CM.Workloads()[i]}
	full := report.Traffic{}
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
