// Package report stores the results of cells and writes them as Markdown, as a table for a
// terminal and as JSON. A [Report] holds the [Result] of each cell; [Load] merges saved reports.
package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/host"
	"github.com/gorxe/gorxe/conformance/rxelab/icrc"
)

// Result is the result of a cell. It is stored in a file between a run and its report, so it
// holds the properties of the cell as text.
type Result struct {
	ID        string
	Suite     string
	Tool      string
	Params    string
	Role      string
	Family    string
	Condition string

	Failures []string `json:",omitempty"` // empty: the cell passed
	Before   []string `json:",omitempty"` // failures of earlier tries
	Early    bool     `json:"-"`          // the client started before its server listened: see [cell.Tool]
	Seconds  float64  // from the start of the server to the end of both programs
	Traffic  Traffic
	Rxe      map[string]int `json:",omitempty"` // increase of rxe's counters
}

// NewResult returns a result without failures.
func NewResult(c cell.Cell) Result {
	return Result{
		ID: c.ID(), Suite: c.Suite, Tool: c.Workload.Tool.Name, Params: c.Workload.Params.String(),
		Role: c.Role.String(), Family: c.Family.String(), Condition: c.Condition.String(),
	}
}

// Fail adds a failure.
func (r *Result) Fail(why string) { r.Failures = append(r.Failures, why) }

// Passed reports whether there is no failure.
func (r *Result) Passed() bool { return len(r.Failures) == 0 }

// SetTraffic sets the result of the capture.
func (r *Result) SetTraffic(t Traffic, err error) {
	r.Traffic = t
	switch {
	case err != nil:
		r.Fail("capture: " + err.Error())
	case t.Bad > 0:
		r.Fail(fmt.Sprintf("%d of %d captured packets are wrong: %s", t.Bad, t.Packets, t.Faults[0]))
	case t.Packets == 0 && r.Passed():
		r.Fail("no RoCEv2 packet was captured")
	}
}

// Report is a run of the matrix.
type Report struct {
	Group        cell.Group `json:",omitempty"` // empty: Core
	Started      time.Time
	Duration     time.Duration
	Level        cell.Level
	Host         string // the lab's host
	Versions     []host.Version
	CaptureLimit int // maximum number of frames of a cell
	Kernels      []KernelVersion
	Results      []Result
}

func (r *Report) group() cell.Group { return cmp.Or(r.Group, cell.Core) }

// KernelVersion is a kernel that was booted.
type KernelVersion struct{ Suite, Release, Package string }

// Failed returns the cells that did not pass.
func (r *Report) Failed() []Result {
	var f []Result
	for _, c := range r.Results {
		if !c.Passed() {
			f = append(f, c)
		}
	}
	return f
}

// Traffic is the result of the capture of a cell.
type Traffic struct {
	icrc.Summary
	Dropped int  // frames that the kernel dropped because tcpdump was too slow
	Limited bool // the capture reached its limit before the end of the cell

	Sent     []int `json:",omitempty"` // BTH opcodes, sent by gorxe
	Received []int `json:",omitempty"`
}
