package cell

import "fmt"

// Group is a part of the matrix with a separate report.
type Group string

// The groups.
const (
	Core     Group = "core"     // SEND, WRITE and READ over reliable connections
	Verbs    Group = "verbs"    // the other services and operations
	CM       Group = "cm"       // connections made by rdma_cm
	Alone    Group = "daemon"   // clients of a host that runs only gorxe daemon
	Links    Group = "links"    // the tools of Core, with gorxe's other links
	Programs Group = "programs" // the tools of Core, Verbs and CM, as unmodified programs under gorxe run
)

// groups maps each group to its tools and its report.
var groups = map[Group]struct {
	tools              []Tool
	title, page, intro string
}{
	Core: {coreTools, "Interoperation with Linux rdma_rxe", "docs/interop.md",
		"A cell is one test of an unmodified tool against gorxe: a tool with its parameters, the role of gorxe (client or server), the\n" +
			"IP version and the condition. A cell passes if both ends complete the test and report success, `ibv_rc_pingpong` finds no\n" +
			"wrong data (`-c`), and every captured RoCEv2 packet of both ends has the right ICRC. The first parameter is the message\n" +
			"size in bytes; `-a` tests every power of two from 2 to 8388608.\n\n"},
	Verbs: {verbsTools, "Interoperation with Linux rdma_rxe: other services and operations", "docs/interop-verbs.md",
		"Every cell is one run against gorxe of an unmodified tool or of [verbs_peer.py](../conformance/rxelab/verbspeer/verbs_peer.py), which\n" +
			"does what no tool does with rdma-core's own Python bindings. It passed when both ends reported success and the whole run, the\n" +
			"pingpongs (`-c`) and verbs_peer.py validated the data, and every captured RoCEv2 packet, of either end, carried the right ICRC.\n\n" +
			"UC and UD send nothing again: their tools run where nothing is lost, and single packets also where packets overtake each other;\n" +
			"`ib_write_bw -c UC` ends whatever happens. What the other end must refuse (`-refused`) runs where the refusal arrives. FLUSH and\n" +
			"ATOMIC WRITE came with Linux 6.2, and run where nothing is lost: rxe repeats them with address 0 and answers no FLUSH twice. Without an RNIC that it knows, perftest itself sends nothing inline: with `-I` gorxe does.\n\n"},
	CM: {cmTools, "Interoperation with Linux rdma_rxe: connections of rdma_cm", "docs/interop-cm.md",
		"Every cell is one run against gorxe of an unmodified tool of rdma-core's librdmacm, or of perftest with `-R`, each of the Debian release\n" +
			"of the kernel. Only cmtime is bookworm's on both; trixie's, which keeps step over a TCP connection that is IPv4 only, is called\n" +
			"cmtime, in step. A cell passed when both ends reported success and the whole run, as many packets were captured as that has, and every captured RoCEv2 packet, of either end, carried the right ICRC.\n\n" +
			"No listener: the client has to be refused, and the server, which listens on another port, has to go on. Dead host: with gorxe as the\n" +
			"server, it was killed before the client began; with gorxe as the client, nobody has the address. No run has loss: a program that ends\n" +
			"sends DREQ once, and whoever misses that waits for ever.\n\n"},
	Alone: {daemonTools, "Interoperation with Linux rdma_rxe: clients of gorxe daemon", "docs/interop-daemon.md",
		"Every cell is one run of an unmodified client, of the Debian release of the kernel, against a host that runs `gorxe daemon` with its\n" +
			"defaults and nothing else. It passed when the client reported success and the whole run, the daemon went on, as many packets were\n" +
			"captured as the run has, and every captured RoCEv2 packet, of either end, carried the right ICRC.\n\n"},
	Links: {linkTools(), "Interoperation with Linux rdma_rxe: links raw and xdp", "docs/interop-links.md",
		"A cell is one test of an unmodified tool against gorxe with `--link raw` (AF_PACKET) or `--link xdp` (AF_XDP), over a veth\n" +
			"pair in the virtual machine. A cell passes if both ends complete the test and report success, `ibv_rc_pingpong` finds no\n" +
			"wrong data (`-c`), and every captured RoCEv2 packet of both ends has the right ICRC. xdp runs on Linux 6.12 only: with\n" +
			"Linux 6.1, veth passes no frame longer than a page to xdp, which excludes path MTU 4096.\n\n"},
	Programs: {programTools(), "Interoperation with Linux rdma_rxe: programs under gorxe run",
		"docs/interop-programs.md",
		"A cell is one run of an unmodified program at both ends: one end uses rxe, the other one gorxe, by\n" +
			"`gorxe run`. Both ends have the programs of the kernel's Debian release, where that is named below.\n" +
			"A cell passed when both ends reported success and all iterations, the tools that check the data\n" +
			"(pingpongs with `-c`, verbs_peer.py) found no error, and every captured RoCEv2 packet, of either\n" +
			"end, carried the right ICRC. Where the program is to be refused (`-refused`, no listener, dead\n" +
			"host), it passed when the program reported the right error.\n\n" +
			"UC and UD send nothing again, and programs of rdma_cm wait for ever for a DREQ that is lost, so they\n" +
			"run without loss; `ib_write_bw -c UC` ends whatever is lost. FLUSH and ATOMIC WRITE came with Linux\n" +
			"6.2; rxe repeats them with address 0, so they run without loss as well.\n\n"},
}

// Check returns an error for a group that does not exist.
func (g Group) Check() error {
	if _, ok := groups[g]; !ok {
		return fmt.Errorf("group %q: want %s, %s, %s, %s, %s or %s", g, Core, Verbs, CM, Alone, Links, Programs)
	}
	return nil
}

// Title returns the heading of the group's report.
func (g Group) Title() string { return groups[g].title }

// Intro returns the introduction of the group's report.
func (g Group) Intro() string { return groups[g].intro }

// Page returns the path of the group's report in the repository.
func (g Group) Page() string { return groups[g].page }

// Tools returns the tools of the group.
func (g Group) Tools() []Tool { return groups[g].tools }

// Operations reports whether the tools include operations of package verbspeer, or services
// without retransmission.
func (g Group) Operations() bool { return g == Verbs || g == Programs }

// Workloads returns the group's tools with all their parameters.
func (g Group) Workloads() []Workload {
	var w []Workload
	tools := g.Tools()
	for i := range tools {
		for _, p := range tools[i].runs() {
			w = append(w, Workload{&tools[i], p})
		}
	}
	return w
}
