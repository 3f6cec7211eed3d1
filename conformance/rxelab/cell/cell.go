package cell

import (
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Role is the role of gorxe in a cell.
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
	Suite     string // Debian release of the kernel
	Workload  Workload
	Role      Role
	Family    Family
	Condition Condition
}

// ID returns the name of the cell. It is unique in a matrix and, except for its slashes, usable
// as a file name.
func (c Cell) ID() string {
	return strings.Join([]string{c.Suite, Slug(c.Condition.String()), Slug(c.Workload.Tool.Name),
		Slug(c.Workload.Params.String()), "gorxe-" + c.Role.String(), c.Family.String()}, "/")
}

// Time limits for a slow and busy machine: a fixed part, and a part for every packet. The part for
// every packet is larger under loss: a lost last packet costs a timeout of 67 ms. It is largest if
// rxe reads: rxe detects a missing response only by its timer, and then requests the whole rest of
// the READ again.
const (
	TimeoutBase    = 40 * time.Second
	PacketClean    = 6 * time.Millisecond
	PacketImpaired = 10 * time.Millisecond
	PacketReread   = 50 * time.Millisecond
)

// Timeout returns the time limit of a run. Every run needs one, because the stock tools retry
// forever.
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

// StartTime returns the part of the time limit in which programs must start. Python starts slowly.
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

// Link holds the names of a lane that are used in the command lines of a cell.
type Link struct {
	Rxe, Gorxe End
	Dead       map[Family]netip.Addr // addresses of a host that gorxe sends to and that does not exist
}

// End is one end of a lane's link.
type End struct {
	Device string         // RDMA device or network interface
	GID    map[Family]int // GID index
	Addr   map[Family]netip.Addr
}

// Paths in the guest: gorxe, gorxe's end of the operations, the Python end with its table of
// operations, and the benchmark.
const (
	GorxePath  = "/run/rxelab/gorxe"
	VerbsPath  = "/run/rxelab/verbs"
	ScriptPath = "/run/rxelab/verbs_peer.py"
	OpsPath    = "/run/rxelab/ops.json"
	BenchPath  = "/run/rxelab/bench"
)

// firstPort and lastPort bound the TCP ports of cells (lastPort is exclusive), below the range
// that Linux uses for clients.
const firstPort, lastPort = 20000, 32000

// Port returns the n-th port. Each cell uses a different one, because a closed connection
// occupies its port for a minute (TIME-WAIT).
func Port(n int) int { return firstPort + n%(lastPort-firstPort) }

// Commands returns the command lines of the unmodified program and of gorxe, nil for an end that
// does not take part.
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

// stock returns the command line of the unmodified tool. host is empty for the server.
func (c Cell) stock(e End, port int, host string) []string {
	return c.arguments([]string{c.Workload.Tool.program()}, e, port, host)
}

// gorxe returns the command line of gorxe's end.
func (c Cell) gorxe(e End, port int, host string) []string {
	t := c.Workload.Tool
	if t.UnderRun {
		argv := append([]string{GorxePath},
			strings.Fields(strings.ReplaceAll(runPrefix, "{self}", e.Addr[c.Family].String()))...)
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

// foreignGIDs returns the flags that make gorxe accept the peer's GID if the exchange uses IPv4
// and RDMA uses IPv6.
func (c Cell) foreignGIDs(peer End) []string {
	t := c.Workload.Tool
	if c.Family != IPv6 || t.Gorxe == nil || t.CM || t.IPv6TCP && c.Role == Server {
		return nil
	}
	return []string{"--foreign-gids", peer.Addr[IPv6].String()}
}

// host returns the address of the server for the client, for the TCP exchange or the connection
// manager.
func (c Cell) host(server End) string {
	f := IPv4
	if t := c.Workload.Tool; c.Family == IPv6 && (t.CM || c.Role == Server && t.IPv6TCP && !t.UnderRun) {
		f = IPv6
	}
	return server.Addr[f].String()
}
