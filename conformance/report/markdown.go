package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance"
)

// WriteMarkdown writes reports as a page of Markdown: a matrix of cases and devices, then the
// failures with their packets, and the measurements.
func WriteMarkdown(w io.Writer, reports ...*Report) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "# RoCEv2 conformance\n\n| device | address | tester | link | date | gorxe | result |\n|---|---|---|---|---|---|---|")
	for _, r := range reports {
		cells(b, r.Device, r.Address.String(), r.Local.String(), r.Link, r.Time.UTC().Format(time.DateOnly), r.Gorxe,
			r.counts(plain))
	}
	groups := matrix(reports)
	for _, g := range groups {
		fmt.Fprintf(b, "\n## %s\n\n", Escape(g.Chapter))
		head := []string{"case", "level", "rule"}
		for _, r := range reports {
			head = append(head, r.Device)
		}
		rows := [][]string{head}
		for _, x := range g.Rows {
			line := []string{x.ID, x.Level.String(), x.Rule}
			for _, c := range x.Cases {
				line = append(line, verdictOf(c))
			}
			rows = append(rows, line)
		}
		b.WriteString(MarkdownTable(rows, len(head)))
	}
	details(b, groups, reports)
	for _, r := range reports {
		rows := r.valueRows()
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n## Measurements: %s\n\n", Escape(r.Device))
		head := append([]string{"case"}, valueHeadings...)
		b.WriteString(MarkdownTable(append([][]string{head}, rows...), 3))
	}
	return b.Flush()
}

// details writes what every case has to say that did not just pass.
func details(b *bufio.Writer, groups []group, reports []*Report) {
	heading := "\n## Details\n"
	for _, g := range groups {
		for _, x := range g.Rows {
			title := false
			for n, c := range x.Cases {
				if c == nil || c.Verdict == conformance.Pass && c.Detail == "" || c.Verdict == conformance.NotRun {
					continue
				}
				if !title {
					title = true
					fmt.Fprintf(b, "%s\n### %s\n\n%s (%v; %s)\n", heading, Escape(x.ID), Escape(x.Rule), x.Level,
						Escape(x.Source))
					heading = ""
				}
				fmt.Fprintf(b, "\n%s with `%s`: **%v**", Escape(reports[n].Device),
					strings.ReplaceAll(c.Program, "`", "'"), c.Verdict)
				if c.Detail != "" {
					fmt.Fprintf(b, ": %s", Escape(c.Detail))
				}
				fmt.Fprintln(b)
				if bad(c.Verdict) && len(c.Packets) > 0 {
					ladder := strings.Join(c.ladder(shownPackets), "\n")
					fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.ReplaceAll(ladder, "```", "'''"))
				}
			}
		}
	}
}

// verdictOf returns the cell of a case in a matrix.
func verdictOf(c *Case) string {
	if c == nil {
		return ""
	}
	return marks[min(c.Verdict, conformance.Verdicts-1)] + " " + c.Verdict.String()
}

func cells(w io.Writer, texts ...string) {
	for i := range texts {
		texts[i] = Escape(texts[i])
	}
	fmt.Fprintf(w, "| %s |\n", strings.Join(texts, " | "))
}

// escaper makes Markdown of a text without line breaks.
var escaper = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", "\\*",
	"_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]")

// Escape returns a text without line breaks as Markdown that has no markup.
func Escape(s string) string { return escaper.Replace(s) }
