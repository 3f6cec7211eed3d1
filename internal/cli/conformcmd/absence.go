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

// absence detects a device that is absent, because none of the first cases got a packet, one that
// has died, and one whose cases are all inconclusive.
type absence struct {
	local  netip.Addr
	device *device.Stock
	limit  int // number of cases without a packet after which the device is absent

	cases    int // without a packet, without one in between
	sent     bool
	programs map[conformance.Program]bool // of these cases
	works    map[conformance.Program]bool // programs whose queue pairs have sent a packet
	last     string                       // case that got a packet last

	inconclusive inconclusive
}

// A device is absent if it sent nothing in minCases cases with two programs, or in maxCases cases.
// A user who starts no program is not asked a second time.
//
// A device has died if it sends nothing in diedCases cases whose programs have worked before; other
// programs may just not work.
//
// Further cases are in vain after maxInconclusive inconclusive cases of minPrograms programs, for
// example because unexpected packets fill the queues.
const (
	minCases  = 3
	maxCases  = 6
	diedCases = 4

	maxInconclusive = 20
	minPrograms     = 3
)

// ends adds a result and reports whether the run ends with it.
func (a *absence) ends(x *conformance.Result) bool {
	a.inconclusive.add(x)
	return a.absent(x) || a.inconclusive.many()
}

// inconclusive are inconclusive cases in a row: no case in between had a verdict about the device.
type inconclusive struct {
	cases    int
	programs map[conformance.Program]bool
}

// many reports whether further cases are in vain.
func (n *inconclusive) many() bool {
	return n.cases >= maxInconclusive && len(n.programs) >= minPrograms
}

func (n *inconclusive) add(x *conformance.Result) {
	switch x.Verdict {
	case conformance.NotRun, conformance.Unsupported:
	case conformance.Inconclusive:
		if n.programs == nil {
			n.programs = map[conformance.Program]bool{}
		}
		n.cases++
		n.programs[x.Case.Program] = true
	default:
		*n = inconclusive{}
	}
}

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
	switch {
	case a.inconclusive.many():
		text = fmt.Sprintf("%d cases in a row were inconclusive", a.inconclusive.cases)
	case a.last != "":
		text += fmt.Sprintf(" after %s", a.last)
	}
	if rest {
		text += ": the rest was not run"
	}
	if n := came(x); n > flood {
		return fmt.Sprintf("%s. %d packets came in the last one: check what sends them. The last reason: %s", text, n,
			x.Detail)
	}
	return fmt.Sprintf("%s. The last reason: %s; check %s", text, x.Detail, a.advice(x))
}

// flood is the number of packets in a case above which the user is told that they came.
const flood = 1 << 12

// came returns the number of packets that came in a case, also those that were not kept.
func came(x *conformance.Result) int {
	n := x.Dropped
	for _, e := range x.Packets {
		if !e.Sent {
			n++
		}
	}
	return n
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
