package report_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/conformance/report"
)

func page(t *testing.T, reports ...*report.Report) string {
	t.Helper()
	var b bytes.Buffer
	must(t, report.WriteHTML(&b, reports...))
	return b.String()
}

func TestThePageHasAMatrixWhoseCellsLeadToTheirDetails(t *testing.T) {
	s := page(t, sample("device A"), other())
	for _, want := range []string{
		"<b>device A</b>", "<b>device B</b>", `<a class="verdict fail" href="#psn-3_1" title="a NAK of PSN 101 was`,
		`<a class="verdict pass" href="#psn-3_2"`,
		`download="device-A-psn-3.pcapng" href="data:application/octet-stream;base64,`,
		"WRITE #1 of 8 bytes to 0x1000", `<li class="note">a control</li>`, "RDMA WRITE ONLY  PSN 102",
		"IBA 9.7.5 | C9-1", "NAK latency", "prefers-color-scheme: dark", "2026-11-29 12:00 UTC",
	} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(s, -1) {
		if strings.Count(s, `id="`+m[1]+`"`) != 1 {
			t.Errorf("a link leads to %s, which exists %d times", m[1], strings.Count(s, `id="`+m[1]+`"`))
		}
	}
}

func TestThePageHasFilters(t *testing.T) {
	s := page(t, sample("device A"), other())
	for _, want := range []string{
		`id="only-bad"`, `id="only-differ"`, `<section class="wide few"`,
		`<article id="psn-3" class="case bad differ">`, `<article id="psn-2" class="case bad">`,
		`<article id="psn-1" class="case">`, `<tr class="case bad differ"><th scope="row"><a href="#psn-3">`,
	} {
		if !strings.Contains(s, want) {
			t.Errorf("no %s", want)
		}
	}
	if s := page(t, sample("device A")); strings.Contains(s, `id="only-differ"`) {
		t.Error("one device differs from none")
	}
}

func TestThePageIsSelfContained(t *testing.T) {
	s := page(t, sample("<img src=x onerror=alert(1)>"))
	if strings.Contains(s, "<script") || strings.Contains(s, "<img") || strings.Contains(s, "ZgotmplZ") {
		t.Error("the page has a script, an image or a refused value")
	}
	if m := regexp.MustCompile(`(src|href)="(?:https?:)?//[^"]*"`).FindString(s); m != "" {
		t.Error(m)
	}
	if !strings.Contains(s, "two NAKs &lt;script&gt;") ||
		!strings.Contains(s, `content="default-src &#39;none&#39;; style-src`) {
		t.Error("texts are not escaped, or there is no policy")
	}
}
