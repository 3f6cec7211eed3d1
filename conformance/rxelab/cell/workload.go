package cell

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Tool is a program of rdma-core or perftest and its counterpart in gorxe; both take the same flags.
type Tool struct {
	Name     string   // the unmodified program, with flags that make it another test
	Program  string   // the program; empty: Name
	Release  string   // the Debian release that the program is of; empty: what the host has
	Native   bool     // without a Release, the program is of the kernel's
	Gorxe    []string // gorxe's command; nil: the other end is rxelab-verbs
	UnderRun bool     // gorxe's end is the unmodified program too, under gorxe run
	Suites   []string // the kernels that have what the tool does; nil: all
	GIDFlag  string   // chooses the GID index
	Fixed    []string // flags of every run
	Kind     Kind
	Runs     []Params // what it is run with; nil: what its kind is run with
	Reads    bool     // the client sends READ requests
	IPv6TCP  bool     // the program's client can reach its server over IPv6; otherwise only RDMA uses IPv6
	CM       bool     // the connection manager connects the ends, not TCP
	Talk     *Talk    // command lines and output of a tool of rdma_cm; nil: those that all others have
	Loses    bool     // nobody sends again what the network loses
	OneWay   bool     // the client is content with having sent
	Fragile  bool     // rxe cannot make good every loss
	Still    bool     // it runs on an undisturbed network only
	Few      bool     // it runs on an undisturbed network and with few packets lost
	Unsized  bool     // there is one message size, and no flag for it
	TooEarly string   // what a client prints that has come before its server listened; empty: none may

	IPv6Flag   string   // of runs over IPv6
	IPv6Suites []string // the kernels on which it runs over IPv6; nil: all
}

// program is the file to execute.
func (t *Tool) program() string { return cmp.Or(t.Program, t.Name) }

// runs lists what the tool is run with.
func (t *Tool) runs() []Params {
	if t.Runs != nil {
		return t.Runs
	}
	return parameters[t.Kind]
}

// Kind tells tools apart by what they print.
type Kind uint8

// The kinds of tools.
const (
	Pingpong Kind = iota
	Bandwidth
	Latency
	Operation  // of package verbspeer
	Connection // of rdma_cm
)

// coreTools are the tools of [Core].
var coreTools = []Tool{
	{Name: "ibv_rc_pingpong", Gorxe: []string{"pingpong", "rc"}, GIDFlag: "-g", Fixed: []string{"-c"}, Kind: Pingpong, IPv6TCP: true},
	{Name: "ib_write_bw", Gorxe: []string{"perf", "write_bw"}, GIDFlag: "-x", Fixed: []string{"-F"}, Kind: Bandwidth},
	{Name: "ib_read_bw", Gorxe: []string{"perf", "read_bw"}, GIDFlag: "-x", Fixed: []string{"-F"}, Kind: Bandwidth, Reads: true},
	{Name: "ib_send_bw", Gorxe: []string{"perf", "send_bw"}, GIDFlag: "-x", Fixed: []string{"-F"}, Kind: Bandwidth},
	{Name: "ib_write_lat", Gorxe: []string{"perf", "write_lat"}, GIDFlag: "-x", Fixed: []string{"-F"}, Kind: Latency},
	{Name: "ib_read_lat", Gorxe: []string{"perf", "read_lat"}, GIDFlag: "-x", Fixed: []string{"-F"}, Kind: Latency, Reads: true},
	{Name: "ib_send_lat", Gorxe: []string{"perf", "send_lat"}, GIDFlag: "-x", Fixed: []string{"-F"}, Kind: Latency},
}

// Params are the parameters of a run, the same on both ends.
type Params struct {
	Size  int  // bytes per message; with All not used
	All   bool // every power of two from 2 to 2^23
	MTU   int  // path MTU in bytes; 0: what the ports have
	QPs   int  // 0: one
	Conns int  // connections of rdma_cm; 0: one
	Both  bool // traffic in both directions at once
	Outs  int  // READs and atomics in flight; 0: what the devices allow
	Iters int  // messages of each size and queue pair
	Alone bool // many queue pairs that repeat much at once: they leave other lanes no processor
}

// parameters lists what each kind of tool is run with. Iterations are few: an emulated kernel moves some 20 MB/s.
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
	portMTU  = 4096 // what both ends find on interfaces with an MTU of 9000
)

// Sizes are the message sizes of the run, in the order in which the tools take them.
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

// packets estimates how many data packets the run needs when nothing is lost.
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

// Flags are the parameters as every tool takes them.
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

// String names the parameters as in the report: "65536 -q 4", "1 -m 256", "-a".
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

// Packets counts those of the run: all with data, at least.
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

// over reports whether the tool can run over a family on a kernel.
func (t *Tool) over(suite string, f Family) bool {
	return f == IPv4 || t.IPv6Suites == nil || slices.Contains(t.IPv6Suites, suite)
}

// Release is the Debian release whose programs a cell needs; empty: the host's.
func (c Cell) Release() string {
	if t := c.Workload.Tool; t.Release != "" || !t.Native {
		return t.Release
	}
	return c.Suite
}

// on reports whether a kernel has what the tool does.
func (t *Tool) on(suite string) bool { return t.Suites == nil || slices.Contains(t.Suites, suite) }

// Survives reports whether the tool can end well under a condition. Where nobody sends again, a lost packet is waited for in
// vain, and one that comes twice is another message; single packets may overtake each other.
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
