package rxelab

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/conformance/rxelab/icrc"
	"github.com/gorxe/gorxe/conformance/rxelab/report"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

func TestProgressInAPipe(t *testing.T) {
	var b strings.Builder
	p := &Printer{W: &b}
	p.Step("downloading")
	p.Begin(&vm.Kernel{Suite: "trixie", Release: "6.12"}, 2)
	p.Done(report.Result{ID: "a/b", Seconds: 1.04, Traffic: report.Traffic{Summary: icrc.Summary{Packets: 7}}}, 1, 2)
	p.Done(report.Result{ID: "a/c", Failures: []string{"one", "two"}}, 2, 2)
	want := `downloading
Linux 6.12 (Debian trixie): 2 cells
[1/2] ok   a/b  1.0 s, 7 packets
[2/2] FAIL a/c  0.0 s, 0 packets
       one
       two
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}
