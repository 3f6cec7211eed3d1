package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/conformance/rxelab/report"
)

func TestReportIsWrittenByFullRunsOnly(t *testing.T) {
	for args, want := range map[string]string{
		"":                                    "",
		"-level ci":                           "",
		"-level full":                         filepath.Join("docs", "interop.md"),
		"-group verbs -level full":            filepath.Join("docs", "interop-verbs.md"),
		"-level full -kernel trixie":          "",
		"-level full -run bw":                 "",
		"-level ci -doc x.md":                 "x.md",
		"-render a.json,b.json":               filepath.Join("docs", "interop.md"),
		"-render a.json,b.json -doc y.md":     "y.md",
		"-kernel bookworm,trixie -level full": filepath.Join("docs", "interop.md"),
	} {
		f, err := parse(strings.Fields(args))
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		if f.doc != want {
			t.Errorf("%q: report in %q, want %q", args, f.doc, want)
		}
	}
}

func TestBadArguments(t *testing.T) {
	for args, want := range map[string]string{
		"-lanes 0":            "-lanes 0",
		"-run (":              "-run",
		"extra":               "extra",
		"-list -level most":   "most",
		"-list -group most":   "most",
		"-list -kernel buzz":  "buzz",
		"-render /no/such.js": "/no/such.js",
		"-opcodes x.json":     "-render",
		"-list -rivals 1":     "one kernel",
		"-list -rivals 1 -kernel trixie -links wire": "wire",
		"-list -rivals 1 -kernel trixie -seconds 0":  "-seconds",
		"-rdma-core-tests x -run qp":                 "-run",
		"-rdma-core-tests /no/such":                  "/no/such",
	} {
		err := run(t.Context(), strings.Fields(args), printed(t))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", args, err, want)
		}
	}
}

func TestRivalsAreListed(t *testing.T) {
	out := printed(t)
	if err := run(t.Context(), strings.Fields("-list -rivals 1 -kernel trixie -links udp -run ^bandwidth"),
		out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	const want = "bandwidth/rxe\nbandwidth/gorxe udp\nbandwidth/gorxe run\nbandwidth/gorxe run, nice\n"
	if err != nil || string(text) != want {
		t.Errorf("%q, %v; want %q", text, err, want)
	}
}

func TestRender(t *testing.T) {
	dir := t.TempDir()
	r := &report.Report{Kernels: []report.KernelVersion{{Suite: "trixie", Release: "6.12"}}}
	in, out := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.md")
	if err := r.Save(in); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"-render", in, "-doc", out}, printed(t)); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(b), "Linux 6.12") {
		t.Errorf("%q, %v", b, err)
	}
}

// printed returns the file that a test uses as the command's standard output.
func printed(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
