package archtest

// module is the module path.
const module = "github.com/gorxe/gorxe"

// A place is a folder of the module with its import rule. A folder without an entry belongs to
// the entry with the longest matching prefix.
type place struct {
	dir   string // relative to the module root
	floor int    // imports only places with a lower floor
	pure  bool   // no clock, goroutine, lock, randomness or I/O
	// only replaces the floor rule: it lists the places that this place may import. Only floors
	// from 7 up and places that list it may import this place.
	only []string
}

// floors defines the architecture; see docs/architecture.md.
var floors = []place{
	{dir: "internal/ordered", floor: -1, pure: true},
	{dir: "internal/prp", floor: -1, pure: true},
	{dir: "internal/idmap", floor: -1, pure: true},
	{dir: "internal/quota", floor: -1},
	{dir: "internal/uapi", floor: -1, pure: true},
	{dir: "internal/pace", floor: -2},
	{dir: "internal/histogram", floor: -1},
	{dir: "internal/host/textfile", floor: -2},
	{dir: "internal/host/xsk", floor: -1},
	{dir: "internal/trap/softlimit", floor: -1},
	{dir: "internal/trap/keeper", floor: -1},
	{dir: "internal/trap", floor: 0},
	{dir: "bth", floor: 0, pure: true},
	{dir: "bth/layers", floor: 1},
	{dir: "bth/gopacket/layers", floor: 1},
	{dir: "mr", floor: 0, pure: true},
	{dir: "packet", floor: 0},
	{dir: "packet/encap", floor: 0},
	{dir: "packet/pipe", floor: 1},
	{dir: "packet/fault", floor: 1},
	{dir: "packet/socket", floor: 1},
	{dir: "packet/xdp", floor: 2},
	{dir: "packet/links", floor: 3},
	{dir: "packet/linktest", floor: 7},
	{dir: "internal/host/route", floor: -1},
	{dir: "qp", floor: 1, pure: true},
	{dir: "internal/host/hostmem", floor: 1},
	{dir: "internal/host/ringfile", floor: -1},
	{dir: "internal/host/epoll", floor: -2},
	{dir: "internal/host/hangup", floor: -1},
	{dir: "internal/host/pipetest", floor: -1},
	{dir: "internal/host/sysmon", floor: -1},
	{dir: "internal/host/capability", floor: -1},
	{dir: "internal/host/netns", floor: -1},
	{dir: "internal/host/ownedtemp", floor: -1},
	{dir: "internal/host/procmem", floor: 1},
	{dir: "transport", floor: 2, pure: true},
	{dir: "internal/rings", floor: 2, pure: true},
	{dir: "cm/mad", floor: 2, pure: true},
	{dir: "cm", floor: 3, pure: true},
	{dir: "internal/host/netdev", floor: 0},
	{dir: "internal/nic/admit", floor: -1},
	{dir: "internal/nic/signal", floor: -1},
	{dir: "internal/nic/crossing", floor: 1},
	{dir: "internal/nic", floor: 4},
	{dir: "internal/nic/gsi", floor: 5},
	{dir: "verbs", floor: 6},
	{dir: "verbs/verbstest", floor: 8},
	{dir: "internal/serve/rping", floor: 7},
	{dir: "internal/serve/respond", floor: 7},
	{dir: "tools/bench", floor: 6},
	{dir: "tools/bench/cmd", floor: 7},
	{dir: "internal/serve/region", floor: 7},
	{dir: "internal/serve/uverbs", floor: 7},
	{dir: "internal/serve/ucma", floor: 7},
	{dir: "internal/serve/broker", floor: 7},
	{dir: "internal/record", floor: 7},
	{dir: "internal/serve/daemon", floor: 8},
	{dir: "internal/serve/programs", floor: 8},
	{dir: "conformance/rxelab", floor: 7},
	{dir: "conformance/leaks", floor: 6},
	{dir: "conformance/self", floor: 8},
	{dir: "internal/cli/app", floor: 9},
	{dir: "internal/cli/clitest", floor: 10},
	{dir: "internal/cli/session", floor: 10},
	{dir: "internal/cli/sources", floor: 10},
	// All families of commands have the same floor, so none imports another.
	{dir: "internal/cli/cmtool", floor: 11},
	{dir: "internal/cli/conformcmd", floor: 11},
	{dir: "internal/cli/daemoncmd", floor: 11},
	{dir: "internal/cli/demo", floor: 11},
	{dir: "internal/cli/devinfo", floor: 11},
	{dir: "internal/cli/doctor", floor: 11},
	{dir: "internal/cli/perf", floor: 11},
	{dir: "internal/cli/pingpong", floor: 11},
	{dir: "internal/cli/regioncmd", floor: 11},
	{dir: "internal/cli/rpingcmd", floor: 11},
	{dir: "internal/cli/runcmd", floor: 11},
	{dir: "internal/cli/tracecmd", floor: 11},
	{dir: "internal/cli/topcmd", floor: 11},
	{dir: "internal/cli/extcapcmd", floor: 11},
	{dir: "internal/cli", floor: 12},
	{dir: "tools/hostile", floor: 9},
	{dir: "tools/hostile/cmd", floor: 10},
	{dir: "cmd", floor: 13},
	{dir: "trace/capture", only: []string{}},
	{dir: "trace/ulp", only: []string{}},
	{dir: "trace/tunnel", only: []string{"trace/capture"}},
	{dir: "trace/fabric", only: []string{"trace/tunnel"}},
	{dir: "trace/iwarp", only: []string{"trace/fabric"}},
	{dir: "trace", only: []string{"trace/capture", "trace/tunnel", "trace/fabric", "trace/iwarp", "trace/ulp", "bth",
		"cm/mad", "internal/histogram"}},
	{dir: "internal/sim/scenario", pure: true, only: []string{"bth", "qp", "transport"}},
	{dir: "internal/sim/world", pure: true,
		only: []string{"internal/sim/scenario", "bth", "packet", "qp", "transport"}},
	{dir: "internal/sim/model", pure: true, only: []string{"internal/sim/scenario", "internal/sim/world", "bth", "mr",
		"packet", "qp", "transport", "cm", "cm/mad"}},
	{dir: "internal/sim", pure: true,
		only: []string{"internal/sim/scenario", "internal/sim/world", "internal/sim/model", "qp", "transport"}},
	{dir: "internal/sim/capture", only: []string{"internal/sim", "internal/sim/scenario"}},
	{dir: "internal/sim/cmd", floor: 9},
	{dir: "conformance/wire", only: []string{"bth"}},
	{dir: "conformance/cmsg", only: []string{}},
	{dir: "conformance", only: []string{"bth", "conformance/wire", "conformance/cmsg"}},
	{dir: "conformance/device", only: []string{"bth", "conformance", "conformance/wire", "internal/serve/exchange"}},
	{dir: "conformance/cases", only: []string{"bth", "conformance", "conformance/cmsg", "conformance/wire"}},
	{dir: "conformance/report", only: []string{"bth", "conformance", "conformance/wire", "trace", "trace/capture"}},
	{dir: "internal/rawcm", only: []string{"bth", "cm/mad", "packet", "qp", "transport"}},
	{dir: "internal/serve/exchange", only: []string{}},
	{dir: "internal/archtest", only: []string{}},
	{dir: "tools/branches", only: []string{}},
	{dir: "tools/columns", only: []string{}},
	{dir: "tools/mutants", only: []string{}},
	{dir: "tools/tracebench", only: []string{}},
	{dir: "tools/tracegen", only: []string{"bth"}},
	{dir: "internal/browser", only: []string{"internal/race"}},
	{dir: "internal/golden", only: []string{}},
	{dir: "internal/race", only: []string{}},
	{dir: "internal/rxetraffic", only: []string{}},
	{dir: "internal/testnet", only: []string{}},
}

// impure are the imports that a pure package must not have. A trailing slash matches everything
// below.
var impure = []string{
	"time", "os", "os/", "io/fs", "io/ioutil", "log", "log/", "context", "syscall", "net", "net/",
	"sync", "sync/", "math/rand", "math/rand/", "crypto/rand", "golang.org/x/sys/", "golang.org/x/net/", "runtime",
}

// allowedImpure are exceptions from impure, by folder. netip has only value types.
var allowedImpure = map[string][]string{
	"*":                     {"net/netip"},
	"mr":                    {"sync/atomic"},
	"bth":                   {"golang.org/x/sys/cpu"}, // CPU features do not change
	"internal/idmap":        {"sync/atomic"},
	"internal/rings":        {"sync/atomic"},
	"internal/sim/scenario": {"math/rand/v2"}, // seeded
	"internal/sim/world":    {"math/rand/v2"}, // seeded
}

// maxLines is the maximum number of lines of a source file, except tests.
const maxLines = 400
