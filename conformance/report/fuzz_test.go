package report_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/report"
)

// Whatever Read accepts, all formats can be written, and the text has no control characters.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	r := sample("A")
	r.Cases[3].Pcapng = nil
	if err := r.WriteJSON(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String())
	f.Add(`{"format":1,"address":"fe80::1%|\u003cb\u003e\n","cases":[{"id":"psn/1","verdict":"fail","values":[{"name":"x"}],"packets":[{"frame":-5},{"frame":9}],"omitted":-3}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := report.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		must(t, report.WriteHTML(io.Discard, r, r))
		must(t, report.WriteMarkdown(io.Discard, r, r))
		must(t, report.JUnit{}.Write(io.Discard, r, r))
		must(t, r.WriteBadge(io.Discard))
		must(t, report.WriteBaseline(io.Discard, r, nil))
		report.Table(r, r)
		var b bytes.Buffer
		x := report.Text{W: &b}
		x.Header(r.Header, len(r.Cases))
		x.Failures(r, func(*report.Case) string { return "" })
		x.Values(r)
		x.Summary(r)
		for _, c := range r.Cases {
			x.Result(&conformance.Result{Case: &conformance.Case{ID: c.ID, Rule: c.Rule}, Detail: c.Detail})
		}
		if i := strings.IndexFunc(b.String(), func(c rune) bool { return c < ' ' && c != '\n' }); i >= 0 {
			t.Errorf("a control character in %q", b.String())
		}
	})
}

// Whatever ReadBaseline accepts is read again as it was written.
func FuzzReadBaseline(f *testing.F) {
	f.Add("psn/3 fail # one NAK\nrnr/4\tpass, inconclusive\n")
	f.Add("#\n\n x pass,pass#\x1b[31m\u202e|`\n")
	known := func(id string) bool { return len(id) < 20 }
	empty := report.New(report.Header{}, nil, report.Options{})
	f.Fuzz(func(t *testing.T, text string) {
		b, err := report.ReadBaseline(strings.NewReader(text), known)
		if err != nil {
			return
		}
		var first, second strings.Builder
		must(t, report.WriteBaseline(&first, empty, b))
		b, err = report.ReadBaseline(strings.NewReader(first.String()), known)
		must(t, err)
		must(t, report.WriteBaseline(&second, empty, b))
		if first.String() != second.String() {
			t.Errorf("written as\n%q\nthen as\n%q", first.String(), second.String())
		}
	})
}
