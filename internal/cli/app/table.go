package app

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// PrintTable prints rows in aligned columns. The first row is the header. An empty cell is
// printed as "-".
func PrintTable(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if cell == "" {
				cell = "-"
			}
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush()
}

// Plural returns a number with its noun, such as "1 packet" or "2 packets".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
