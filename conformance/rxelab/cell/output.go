package cell

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// CheckOutput returns an error unless a tool's output reports the whole run. The end that does
// not measure prints no table in some tests of perftest, and in others only the last row.
func (c Cell) CheckOutput(out string, measures bool) error {
	switch c.Workload.Tool.Kind {
	case Pingpong:
		return checkPingpong(out, c.Workload.Params)
	case Operation:
		return checkOperation(out, c.Workload.Params)
	}
	rows := tableRows(out)
	sizes := c.Workload.Params.Sizes()
	if !measures {
		sizes = sizes[max(0, len(sizes)-len(rows)):]
	}
	return checkTable(rows, sizes, c.Workload.Params.Iters*c.Workload.Params.queuePairs())
}

var (
	pingpongBytes = regexp.MustCompile(`(?m)^(\d+) bytes in \S+ seconds`)
	pingpongIters = regexp.MustCompile(`(?m)^(\d+) iters in \S+ seconds`)
)

// checkPingpong checks the last two lines of ibv_rc_pingpong: bytes of both directions,
// iterations.
func checkPingpong(out string, p Params) error {
	want := []struct {
		what  string
		re    *regexp.Regexp
		value int
	}{
		{"bytes", pingpongBytes, p.Size * p.Iters * 2},
		{"iterations", pingpongIters, p.Iters},
	}
	for _, w := range want {
		m := w.re.FindStringSubmatch(out)
		if m == nil {
			return fmt.Errorf("the output has no line with the %s", w.what)
		}
		if m[1] != strconv.Itoa(w.value) {
			return fmt.Errorf("the output reports %s %s, want %d", m[1], w.what, w.value)
		}
	}
	return nil
}

var operationRounds = regexp.MustCompile(`(?m)^\S+: (\d+) rounds of (\d+) bytes as they should be$`)

// checkOperation checks the line with which both ends of package verbspeer report success.
func checkOperation(out string, p Params) error {
	m := operationRounds.FindStringSubmatch(out)
	if m == nil {
		return errors.New("the output does not say that all rounds were as they should be")
	}
	if m[1] != strconv.Itoa(p.Iters) || m[2] != strconv.Itoa(p.Size) {
		return fmt.Errorf("the output reports %s rounds of %s bytes, want %d of %d", m[1], m[2], p.Iters, p.Size)
	}
	return nil
}

// tableRows returns the numbers of perftest's result table. If the clock jumps under emulation,
// perftest prints "inf" or "-nan" in some rows; these are valid values.
func tableRows(out string) [][]float64 {
	var rows [][]float64
	inTable := false
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) > 0 && f[0] == "#bytes" {
			inTable = true
			continue
		}
		if !inTable {
			continue
		}
		row, ok := numbers(f)
		if !ok {
			inTable = false
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

func numbers(fields []string) ([]float64, bool) {
	row := make([]float64, 0, len(fields))
	for _, f := range fields {
		v, err := strconv.ParseFloat(f, 64)
		switch {
		case f == "-nan": // as glibc prints it
			v = math.NaN()
		case err != nil:
			return nil, false
		}
		row = append(row, v)
	}
	return row, len(row) >= 3
}

// checkTable checks that the table has one row for every size, with all iterations. perftest adds
// up the iterations of all queue pairs.
func checkTable(rows [][]float64, sizes []int, iters int) error {
	var got []int
	for _, r := range rows {
		got = append(got, int(r[0]))
	}
	if !slices.Equal(got, sizes) {
		return fmt.Errorf("the result table has sizes %v, want %v", got, sizes)
	}
	for _, r := range rows {
		if n := int(r[1]); n != iters {
			return fmt.Errorf("the result table reports %d iterations of %d bytes, want %d", n, int(r[0]), iters)
		}
		for _, v := range r[2:] {
			if v < 0 {
				return fmt.Errorf("the result table has %v for %d bytes", v, int(r[0]))
			}
		}
	}
	return nil
}
