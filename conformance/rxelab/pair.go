package rxelab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Path is the way of the packets between two gorxe on this host: what is between them, and their links.
type Path string

// The paths.
const (
	Loopback Path = "loopback"     // two addresses of the loopback interface
	Veth     Path = "veth"         // two network namespaces, MTU 9000
	VethRaw  Path = "veth-raw"     // the same with links of kind raw
	VethBoth Path = "veth-raw-udp" // the same with the client's of kind raw and the server's of kind udp
	VethXDP  Path = "veth-xdp"     // the same with links of kind xdp
	XDPToUDP Path = "veth-xdp-udp" // the same with the client's of kind xdp and the server's of kind udp
	XDPToRaw Path = "veth-xdp-raw" // the same with the client's of kind xdp and the server's of kind raw
)

var paths = []Path{Loopback, Veth, VethRaw, VethBoth, VethXDP, XDPToUDP, XDPToRaw}

// pathLinks are the kinds of the links of the server and the client.
var pathLinks = map[Path][2]string{
	Loopback: {"udp", "udp"}, Veth: {"udp", "udp"}, VethRaw: {"raw", "raw"}, VethBoth: {"udp", "raw"},
	VethXDP: {"xdp", "xdp"}, XDPToUDP: {"udp", "xdp"}, XDPToRaw: {"raw", "xdp"},
}

// mixed says that the two ends have links of different kinds.
func (p Path) mixed() bool { return pathLinks[p][0] != pathLinks[p][1] }

// wire is what is between the ends: Loopback or Veth.
func (p Path) wire() Path {
	if p == Loopback {
		return Loopback
	}
	return Veth
}

// Pair is a run with gorxe at both ends.
type Pair struct {
	Path     Path
	Workload Workload
	Family   Family
	Fault    string // of gorxe's --fault; empty: none
	FaultAt  Role   // the end whose packets the fault meets as they leave
}

// Disturbance names what happens to the packets.
func (p Pair) Disturbance() string {
	if p.Fault == "" {
		return Clean.Name
	}
	return fmt.Sprintf("%s from the %s", p.Fault, p.FaultAt)
}

// ID names the run; it is unique in a matrix.
func (p Pair) ID() string {
	return strings.Join([]string{string(p.Path), slug(p.Disturbance()), slug(p.Workload.Tool.Name), slug(p.Workload.Params.String()), p.Family.String()}, "/")
}

// timeout is when a run is given up.
func (p Pair) timeout() time.Duration {
	each := packetClean
	if p.Fault != "" {
		each = packetImpaired
	}
	return timeoutBase + time.Duration(p.Workload.packets())*each
}

// condition is the disturbance as a condition of the matrix.
func (p Pair) condition() Condition {
	for _, d := range disturbances {
		if p.Fault != "" && d.Fault == p.Fault {
			d.Direction = ToRxe
			return d
		}
	}
	return Clean
}

// disturbed are the ways to disturb a pair: not at all, and each disturbance of the matrix at either end.
func disturbed() []Pair {
	all := []Pair{{}}
	for _, d := range disturbances {
		for _, at := range []Role{Client, Server} {
			all = append(all, Pair{Fault: d.Fault, FaultAt: at})
		}
	}
	return all
}

// Pairs returns the matrix with gorxe at both ends: the workloads of [Matrix], over both families and paths, undisturbed and
// disturbed in each direction, those of links of two kinds only undisturbed. LevelCI takes half of the undisturbed runs, a third of the disturbed, and none of the long ones.
func Pairs(group Group, level Level, filter *regexp.Regexp) ([]Pair, error) {
	if err := group.Check(); err != nil {
		return nil, err
	}
	if level != LevelCI && level != LevelFull {
		return nil, fmt.Errorf("level %q: want %s or %s", level, LevelCI, LevelFull)
	}
	var pairs []Pair
	for n, d := range disturbed() {
		for i, w := range group.Workloads() {
			for j, path := range paths {
				for k, f := range []Family{IPv4, IPv6} {
					p := Pair{Path: path, Workload: w, Family: f, Fault: d.Fault, FaultAt: d.FaultAt}
					turn := i + j + k + n
					if w.Tool.Gorxe == nil || w.Tool.CM || !w.survives(p.condition()) {
						continue
					}
					if path.mixed() && d.Fault != "" { // what each kind does about it is seen at the others
						continue
					}
					if level == LevelCI && (w.long() || d.Fault == "" && turn%2 != 0 || d.Fault != "" && turn%3 != 0) {
						continue
					}
					pairs = append(pairs, p)
				}
			}
		}
	}
	if filter != nil {
		pairs = slices.DeleteFunc(pairs, func(p Pair) bool { return !filter.MatchString(p.ID()) })
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("no run of group %s and level %s matches %q", group, level, filter)
	}
	return pairs, nil
}
