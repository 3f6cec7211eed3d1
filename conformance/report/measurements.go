package report

import (
	"fmt"
	"strings"
)

// MeasurementsMeaning explains the cells of [Measurements].
const MeasurementsMeaning = "Median / 99th percentile (number of samples). Rows of all cases are of all their " +
	"packets; times to replies are of requests that were alone in flight."

// allCases stands for the ID of a case before measurements of the packets of all cases.
const allCases = "all"

// Measurements returns the measurements of reports as rows of a table; the first row is the header.
// Those of the packets of all cases come first.
func Measurements(reports ...*Report) [][]string {
	head := []string{"case", "measurement", "unit"}
	var rows [][]string
	at := map[[3]string]int{}
	add := func(device int, id string, all []Value) {
		for i := range all {
			v := &all[i]
			key := [3]string{id, v.Name, v.Unit}
			k, ok := at[key]
			if !ok {
				k = len(rows)
				at[key] = k
				rows = append(rows, append(key[:], make([]string, len(reports))...))
			}
			rows[k][len(key)+device] = v.text()
		}
	}
	for n, r := range reports {
		head = append(head, r.Device)
		add(n, allCases, r.Traffic)
	}
	for _, g := range matrix(reports) {
		for _, x := range g.Rows {
			for n, c := range x.Cases {
				if c != nil {
					add(n, c.ID, c.Values)
				}
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return append([][]string{head}, rows...)
}

// text returns v for a table of several devices.
func (v *Value) text() string {
	if v.Count == 1 {
		return number(v.P50)
	}
	return fmt.Sprintf("%s / %s (%d)", number(v.P50), number(v.P99), v.Count)
}

// MarkdownTable returns rows as a table of Markdown, the first row as its header. Columns from the
// number right on are aligned to the right.
func MarkdownTable(rows [][]string, right int) string {
	var b strings.Builder
	for i, row := range rows {
		cells(&b, append([]string(nil), row...)...)
		if i == 0 {
			b.WriteString(strings.Repeat("|---", right) + strings.Repeat("|--:", len(row)-right) + "|\n")
		}
	}
	return b.String()
}
