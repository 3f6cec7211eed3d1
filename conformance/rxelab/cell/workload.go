package cell

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Tool is a program of rdma-core or perftest and its counterpart in gorxe. Both take the same
// flags.
type Tool struct {
	Name     string   // name of the unmodified program, with the flags that make it another test
	Program  string   // file of the program; "": Name
	Release  string   // Debian release of the program; "": the host's program
	Native   bool     // without a Release, use the program of the kernel's release
	Gorxe    []string // gorxe's command; nil: gorxe's end is rxelab-verbs
	UnderRun bool     // gorxe's end is the unmodified program too, under gorxe run
	Suites   []string // kernels that support the tool; nil: all
	GIDFlag  string   // flag that selects the GID index
	Fixed    []string // flags of every run
	Kind     Kind
	Runs     []Params // parameters of its runs; nil: those of its kind
	Reads    bool     // the client sends READ requests
	// IPv6TCP is set if the TCP connection of the tool can use IPv6. Otherwise only RDMA uses IPv6.
	IPv6TCP bool
	CM      bool // the connection manager connects the ends, not TCP
	// Talk has the command lines and the expected output of a tool of rdma_cm; nil: another tool.
	Talk    *CMTool
	Loses   bool // lost packets are not retransmitted
	OneWay  bool // the client does not wait for the receiver
	Fragile bool // rxe does not recover from every loss
	Still   bool // it runs only on an undisturbed network
	Few     bool // it runs only undisturbed and with 1 % loss
	Unsized bool // there is one message size, and no flag for it
	// TooEarly is the message of a client that started before its server listened; "": that must
	// not happen.
	TooEarly string

	IPv6Flag   string   // flag of runs over IPv6
	IPv6Suites []string // kernels on which it runs over IPv6; nil: all
}

// program returns the file to execute.
func (t *Tool) program() string { return cmp.Or(t.Program, t.Name) }

// runs returns the parameters of the tool's runs.
func (t *Tool) runs() []Params {
	if t.Runs != nil {
		return t.Runs
	}
	return parameters[t.Kind]
}

// Kind groups tools by their output.
type Kind uint8

// The kinds of tools.
const (
	Pingpong Kind = iota
	Bandwidth
	Latency
	Operation  // operation of package verbspeer
	Connection // tool of rdma_cm
)

// coreTools are the tools of [Core].
var coreTools = []Tool{
	{Name: "ibv_rc_pingpong", Gorxe: []string{"pingpong", "rc"}, GIDFlag: "-g", Fixed: []string{"-c"}, Kind: Pingpong,
		IPv6TCP: true},
	{Name: "ib_write_bw", Gorxe: []string{"perf", "write_bw"}, GIDFlag: "-x", Fixed: []string{"-F"}, Kind: Bandwidth},
	{Name: "ib_read_bw", Gorxe: []string{"perf", "read_bw"}, GIDFlag: "-x", Fixed: []string{"-F"}, Kind: Bandwidth,
		Reads: true},
	{Name: "ib_send_bw", Gorxe: []string{"perf", "send_bw"}, GIDFlag: "-x", Fixed: []string{"-F"}, Kind: Bandwidth},
	{Name: "ib_write_lat", Gorxe: []string{"perf", "write_lat"}, GIDFlag: "-x", Fixed: []string{"-F"}, Kind: Latency},
	{Name: "ib_read_lat", Gorxe: []string{"perf", "read_lat"}, GIDFlag: "-x", Fixed: []string{"-F"}, Kind: Latency,
		Reads: true},
	{Name: "ib_send_lat", Gorxe: []string{"perf", "send_lat"}, GIDFlag: "-x", Fixed: []string{"-F"}, Kind: Latency},
}

// Params are the parameters of a run, the same at both ends.
type Params struct {
	Size  int  // bytes per message; unused with All
	All   bool // every power of two from 2 to 2^23
	MTU   int  // path MTU in bytes; 0: the ports' maximum
	QPs   int  // number of queue pairs; 0: one
	Conns int  // number of rdma_cm connections; 0: one
	Both  bool // concurrent traffic in both directions
	Outs  int  // READs and atomics in flight; 0: the devices' maximum
	Iters int  // number of messages of each size and queue pair
	// Alone is for many queue pairs that retransmit much at the same time, which leaves no
	// processor time for other lanes.
	Alone bool
}

// parameters holds the parameters of each kind of tool. The numbers of iterations are small: an
// emulated kernel moves about 20 MB/s.
var parameters = map[Kind][]Params{
	Pingpong: {
		{Size: 1, MTU: 256, Iters: 100}, {Size: 1, MTU: 1024, Iters: 100}, {Size: 1, MTU: 4096, Iters: 100},
		{Size: 4096, MTU: 256, Iters: 30}, {Size: 4096, MTU: 1024, Iters: 50}, {Size: 4096, MTU: 4096, Iters: 100},
		{Size: 8193, MTU: 256, Iters: 20}, {Size: 8193, MTU: 1024, Iters: 30}, {Size: 8193, MTU: 4096, Iters: 50},
		{Size: 65536, MTU: 256, Iters: 5}, {Size: 65536, MTU: 1024, Iters: 10}, {Size: 65536, MTU: 4096, Iters: 20},
		{Size: 1000003, MTU: 256, Iters: 2}, {Size: 1000003, MTU: 1024, Iters: 3}, {Size: 1000003, MTU: 4096, Iters: 5},
	},
	Bandwidth: {
		{Size: 2, Iters: 100}, {Size: 1023, Iters: 100}, {Size: 1025, Iters: 100}, {Size: 65536, Iters: 20},
		{All: true, Iters: 5}, {Size: 65536, QPs: 4, Iters: 10}, {Size: 65536, Both: true, Iters: 10},
	},
	Latency: {
		{Size: 2, Iters: 100}, {Size: 1023, Iters: 100}, {Size: 1025, Iters: 100}, {Size: 65536, Iters: 20},
		{All: true, Iters: 5},
	},
}

const (
	allFirst = 2
	allLast  = 1 << 23
	// portMTU is the maximum path MTU in bytes of interfaces with an MTU of 9000.
	portMTU = 4096
)

// Sizes returns the message sizes of the run, in the order in which the tools run them.
func (p Params) Sizes() []int {
	if !p.All {
		return []int{p.Size}
	}
	var s []int
	for n := allFirst; n <= allLast; n *= 2 {
		s = append(s, n)
	}
	return s
}

func (p Params) queuePairs() int { return max(p.QPs, 1) }

// packets estimates the number of data packets of a run without loss.
func (p Params) packets(k Kind) int {
	mtu := p.MTU
	if mtu == 0 {
		mtu = portMTU
	}
	n := 0
	for _, s := range p.Sizes() {
		n += (s + mtu - 1) / mtu * p.Iters
	}
	if k != Bandwidth || p.Both {
		n *= 2
	}
	return n * p.queuePairs()
}

// Flags returns the parameters as flags of a tool.
func (p Params) Flags(t *Tool) []string {
	f := []string{"-n", strconv.Itoa(p.Iters)}
	switch {
	case p.All:
		f = append(f, "-a")
	case !t.Unsized:
		f = append(f, "-s", strconv.Itoa(p.Size))
	}
	for _, o := range []struct {
		flag  string
		value int
	}{{"-m", p.MTU}, {"-q", p.QPs}, {"-o", p.Outs}} {
		if o.value != 0 {
			f = append(f, o.flag, strconv.Itoa(o.value))
		}
	}
	if p.Both {
		f = append(f, "-b")
	}
	return f
}

// String formats the parameters as in the report: "65536 -q 4", "1 -m 256", "-a".
func (p Params) String() string {
	s := strconv.Itoa(p.Size)
	if p.All {
		s = "-a"
	}
	if p.MTU != 0 {
		s += fmt.Sprintf(" -m %d", p.MTU)
	}
	if p.QPs != 0 {
		s += fmt.Sprintf(" -q %d", p.QPs)
	}
	if p.Conns != 0 {
		s += fmt.Sprintf(" -c %d", p.Conns)
	}
	if p.Outs != 0 {
		s += fmt.Sprintf(" -o %d", p.Outs)
	}
	if p.Both {
		s += " -b"
	}
	return s
}

// Workload is a tool with parameters.
type Workload struct {
	Tool   *Tool
	Params Params
}

// single reports whether every message is one packet.
func (p Params) single() bool { return !p.All && p.Size <= cmp.Or(p.MTU, portMTU) }

// Packets returns the minimum number of data packets of the run.
func (w Workload) Packets() int {
	t := w.Tool.Talk
	switch {
	case t == nil:
		return w.Params.packets(w.Tool.Kind)
	case t.Packets == nil:
		return 0
	}
	return t.Packets(w.Params)
}

// over reports whether the tool can run over an address family on a kernel.
func (t *Tool) over(suite string, f Family) bool {
	return f == IPv4 || t.IPv6Suites == nil || slices.Contains(t.IPv6Suites, suite)
}

// Release returns the Debian release whose programs a cell needs; "": the host's programs.
func (c Cell) Release() string {
	if t := c.Workload.Tool; t.Release != "" || !t.Native {
		return t.Release
	}
	return c.Suite
}

// on reports whether a kernel supports the tool.
func (t *Tool) on(suite string) bool { return t.Suites == nil || slices.Contains(t.Suites, suite) }

// Survives reports whether the tool can succeed under a condition. Without retransmission, the
// receiver waits in vain for a lost packet and takes a duplicate for another message; messages of
// a single packet may be reordered.
func (w Workload) Survives(c Condition) bool {
	if w.Tool.Still && c.Impaired() {
		return false
	}
	if w.Tool.Few && c.Impaired() && c.Name != fewLost {
		return false
	}
	if w.Tool.Fragile && c.loses() {
		return false
	}
	return !w.Tool.Loses || !c.Impaired() || w.Tool.OneWay || c.Name == reordering && w.Params.single()
}
