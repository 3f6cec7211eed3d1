package bench

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"text/template"
)

//go:embed chart.svg.tmpl
var chartText string

// chart is the template of the chart of medians; its data is a chartData.
var chart = template.Must(template.New("chart").Parse(chartText))

// Dimensions of the chart, in pixels.
const (
	chartWidth  = 880
	labelEnd    = 250 // names end here, bars begin a little to the right
	barBegin    = 260
	barEnd      = 780
	rowHeight   = 24
	panelHead   = 44
	panelFoot   = 14
	curveHeight = 40
	chartFoot   = 40
)

type chartData struct {
	Width, Height, LabelEnd, BarBegin, BarEnd int
	Panels                                    []panel
	Curves                                    []curve
	Ticks                                     []mark
	CurveHead, CurveEnd, Foot                 int
	Caption                                   string
}

type panel struct {
	Title, Unit string
	Y           int
	Bars        []bar
}

type bar struct {
	Name, Value  string
	Class        string
	Y, Text      int
	Length       float64
	Least, Most  float64 // ends of the whisker
	Middle, Tall int
}

// curve is the histogram of one contender.
type curve struct {
	Name   string
	Points string
	Y      int // of its baseline
	Text   int
}

type mark struct {
	X    float64
	Text string
}

// Chart writes the medians and the histograms as SVG, in colours that are readable on light and
// dark backgrounds.
func (r *Report) Chart(w io.Writer) error {
	d := &chartData{Width: chartWidth, LabelEnd: labelEnd, BarBegin: barBegin, BarEnd: barEnd}
	y := 0
	var timed []rowData
	for _, c := range r.data("").Contests {
		p := panel{Title: c.Title, Unit: string(c.Metric), Y: y + 28}
		y += panelHead
		most := 0.0
		for _, row := range c.Rows {
			most = max(most, row.Of.Max)
			if row.Times != nil {
				timed = append(timed, row)
			}
		}
		for _, row := range c.Rows {
			if row.Of.N == 0 {
				continue
			}
			p.Bars = append(p.Bars, newBar(row, most, y))
			y += rowHeight
		}
		y += panelFoot
		d.Panels = append(d.Panels, p)
	}
	if len(timed) > 0 {
		d.CurveHead = y + 28
		y = d.addCurves(timed, y+panelHead)
	}
	d.Foot = y + 24
	d.Height = y + chartFoot
	d.Caption = fmt.Sprintf("%s, %d cores, Linux %s; gorxe %s; %s", r.Machine.CPU, r.Machine.Cores, r.Machine.Kernel,
		cmp.Or(r.Machine.Revision, "of an unknown revision"), r.Began.Format("2006-01-02"))
	return chart.Execute(w, d)
}

func newBar(row rowData, most float64, y int) bar {
	scale := (barEnd - barBegin) / max(most, math.SmallestNonzeroFloat32)
	b := bar{Name: row.Name, Value: number(row.Of.Median), Class: "rival", Y: y, Text: y + 14,
		Length: row.Of.Median * scale, Least: barBegin + row.Of.Min*scale,
		Most: barBegin + row.Of.Max*scale, Middle: y + 9, Tall: rowHeight - 6}
	if row.Gorxe {
		b.Class = "gorxe"
	}
	return b
}

// curveSteps is the number of steps per power of ten in a drawn histogram.
const curveSteps = 24

// addCurves draws histograms over one logarithmic time axis and returns the y coordinate below
// them.
func (d *chartData) addCurves(rows []rowData, y int) int {
	least, most := math.Inf(1), 0.0
	for _, r := range rows {
		least, most = min(least, r.Times.Percentile(0)), max(most, r.Times.Percentile(99.99))
	}
	from, to := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most*1.0001))
	at := func(log float64) float64 { return barBegin + (log-from)/(to-from)*(barEnd-barBegin) }
	for _, r := range rows {
		steps := make([]float64, int((to-from)*curveSteps)+1)
		for _, b := range r.Times.Bars() {
			i := int((math.Log10(b.UpTo) - from) * curveSteps)
			steps[min(max(i, 0), len(steps)-1)] += float64(b.Count)
		}
		peak := slices.Max(steps)
		ground := y + curveHeight
		points := fmt.Sprintf("%d,%d", barBegin, ground)
		for i, n := range steps[:len(steps)-1] {
			top := float64(ground) - n/peak*(curveHeight-4)
			points += fmt.Sprintf(" %.1f,%.1f %.1f,%.1f", at(from+float64(i)/curveSteps), top,
				at(from+float64(i+1)/curveSteps), top)
		}
		points += fmt.Sprintf(" %d,%d", barEnd, ground)
		d.Curves = append(d.Curves, curve{Name: r.Name, Points: points, Y: ground, Text: ground - 8})
		y = ground + 8
	}
	for e := from; e <= to; e++ {
		d.Ticks = append(d.Ticks, mark{at(e), fmt.Sprintf("%g µs", math.Pow(10, e))})
	}
	d.CurveEnd = y + 10
	return y + 16
}
