package report

import (
	"fmt"
	"slices"

	"github.com/gorxe/gorxe/conformance"
)

// row is a case of several devices. Cases has an element for each report, nil if the report does
// not have the case.
type row struct {
	*Case // the first one, for what does not depend on the device
	Cases []*Case
}

// group are the rows of a chapter.
type group struct {
	Chapter string
	Rows    []*row
}

// matrix returns the rows of reports by chapter, in the order of the first report that has them.
func matrix(reports []*Report) []group {
	var rows []*row
	at := map[string]*row{}
	for n, r := range reports {
		for i := range r.Cases {
			c := &r.Cases[i]
			x := at[c.ID]
			if x == nil {
				x = &row{Case: c, Cases: make([]*Case, len(reports))}
				at[c.ID] = x
				rows = append(rows, x)
			}
			x.Cases[n] = c
		}
	}
	var groups []group
	for _, x := range rows {
		i := slices.IndexFunc(groups, func(g group) bool { return g.Chapter == x.Chapter() })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{Chapter: x.Chapter()})
		}
		groups[i].Rows = append(groups[i].Rows, x)
	}
	order := conformance.Chapters()
	slices.SortStableFunc(groups, func(x, y group) int {
		return slices.Index(order, x.Chapter) - slices.Index(order, y.Chapter)
	})
	for _, g := range groups {
		slices.SortStableFunc(g.Rows, func(x, y *row) int { return numberIn(x.ID) - numberIn(y.ID) })
	}
	return groups
}

// numberIn returns the number in an ID, which has at most nine digits.
func numberIn(id string) (n int) {
	for _, c := range id {
		if c >= '0' && c <= '9' && n < 1e8 {
			n = 10*n + int(c-'0')
		}
	}
	return n
}

// marks are the symbols of verdicts in a matrix.
var marks = [conformance.Verdicts]string{"✓", "✕", "!", "?", "•", "–", "○", "~"}

// meanings explain the verdicts.
var meanings = [conformance.Verdicts]string{
	"the rule holds",
	"a rule that the specification makes mandatory (shall) is violated",
	"a recommendation (should) is violated",
	"the specification leaves it open, or respected implementations differ",
	"a number or a behaviour that is neither right nor wrong",
	"the device or its programs cannot do it",
	"the tester could not do it here, for example without a raw link",
	"the test did not take place as planned, or its repetition gave another result",
}

// Table returns the verdicts of reports as rows of a table; the first row is the header.
func Table(reports ...*Report) [][]string {
	head := []string{"case"}
	last := []string{"rules kept"}
	for _, r := range reports {
		head = append(head, r.Device)
		judged := r.Judged()
		last = append(last, fmt.Sprintf("%d of %d", judged-r.Count(conformance.Fail)-r.Count(conformance.Warn), judged))
	}
	rows := [][]string{head}
	for _, g := range matrix(reports) {
		for _, x := range g.Rows {
			row := []string{x.ID}
			for _, c := range x.Cases {
				row = append(row, verdictOf(c))
			}
			rows = append(rows, row)
		}
	}
	return append(rows, last)
}
