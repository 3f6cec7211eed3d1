package cell

import (
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Role is which end gorxe is.
type Role uint8

// The roles of gorxe.
const (
	Client Role = iota
	Server
)

func (r Role) String() string { return [...]string{"client", "server"}[r] }

// Family is the IP version of the RoCEv2 packets.
type Family uint8

// The families.
const (
	IPv4 Family = iota
	IPv6
)

func (f Family) String() string { return [...]string{"IPv4", "IPv6"}[f] }

// Cell is one run of the matrix.
type Cell struct {
	Suite     string // the kernel, by the name of its Debian release
	Workload  Workload
	Role      Role
	Family    Family
	Condition Condition
}

// ID names the cell; it is unique in a matrix and fit for a file name but for its slashes.
func (c Cell) ID() string {
	return strings.Join([]string{c.Suite, Slug(c.Condition.String()), Slug(c.Workload.Tool.Name), Slug(c.Workload.Params.String()),
		"gorxe-" + c.Role.String(), c.Family.String()}, "/")
}

// What a run may take on a slow and busy machine: a fixed part, and a part for every packet. Under loss the part is larger: a
// lost last packet costs a timeout of 67 ms. It is largest when rxe reads: it notices a missing response by its timer only, and
// then asks for all the rest of the READ again.
const (
	TimeoutBase    = 40 * time.Second
	PacketClean    = 6 * time.Millisecond
	PacketImpaired = 10 * time.Millisecond
	PacketReread   = 50 * time.Millisecond
)

// Timeout is when a run is given up. The stock tools retry for ever, so every run needs one.
func (c Cell) Timeout() time.Duration {
	each := PacketClean
	switch {
	case c.Condition.Impaired() && c.rxeReads():
		each = PacketReread
	case c.Condition.Impaired():
		each = PacketImpaired
	}
	return c.StartTime() + time.Duration(c.Workload.Packets())*each
}

// StartTime is the part of the time limit for programs to start. That takes Python long.
func (c Cell) StartTime() time.Duration {
	switch {
	case c.Workload.Tool.Kind == Operation:
		return 3 * TimeoutBase
	case c.Outcome() == Unreachable:
		return TimeoutBase + unreachableTime
	}
	return TimeoutBase
}

// rxeReads reports whether rxe sends READ requests.
func (c Cell) rxeReads() bool {
	return c.Workload.Tool.Reads && (c.Role == Server || c.Workload.Params.Both)
}

// Link is what the command lines of a cell name of its lane.
type Link struct {
	Rxe, Gorxe End
	Dead       map[Family]netip.Addr // of a host that gorxe sends to and that is not there
}

// End is one end of a lane's link, as the commands name it.
type End struct {
	Device string         // RDMA device or network interface
	GID    map[Family]int // GID index
	Addr   map[Family]netip.Addr
}

// Where the guest has the program under test, the other one that uses gorxe, its counterpart with the table of
// operations, and the program of measurements.
const (
	GorxePath  = "/run/rxelab/gorxe"
	VerbsPath  = "/run/rxelab/verbs"
	ScriptPath = "/run/rxelab/verbs_peer.py"
	OpsPath    = "/run/rxelab/ops.json"
	BenchPath  = "/run/rxelab/bench"
)

// firstPort and lastPort are the first TCP port of cells and the one after the last, below the range that Linux takes for clients.
const firstPort, lastPort = 20000, 32000

// Port returns the n-th port. Each cell has another one, as a closed connection keeps its port busy for a minute.
func Port(n int) int { return firstPort + n%(lastPort-firstPort) }

// Commands returns the command lines of the unmodified program and of gorxe. One is nil when that end does not take part.
func (c Cell) Commands(l *Link, port int) (stock, gorxe []string) {
	if c.talk() != nil {
		return c.lines(l, port)
	}
	if c.Role == Client {
		stock, gorxe = c.stock(l.Rxe, port, ""), c.gorxe(l.Gorxe, port, c.host(l.Rxe))
	} else {
		stock, gorxe = c.stock(l.Rxe, port, c.host(l.Gorxe)), c.gorxe(l.Gorxe, port, "")
	}
	return stock, append(gorxe, c.foreignGIDs(l.Rxe)...)
}

// stock is the command line of the unmodified tool; host is empty for the server.
func (c Cell) stock(e End, port int, host string) []string {
	return c.arguments([]string{c.Workload.Tool.program()}, e, port, host)
}

// gorxe is the command line of gorxe's end.
func (c Cell) gorxe(e End, port int, host string) []string {
	t := c.Workload.Tool
	if t.UnderRun {
		argv := append([]string{GorxePath}, strings.Fields(strings.ReplaceAll(runPrefix, "{self}", e.Addr[c.Family].String()))...)
		inside := End{Device: runDevice, GID: map[Family]int{}}
		return c.arguments(append(argv, t.program()), inside, port, host)
	}
	if t.Gorxe == nil {
		return c.arguments([]string{VerbsPath}, e, port, host)
	}
	return c.arguments(append([]string{GorxePath}, t.Gorxe...), e, port, host)
}

func (c Cell) arguments(argv []string, e End, port int, host string) []string {
	t := c.Workload.Tool
	argv = append(argv, "-d", e.Device, t.GIDFlag, strconv.Itoa(e.GID[c.Family]), "-p", strconv.Itoa(port))
	argv = append(argv, t.Fixed...)
	argv = append(argv, c.Workload.Params.Flags(t)...)
	if c.Family == IPv6 && t.IPv6Flag != "" {
		argv = append(argv, t.IPv6Flag)
	}
	if host != "" {
		argv = append(argv, host)
	}
	return argv
}

// foreignGIDs are the flags with which gorxe takes peer's GID where the exchange runs over IPv4 and RDMA over IPv6.
func (c Cell) foreignGIDs(peer End) []string {
	t := c.Workload.Tool
	if c.Family != IPv6 || t.Gorxe == nil || t.CM || t.IPv6TCP && c.Role == Server {
		return nil
	}
	return []string{"--foreign-gids", peer.Addr[IPv6].String()}
}

// host is the address under which the client reaches the server, for the tool's TCP exchange or with the connection manager.
func (c Cell) host(server End) string {
	f := IPv4
	if t := c.Workload.Tool; c.Family == IPv6 && (t.CM || c.Role == Server && t.IPv6TCP && !t.UnderRun) {
		f = IPv6
	}
	return server.Addr[f].String()
}
