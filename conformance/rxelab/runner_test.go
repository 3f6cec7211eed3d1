package rxelab

import (
	"testing"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
)

func TestCellThatRunsAloneHasNoneBesideIt(t *testing.T) {
	var m runner
	other, alone := cell.Cell{}, cell.Cell{Workload: cell.Workload{Params: cell.Params{Alone: true}}}
	first := m.occupy(other)
	second := m.occupy(other)
	first()
	if m.alone.TryLock() {
		t.Fatal("a cell would run alone beside another")
	}
	second()
	release := m.occupy(alone)
	if m.alone.TryRLock() {
		t.Fatal("a cell would run beside one that runs alone")
	}
	release()
	m.occupy(other)()
}
