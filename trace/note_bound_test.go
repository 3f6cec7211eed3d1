package trace_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

func TestAMessageKeepsNoMoreThanAKibibyteOfANote(t *testing.T) {
	var done []trace.Message
	a := trace.NewAnalyzer(trace.Options{Message: func(m *trace.Message) { done = append(done, *m) }})
	long, whole := strings.Repeat("x→", 10_000), strings.Repeat("y", 1024)
	for i, comments := range [][]string{
		{trace.RequestNote(long)},
		{trace.RequestNote(whole), trace.CompletionNote(1, long)},
		{trace.CompletionNote(2, whole)},
	} {
		p := bare(i+1, bth.RCSendOnly, 21, bth.PSN(i+1))
		p.Comments = comments
		a.Add(p)
	}
	a.Finish()
	for i, want := range [][2]string{{long, long}, {whole, whole}, {"", ""}} {
		for j, got := range [2]string{done[i].WR, done[i].WC} {
			shortened := strings.HasSuffix(got, "…") && strings.HasPrefix(want[j], strings.TrimSuffix(got, "…")) &&
				len(got) > 1000
			if len(got) > 1024 || !utf8.ValidString(got) || got != want[j] && !shortened {
				t.Errorf("message %d has a note of %d bytes, %q", i+1, len(got), got)
			}
		}
	}
}
