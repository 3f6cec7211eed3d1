package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gorxe/gorxe/conformance"
)

// Value is a measurement: percentiles of its samples, in Unit.
type Value struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Count int     `json:"count"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// newValue computes the percentiles of v, which has samples. A sample that is no number counts as
// 0.
func newValue(v conformance.Value) Value {
	s := slices.Clone(v.Samples)
	for i, x := range s {
		if math.IsNaN(x) || math.IsInf(x, 0) { // JSON has no such number
			s[i] = 0
		}
	}
	slices.Sort(s)
	return Value{
		Name: clean(v.Name, maxDetail), Unit: clean(v.Unit, maxDetail), Count: len(s), Min: s[0], P50: rank(s, 50),
		P90: rank(s, 90), P99: rank(s, 99), Max: s[len(s)-1],
	}
}

// rank returns the smallest of the sorted samples that percent of them do not exceed.
func rank(s []float64, percent int) float64 {
	return s[max(0, (len(s)*percent+99)/100-1)]
}

// valueHeadings are the columns of a table of values, after that of the case.
var valueHeadings = []string{"measurement", "unit", "count", "min", "p50", "p90", "p99", "max"}

// cells returns the row of v in a table with valueHeadings.
func (v *Value) cells() []string {
	row := []string{v.Name, v.Unit, fmt.Sprint(v.Count)}
	for _, x := range [...]float64{v.Min, v.P50, v.P90, v.P99, v.Max} {
		row = append(row, number(x))
	}
	return row
}

// maxDigits is the number of digits before the decimal point up to which number writes all.
const maxDigits = 15

// number returns x with three significant digits, and all digits before the decimal point.
func number(x float64) string {
	decimals := 2
	switch a := math.Abs(x); {
	case a >= math.Pow10(maxDigits):
		return strconv.FormatFloat(x, 'g', 3, 64)
	case x == math.Trunc(x), a >= 100:
		decimals = 0
	case a >= 10:
		decimals = 1
	case a < 1 && a > 0:
		decimals = min(9, 2-int(math.Floor(math.Log10(a))))
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}
