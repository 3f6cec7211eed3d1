// Package pair runs the workloads of the matrix with gorxe at both ends, on this host and without
// a virtual machine. [Matrix] returns the runs, [RunAll] runs them, [Markdown] writes the report.
package pair

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
)

// Path is the path of the packets between two gorxe on this host: the interfaces and the kinds of
// links.
type Path string

// The paths.
const (
	Loopback Path = "loopback"     // two addresses of the loopback interface
	Veth     Path = "veth"         // two network namespaces, MTU 9000
	VethRaw  Path = "veth-raw"     // veth with links of kind raw
	VethBoth Path = "veth-raw-udp" // veth with the client's link of kind raw and the server's of kind udp
	VethXDP  Path = "veth-xdp"     // veth with links of kind xdp
	XDPToUDP Path = "veth-xdp-udp" // veth with the client's link of kind xdp and the server's of kind udp
	XDPToRaw Path = "veth-xdp-raw" // veth with the client's link of kind xdp and the server's of kind raw
)

var paths = []Path{Loopback, Veth, VethRaw, VethBoth, VethXDP, XDPToUDP, XDPToRaw}

// pathLinks are the kinds of links of the server and the client.
var pathLinks = map[Path][2]string{
	Loopback: {"udp", "udp"}, Veth: {"udp", "udp"}, VethRaw: {"raw", "raw"}, VethBoth: {"udp", "raw"},
	VethXDP: {"xdp", "xdp"}, XDPToUDP: {"udp", "xdp"}, XDPToRaw: {"raw", "xdp"},
}

// mixed reports whether the two ends have links of different kinds.
func (p Path) mixed() bool { return pathLinks[p][0] != pathLinks[p][1] }

// wire returns what connects the ends: Loopback or Veth.
func (p Path) wire() Path {
	if p == Loopback {
		return Loopback
	}
	return Veth
}

// Run is a run of a workload with gorxe at both ends.
type Run struct {
	Path     Path
	Workload cell.Workload
	Family   cell.Family
	Fault    string    // value of gorxe's --fault; "": none
	FaultAt  cell.Role // the end whose outgoing packets the fault affects
}

// Disturbance returns the name of the disturbance.
func (p Run) Disturbance() string {
	if p.Fault == "" {
		return cell.Clean.Name
	}
	return fmt.Sprintf("%s from the %s", p.Fault, p.FaultAt)
}

// ID returns the name of the run, unique in a matrix.
func (p Run) ID() string {
	return strings.Join([]string{string(p.Path), cell.Slug(p.Disturbance()), cell.Slug(p.Workload.Tool.Name),
		cell.Slug(p.Workload.Params.String()), p.Family.String()}, "/")
}

// timeout returns the time limit of the run.
func (p Run) timeout() time.Duration {
	each := cell.PacketClean
	if p.Fault != "" {
		each = cell.PacketImpaired
	}
	return cell.TimeoutBase + time.Duration(p.Workload.Packets())*each
}

// condition returns the disturbance as a condition of the matrix.
func (p Run) condition() cell.Condition {
	for _, d := range cell.Disturbances {
		if p.Fault != "" && d.Fault == p.Fault {
			d.Direction = cell.ToRxe
			return d
		}
	}
	return cell.Clean
}

// disturbed returns a Run for each kind of disturbance: none, and each disturbance of the matrix
// at either end.
func disturbed() []Run {
	all := []Run{{}}
	for _, d := range cell.Disturbances {
		for _, at := range []cell.Role{cell.Client, cell.Server} {
			all = append(all, Run{Fault: d.Fault, FaultAt: at})
		}
	}
	return all
}

// Matrix returns the matrix with gorxe at both ends: the workloads of [cell.Matrix], over both
// address families and all paths, undisturbed and disturbed in each direction; paths with two
// kinds of links only undisturbed. LevelCI selects half of the undisturbed runs, a third of the
// disturbed ones, and no long ones.
func Matrix(group cell.Group, level cell.Level, filter *regexp.Regexp) ([]Run, error) {
	if err := group.Check(); err != nil {
		return nil, err
	}
	if level != cell.LevelCI && level != cell.LevelFull {
		return nil, fmt.Errorf("level %q: want %s or %s", level, cell.LevelCI, cell.LevelFull)
	}
	var pairs []Run
	for n, d := range disturbed() {
		for i, w := range group.Workloads() {
			for j, path := range paths {
				for k, f := range []cell.Family{cell.IPv4, cell.IPv6} {
					p := Run{Path: path, Workload: w, Family: f, Fault: d.Fault, FaultAt: d.FaultAt}
					turn := i + j + k + n
					if w.Tool.Gorxe == nil || w.Tool.CM || !w.Survives(p.condition()) {
						continue
					}
					// The other paths test the reaction of each kind of link.
					if path.mixed() && d.Fault != "" {
						continue
					}
					if level == cell.LevelCI &&
						(w.Long() || d.Fault == "" && turn%2 != 0 || d.Fault != "" && turn%3 != 0) {
						continue
					}
					pairs = append(pairs, p)
				}
			}
		}
	}
	if filter != nil {
		pairs = slices.DeleteFunc(pairs, func(p Run) bool { return !filter.MatchString(p.ID()) })
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("no run of group %s and level %s matches %q", group, level, filter)
	}
	return pairs, nil
}
