//go:build linux && (amd64 || arm64)

package programs

import (
	"fmt"
	"strings"
)

const pyverbsHead = `# rdma-core's tests on rxe and on gorxe

rdma-core tests devices with Python programs, which Debian has in ` + "`python3-pyverbs`" + `.
[run.py](../internal/serve/programs/testdata/pyverbs/run.py) runs all of them on two devices: on Linux rxe, in the lab
(` + "`make interop-rdma-core`" + `), and on gorxe, as programs under ` + "`gorxe run`" + `, both with ` + "`--no-daemon`" + ` and through a daemon
(` + "`go test -run 'RDMACore|Trixie' ./internal/serve/programs`" + `). The tests of rdma_cm look up their address in sysfs, where
the device of rxe has none; run.py passes an address instead.

` + "`go test -run PageOfRDMACore ./internal/serve/programs -update`" + ` writes this page from the tables in
[testdata/pyverbs](../internal/serve/programs/testdata/pyverbs).

`

const pyverbsTail = `
Tests that pass neither on rxe nor on gorxe are skipped; the reasons on gorxe are in
[skip.txt](../internal/serve/programs/testdata/pyverbs/skip.txt).
`

// pageOf returns the page with the results of all versions.
func pageOf(all []*expected) string {
	var b strings.Builder
	b.WriteString(pyverbsHead)
	b.WriteString("| rdma-core | tests |")
	for _, k := range all[0].kernels() {
		fmt.Fprintf(&b, " pass on rxe %s |", k)
	}
	b.WriteString(" pass on gorxe |\n|---|---|")
	b.WriteString(strings.Repeat("---|", len(all[0].kernels())+1) + "\n")
	for _, e := range all {
		fmt.Fprintf(&b, "| %s | %d |", e.version, len(e.names()))
		for _, k := range e.kernels() {
			fmt.Fprintf(&b, " %d |", count(e.rxe[k]))
		}
		fmt.Fprintf(&b, " %d |\n", len(e.passes))
	}
	for _, e := range all {
		e.differences(&b)
	}
	b.WriteString(pyverbsTail)
	return b.String()
}

func count(table map[string]result) (passing int) {
	for _, r := range table {
		if r.what == passed {
			passing++
		}
	}
	return passing
}

// differences writes the tests that pass on some platforms only.
func (e *expected) differences(b *strings.Builder) {
	fmt.Fprintf(b, "\n## rdma-core %s\n\nOf the tests that pass anywhere, these do not pass everywhere:\n\n", e.version)
	b.WriteString("| test |")
	for _, k := range e.kernels() {
		fmt.Fprintf(b, " rxe %s |", k)
	}
	b.WriteString(" gorxe | why |\n|---|---|---|" + strings.Repeat("---|", len(e.kernels())) + "\n")
	for _, name := range e.names() {
		here, why := e.onGorxe(name)
		on := len(e.passesOnRxe(name))
		if on == len(e.rxe) && here == passed || on == 0 && here != passed {
			continue
		}
		fmt.Fprintf(b, "| %s |", strings.TrimPrefix(name, "tests."))
		for _, k := range e.kernels() {
			r := e.rxe[k][name]
			fmt.Fprintf(b, " %s |", r.what)
			if r.what != passed && why == "" {
				why = "rxe " + k + ": " + r.why
			}
		}
		fmt.Fprintf(b, " %s | %s |\n", here, strings.ReplaceAll(why, "|", `\|`))
	}
}

// onGorxe returns the result of a test, and why it fails.
func (e *expected) onGorxe(name string) (what, why string) {
	if r, fails := e.fails[name]; fails {
		return failed, r.what
	}
	if _, passes := e.passes[name]; passes {
		return passed, ""
	}
	return skipped, ""
}
