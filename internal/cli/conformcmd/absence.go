package conformcmd

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/device"
	"github.com/gorxe/gorxe/conformance/wire"
	"github.com/gorxe/gorxe/internal/cli/app"
)

// absence detects a device that is absent, because none of the first cases got a packet, and one
// that has died.
type absence struct {
	local  netip.Addr
	device *device.Stock
	limit  int // number of cases without a packet after which the device is absent

	cases    int // without a packet, without one in between
	sent     bool
	programs map[conformance.Program]bool // of these cases
	works    map[conformance.Program]bool // programs whose queue pairs have sent a packet
	last     string                       // case that got a packet last
}

// A device is absent if it sent nothing in minCases cases with two programs, or in maxCases cases.
// A user who starts no program is not asked a second time.
//
// A device has died if it sends nothing in diedCases cases whose programs have worked before; other
// programs may just not work.
const (
	minCases  = 3
	maxCases  = 6
	diedCases = 4
)

// absent adds a result and reports whether the device is absent or has died.
func (a *absence) absent(x *conformance.Result) bool {
	got := slices.ContainsFunc(x.Packets, func(e conformance.Entry) bool { return !e.Sent && a.fromDevice(e) })
	switch {
	case x.Verdict == conformance.NotRun, x.Verdict == conformance.Unsupported:
		return false
	case x.Verdict != conformance.Inconclusive, got:
		a.present(x)
		return false
	}
	if a.programs == nil {
		a.programs = map[conformance.Program]bool{}
	}
	a.sent = a.sent || len(x.Packets) > 0
	if a.last != "" {
		if a.works[x.Case.Program] {
			a.cases++
		}
		return a.cases >= diedCases
	}
	a.programs[x.Case.Program] = true
	a.cases++
	return a.cases >= a.limit || a.cases >= minCases && len(a.programs) > 1
}

// fromDevice reports whether the device has sent a packet; others may send to the port, too.
func (a *absence) fromDevice(e conformance.Entry) bool { return e.Src.Addr() == a.device.Addr }

func (a *absence) present(x *conformance.Result) {
	if a.works == nil {
		a.works = map[conformance.Program]bool{}
	}
	a.works[x.Case.Program] = true
	a.cases, a.sent, a.last = 0, false, x.Case.ID
}

// explain returns why the run ends after x, and what the user can check. rest reports whether cases
// remain.
func (a *absence) explain(x *conformance.Result, rest bool) string {
	text := "no packet came from the device in " + app.Plural(a.cases, "case")
	if a.last != "" {
		text += fmt.Sprintf(" after %s", a.last)
	}
	if rest {
		text += ": the rest was not run"
	}
	return fmt.Sprintf("%s. The last reason: %s; check %s", text, x.Detail, a.advice(x))
}

// advice says what to check. A program that could not be started or reached needs another check
// than one whose queue pair does not answer.
func (a *absence) advice(x *conformance.Result) string {
	d := a.device
	switch {
	case a.sent:
		return fmt.Sprintf("that no firewall drops UDP port %d between %v and %v, in both directions, that %[3]v is "+
			"an address of the RDMA device (--dut-addr) and that --dut-gid is the index of its GID", wire.Port,
			a.local, d.Addr)
	case d.Start == "":
		return fmt.Sprintf("that the program was started on the device, and that this host reaches TCP ports %d to %d "+
			"of %v", d.Port, d.Port+device.Ports-1, d.Host)
	}
	line, ok := d.Line(x.Case.Program)
	if !ok {
		return fmt.Sprintf("that --dut-start runs programs on the device, which reach TCP ports of %v", a.local)
	}
	return fmt.Sprintf("that '%s' prints no error and runs until you end it, and that this host reaches TCP ports "+
		"%d to %d of %v", line, d.Port, d.Port+device.Ports-1, d.Host)
}
