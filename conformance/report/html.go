package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/gorxe/gorxe/conformance"
)

//go:embed page
var files embed.FS

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(files, "page/page.html"))
})

// page is the data of the template.
type page struct {
	Title, Policy string
	Style         template.CSS
	Legend        []mark
	Devices       []device
	Several, Few  bool // number of devices
	Groups        []pageGroup
	Headings      []string   // of the measurements of a case
	Meaning       string     // of the cells of Measurements
	Measurements  [][]string // of all devices
}

// mark shows a verdict.
type mark struct{ Class, Mark, Name, Meaning string }

type device struct {
	*Report
	Counts, Date, Duration string
}

type pageGroup struct {
	Chapter string
	Counts  []string // for each device
	Rows    []pageRow
}

type pageRow struct {
	*Case
	Cells []cell
}

// Classes returns the classes by which the filters of the page select r, each after a space: bad if
// a device violates the rule, differ if the verdicts of the devices differ.
func (r pageRow) Classes() string {
	bads, verdicts := "", map[conformance.Verdict]bool{}
	for _, c := range r.Cells {
		if c.Case == nil {
			continue
		}
		verdicts[c.Case.Verdict] = true
		if bad(c.Case.Verdict) {
			bads = " bad"
		}
	}
	if len(verdicts) > 1 {
		return bads + " differ"
	}
	return bads
}

// cell is a case of a device; Case is nil if the device has no such case.
type cell struct {
	mark
	Case                             *Case
	Anchor, Device, Seconds, Packets string
	Open                             bool // the ladder is open
	Steps                            []step
	Rest                             string // about packets that are not in the report
	Values                           [][]string
	File                             template.URL
	FileName                         string
}

// step is a packet in a ladder.
type step struct {
	Class, Time, Label, What string
	Notes, Findings          []string
}

// WriteHTML writes reports as one HTML page that works offline: a matrix of cases and devices, and
// for each case the rule, results, ladder and capture. The page has no script; its filters are CSS.
// All texts of a report are untrusted: html/template escapes them, and the Content Security Policy
// forbids everything except the style of this package.
func WriteHTML(w io.Writer, reports ...*Report) error {
	style, err := files.ReadFile("page/style.css")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(style)
	p := page{
		Title: "RoCEv2 conformance", Style: template.CSS(style), Headings: valueHeadings,
		Meaning: MeasurementsMeaning, Measurements: Measurements(reports...),
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; img-src data:; base-uri 'none'; form-action 'none'",
	}
	p.Several, p.Few = len(reports) > 1, len(reports) <= fewDevices
	for v := range conformance.Verdicts {
		p.Legend = append(p.Legend, markOf(v))
	}
	for _, r := range reports {
		p.Title += " · " + r.Device
		p.Devices = append(p.Devices, device{r, r.counts(plain), r.Time.UTC().Format("2006-01-02 15:04 UTC"),
			fmt.Sprintf("%.0f s", r.Seconds)})
	}
	for _, g := range matrix(reports) {
		p.Groups = append(p.Groups, pageGroupOf(g, reports))
	}
	return pageTemplate().Execute(w, p)
}

// fewDevices is the number of devices up to which the matrix fits into a wide window.
const fewDevices = 6

func markOf(v conformance.Verdict) mark {
	v = min(v, conformance.Verdicts-1)
	return mark{strings.ReplaceAll(v.String(), " ", "-"), marks[v], v.String(), meanings[v]}
}

func pageGroupOf(g group, reports []*Report) pageGroup {
	out := pageGroup{Chapter: g.Chapter}
	for n := range reports {
		passed, judged := 0, 0
		for _, x := range g.Rows {
			if c := x.Cases[n]; c != nil && (&Report{Cases: []Case{*c}}).Judged() > 0 {
				judged++
				if !bad(c.Verdict) {
					passed++
				}
			}
		}
		text := ""
		if judged > 0 {
			text = fmt.Sprintf("%d of %d", passed, judged)
		}
		out.Counts = append(out.Counts, text)
	}
	for _, x := range g.Rows {
		row := pageRow{Case: x.Case}
		for n, c := range x.Cases {
			row.Cells = append(row.Cells, cellOf(c, n, reports[n].Device, len(reports) > 1))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// cellOf returns the cell of c, a case of report n.
func cellOf(c *Case, n int, device string, several bool) cell {
	if c == nil {
		return cell{}
	}
	x := cell{mark: markOf(c.Verdict), Case: c, Anchor: fmt.Sprintf("%s_%d", c.Key(), n+1), Device: device,
		Seconds: fmt.Sprintf("%.1f s", c.Seconds), Packets: plural(len(c.Packets), "packet"), Open: bad(c.Verdict)}
	for i := range c.Values {
		x.Values = append(x.Values, c.Values[i].cells())
	}
	if len(c.Packets) > shownPackets {
		x.Open = false
	}
	x.addSteps(c)
	if len(c.Pcapng) > 0 {
		if x.FileName = c.CaptureName(""); several {
			x.FileName = c.CaptureName(device)
		}
		b := bytes.NewBufferString("data:application/octet-stream;base64,")
		b.WriteString(base64.StdEncoding.EncodeToString(c.Pcapng))
		x.File = template.URL(b.String())
	}
	return x
}

func (x *cell) addSteps(c *Case) {
	previous := 0
	for i := range c.Packets {
		p := &c.Packets[i]
		s := step{Class: "received", Time: fmt.Sprintf("%.6f", p.Seconds), Label: p.label(), What: p.What(),
			Notes: p.Notes, Findings: p.Findings}
		if p.Sent {
			s.Class = "sent"
		}
		if gap := p.Frame - previous - 1; previous > 0 && gap > 0 {
			s.Notes = append([]string{fmt.Sprintf("%d packets are not shown", gap)}, s.Notes...)
		}
		previous = p.Frame
		x.Steps = append(x.Steps, s)
	}
	if n := c.dropped(); n > 0 {
		x.Rest = fmt.Sprintf("%d more packets were not kept", n)
	}
}

// label returns the text on the arrow of p.
func (p *Packet) label() string {
	if p.Opcode == "" {
		return fmt.Sprintf("%d bytes", p.Length)
	}
	return fmt.Sprintf("%s  PSN %d", strings.ReplaceAll(strings.TrimPrefix(p.Opcode, "RC_"), "_", " "), p.PSN)
}
