package cell

import "fmt"

// Group is a part of the matrix with a separate report.
type Group string

// The groups.
const (
	Core     Group = "core"     // SEND, WRITE and READ over reliable connections
	Verbs    Group = "verbs"    // the other services and operations
	CM       Group = "cm"       // connections made through rdma_cm
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
		"A cell is one test of an unmodified tool against gorxe, or of [verbs_peer.py](../conformance/rxelab/verbspeer/verbs_peer.py), which\n" +
			"uses rdma-core's Python bindings to test what no tool tests. A cell passes if both ends complete the test and report success, the\n" +
			"pingpongs (`-c`) and verbs_peer.py find no wrong data, and every captured RoCEv2 packet of both ends has the right ICRC.\n\n" +
			"UC and UD do not retransmit. Their tools run without loss; tests of single packets also run with reordering. `ib_write_bw -c UC`\n" +
			"ends in every condition. Tests of requests that the other end must refuse (`-refused`) run where the refusal arrives. FLUSH and\n" +
			"ATOMIC WRITE need Linux 6.2. They run without loss, because rxe retransmits them with address 0 and does not answer a\n" +
			"retransmitted FLUSH. perftest sends inline only on RNICs that it knows: with `-I`, only gorxe sends inline.\n\n"},
	CM: {cmTools, "Interoperation with Linux rdma_rxe: connections of rdma_cm", "docs/interop-cm.md",
		"A cell is one test of an unmodified tool against gorxe: a tool of rdma-core's librdmacm, or perftest with `-R`, from the kernel's\n" +
			"Debian release. Exception: \"cmtime\" is bookworm's on both kernels; trixie's cmtime, which synchronizes over an IPv4 TCP connection,\n" +
			"is called \"cmtime, in step\". A cell passes if both ends complete the test and report success, a complete capture has at least the\n" +
			"packets that the test needs, and every captured RoCEv2 packet of both ends has the right ICRC.\n\n" +
			"No listener: the server listens on another port; the client must be refused and the server must continue. Dead host: if gorxe is\n" +
			"the server, it is killed before the client starts; if gorxe is the client, no host has the server's address. No cell has loss: a\n" +
			"program that ends sends DREQ once, and a peer that misses it waits forever.\n\n"},
	Alone: {daemonTools, "Interoperation with Linux rdma_rxe: clients of gorxe daemon", "docs/interop-daemon.md",
		"A cell is one test of an unmodified client, from the kernel's Debian release, against a host that runs `gorxe daemon` with its\n" +
			"defaults and nothing else. A cell passes if the client completes the test and reports success, the daemon continues, a complete\n" +
			"capture has at least the packets that the test needs, and every captured RoCEv2 packet of both ends has the right ICRC.\n\n"},
	Links: {linkTools(), "Interoperation with Linux rdma_rxe: links raw and xdp", "docs/interop-links.md",
		"A cell is one test of an unmodified tool against gorxe with `--link raw` (AF_PACKET) or `--link xdp` (AF_XDP), over a veth\n" +
			"pair in the virtual machine. A cell passes if both ends complete the test and report success, `ibv_rc_pingpong` finds no\n" +
			"wrong data (`-c`), and every captured RoCEv2 packet of both ends has the right ICRC. xdp runs on Linux 6.12 only: with\n" +
			"Linux 6.1, veth passes no frame longer than a page to xdp, which excludes path MTU 4096.\n\n"},
	Programs: {programTools(), "Interoperation with Linux rdma_rxe: programs under gorxe run",
		"docs/interop-programs.md",
		"A cell is one test of an unmodified program at both ends. One end uses rxe, the other end uses gorxe, under\n" +
			"`gorxe run`. Both ends have the programs of the kernel's Debian release; the table below names them.\n" +
			"A cell passes if both ends complete the test and report success, the tools that check the data\n" +
			"(pingpongs with `-c`, verbs_peer.py) find no wrong data, and every captured RoCEv2 packet of both ends\n" +
			"has the right ICRC. If the program must be refused (`-refused`, no listener, dead host), the cell\n" +
			"passes if the program reports the right error.\n\n" +
			"UC and UD do not retransmit, and rdma_cm programs wait forever for a lost DREQ, so they run without\n" +
			"loss; `ib_write_bw -c UC` ends in every condition. FLUSH and ATOMIC WRITE need Linux 6.2. They run\n" +
			"without loss, because rxe retransmits them with address 0.\n\n"},
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
