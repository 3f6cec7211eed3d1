package report

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/host"
	"github.com/gorxe/gorxe/conformance/rxelab/icrc"
	"github.com/gorxe/gorxe/internal/golden"
)

// sample returns a report with a few cells, one of which failed.
func sample(t *testing.T) *Report {
	t.Helper()
	r := &Report{
		Started: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Duration: 83 * time.Second, Level: cell.LevelFull,
		CaptureLimit: 10000, Host: "Debian GNU/Linux 12 (bookworm), 2 processors",
		Versions: []host.Version{{Program: "gorxe", Version: "0123456789ab"},
			{Program: "perftest", Version: "4.5+0.17-1"}},
		Kernels: []KernelVersion{{"bookworm", "6.1.0-50-amd64", "linux-image-6.1.0-50-amd64_6.1.176-1_amd64"}},
	}
	cells, err := cell.Matrix(cell.Core, cell.LevelFull, []string{"bookworm"})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cells {
		w := c.Workload
		if w.Params.Size != 65536 || w.Params.QPs != 0 || w.Params.Both || w.Tool.Kind == cell.Latency ||
			c.Condition.Name == "duplicate 5 %" {
			continue
		}
		res := NewResult(c)
		res.Seconds = 1.25
		res.SetTraffic(Traffic{Summary: icrc.Summary{Frames: 120, Datagrams: 100, Packets: 100 + i, Merged: 3}}, nil)
		res.Rxe = map[string]int{"rcvd_pkts": 50, "sent_pkts": 60, "duplicate_request": i % 3}
		if w.Tool.Name == "ib_read_bw" && c.Condition.String() == "loss 5 % to gorxe" && c.Role == cell.Server &&
			c.Family == cell.IPv6 {
			res.Fail("gorxe: exit status 1: retries\nexceeded")
		}
		r.Results = append(r.Results, res)
	}
	return r
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := sample(t).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "interop.golden.md", b.String())
}

func TestTable(t *testing.T) {
	var b strings.Builder
	if err := sample(t).Table(&b); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "table.golden.txt", b.String())
}

func TestReportsAreLoadedTogether(t *testing.T) {
	dir := t.TempDir()
	a, b := sample(t), sample(t)
	b.Kernels[0].Suite = "trixie"
	for i := range b.Results {
		b.Results[i].ID = "trixie/" + b.Results[i].ID
	}
	files := []string{filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")}
	for i, r := range []*Report{a, b} {
		if err := r.Save(files[i]); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Load(files...)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Results) != len(a.Results)+len(b.Results) || len(got.Kernels) != 2 ||
		got.Duration != a.Duration+b.Duration {
		t.Errorf("%d results, %d kernels, %v", len(got.Results), len(got.Kernels), got.Duration)
	}
	if d := cmp.Diff(a.Results, got.Results[:len(a.Results)]); d != "" {
		t.Error(d)
	}
	if _, err := Load(); err == nil {
		t.Error("nothing to load: no error")
	}
}

func TestTrafficDecides(t *testing.T) {
	for _, c := range []struct {
		name    string
		traffic Traffic
		failed  bool
	}{
		{"all right", Traffic{Summary: icrc.Summary{Packets: 5}}, false},
		{"a wrong ICRC", Traffic{Summary: icrc.Summary{Packets: 5, Bad: 1, Faults: []string{"frame 3"}}}, true},
		{"nothing captured", Traffic{}, true},
		{"capture ended at its limit", Traffic{Summary: icrc.Summary{Packets: 5}, Limited: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Result{}
			r.SetTraffic(c.traffic, nil)
			if r.Passed() == c.failed {
				t.Errorf("%v", r.Failures)
			}
		})
	}
}
