package conformcmd

import (
	"testing"

	"github.com/gorxe/gorxe/conformance"
)

// A run against a device that dies ends, one against a device whose clients do not work goes on.
func TestADeviceIsLostAfterManyCasesWithManyPrograms(t *testing.T) {
	result := func(p conformance.Program, v conformance.Verdict) *conformance.Result {
		return &conformance.Result{Case: &conformance.Case{Program: p}, Verdict: v}
	}
	for programs, want := range map[int]int{1: 0, 4: 0, 5: lostCases, 9: lostCases} {
		a := absence{limit: maxCases}
		if a.absent(result(0, conformance.Pass)) {
			t.Error("a device that passes is absent")
		}
		got := 0
		for n := 1; n <= 100 && got == 0; n++ {
			if a.absent(result(conformance.Program(n%programs), conformance.Inconclusive)) {
				got = n
			}
		}
		if got != want {
			t.Errorf("%d programs: lost after %d cases, want %d (0: never)", programs, got, want)
		}
		a.absent(result(0, conformance.Fail))
		if a.cases != 0 {
			t.Error("a case with a verdict does not count as a sign of life")
		}
	}
}
