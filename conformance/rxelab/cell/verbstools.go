package cell

// Parameters of the tools of [Verbs]: fewer runs than in Core, because sizes and path MTUs behave
// alike.
var (
	shortMessages = []Params{{Size: 1, MTU: 1024, Iters: 100}, {Size: 4096, MTU: 4096, Iters: 100}}
	longMessages  = []Params{{Size: 4096, MTU: 256, Iters: 30}, {Size: 8193, MTU: 1024, Iters: 30},
		{Size: 65536, MTU: 4096, Iters: 20}}
	flood = []Params{{Size: 2, Iters: 100}, {Size: 1025, Iters: 100}, {Size: 65536, Iters: 20},
		{Size: 65536, QPs: 4, Iters: 10}, {Size: 65536, Both: true, Iters: 10}, {All: true, Iters: 5}}
	turns = []Params{{Size: 2, Iters: 100}, {Size: 1025, Iters: 100}, {Size: 65536, Iters: 20},
		{All: true, Iters: 5}}
	atomicFlood = []Params{{Size: 8, Iters: 200}, {Size: 8, Outs: 1, Iters: 100}, {Size: 8, QPs: 4, Iters: 50},
		{Size: 8, Both: true, Iters: 100}}
	atomicTurns   = []Params{{Size: 8, Iters: 200}, {Size: 8, Outs: 1, Iters: 100}}
	datagramTurns = []Params{{Size: 1, Iters: 100}, {Size: 1023, Iters: 100}, {Size: 4096, Iters: 100}}
	datagrams     = []Params{{Size: 2, Iters: 100}, {Size: 1023, Iters: 100}, {Size: 4096, Iters: 100}}
	datagramFlood = append(datagrams[:3:3], Params{Size: 4096, QPs: 4, Iters: 50},
		Params{Size: 4096, Both: true, Iters: 50})
	sharedTurns = []Params{{Size: 4096, MTU: 1024, Iters: 300}, {Size: 1, MTU: 256, QPs: 3, Iters: 100},
		{Size: 65536, MTU: 4096, Iters: 64, Alone: true}}
	writes      = []Params{{Size: 4000, MTU: 1024, Iters: 20}, {Size: 65536, MTU: 4096, Iters: 10}}
	immediates  = []Params{{Size: 1000, MTU: 1024, Iters: 10}, {Size: 65536, MTU: 4096, Iters: 10}}
	inlineFlood = []Params{{Size: 2, Iters: 100}, {Size: 256, Iters: 100}, {Size: 257, Iters: 100},
		{Size: 256, Both: true, Iters: 100}}
	inlineTurns = inlineFlood[:3]
)

// perftest returns a tool for one of perftest's programs with flags.
func perftest(name, gorxe string, kind Kind, flags ...string) Tool {
	t := Tool{
		Name: name, Program: name, Gorxe: []string{"perf", gorxe}, GIDFlag: "-x",
		Fixed: append([]string{"-F"}, flags...), Kind: kind,
	}
	for _, f := range flags {
		t.Name += " " + f
	}
	return t
}

// lossy marks a tool of a service without retransmission.
func lossy(t Tool) Tool {
	t.Loses = true
	return t
}

// fragile marks an operation that rxe does not always retransmit, or answer again, correctly.
func fragile(t Tool) Tool {
	t.Fragile = true
	return t
}

// content marks a tool whose client does not wait for the receiver.
func content(t Tool) Tool {
	t.OneWay = true
	return t
}

// atomics sets the runs of a tool of atomics, which have no size to choose.
func atomics(runs []Params, t Tool) Tool {
	t.Runs, t.Unsized = runs, true
	return t
}

// with sets the runs of a tool.
func with(runs []Params, t Tool) Tool {
	t.Runs = runs
	return t
}

// of sets the Debian release of a tool.
func of(release string, t Tool) Tool {
	t.Release = release
	return t
}

// pingpong returns a tool for one of rdma-core's pingpong programs.
func pingpong(kind string, runs []Params) Tool {
	return Tool{
		Name: "ibv_" + kind + "_pingpong", Gorxe: []string{"pingpong", kind}, GIDFlag: "-g", Fixed: []string{"-c"},
		Kind: Pingpong, Runs: runs, IPv6TCP: true,
	}
}

// operation returns a tool for an operation of package verbspeer.
func operation(name string, suites []string, runs []Params) Tool {
	return Tool{
		Name: "verbs_peer " + name, Program: ScriptPath, Release: NewVerbs, Suites: suites,
		GIDFlag: "-g", Fixed: []string{"-op", name}, Kind: Operation, Runs: runs, IPv6TCP: true,
	}
}

// refused returns an operation whose last step the server must refuse. It runs without loss,
// because the refusal is not retransmitted.
func refused(name string, suites []string, size int) Tool {
	t := operation(name, suites, []Params{{Size: size, MTU: 4096, Iters: 5}})
	t.Name += " -refused"
	t.Fixed = append(t.Fixed, "-refused")
	return lossy(t)
}

// NewVerbs is the first Debian release whose Python bindings have FLUSH, and whose kernel has
// FLUSH and ATOMIC WRITE.
const NewVerbs = "trixie"

var since62 = []string{"trixie"}

// newPerftest is the first Debian release whose perftest has --write_with_imm.
const newPerftest = "trixie"

// verbsTools are the tools of [Verbs].
var verbsTools = []Tool{
	lossy(pingpong("uc", append(shortMessages, longMessages...))),
	lossy(pingpong("ud", datagramTurns)),
	pingpong("srq", sharedTurns),
	with(flood, content(lossy(perftest("ib_write_bw", "write_bw", Bandwidth, "-c", "UC")))),
	with(flood, lossy(perftest("ib_send_bw", "send_bw", Bandwidth, "-c", "UC"))),
	with(turns, lossy(perftest("ib_write_lat", "write_lat", Latency, "-c", "UC"))),
	with(turns, lossy(perftest("ib_send_lat", "send_lat", Latency, "-c", "UC"))),
	with(datagramFlood, lossy(perftest("ib_send_bw", "send_bw", Bandwidth, "-c", "UD"))),
	with(datagrams, lossy(perftest("ib_send_lat", "send_lat", Latency, "-c", "UD"))),
	atomics(atomicFlood, perftest("ib_atomic_bw", "atomic_bw", Bandwidth, "-A", "FETCH_AND_ADD")),
	atomics(atomicFlood, perftest("ib_atomic_bw", "atomic_bw", Bandwidth, "-A", "CMP_AND_SWAP")),
	atomics(atomicTurns, perftest("ib_atomic_lat", "atomic_lat", Latency, "-A", "FETCH_AND_ADD")),
	atomics(atomicTurns, perftest("ib_atomic_lat", "atomic_lat", Latency, "-A", "CMP_AND_SWAP")),
	with(inlineFlood, perftest("ib_write_bw", "write_bw", Bandwidth, "-I", "256")),
	with(inlineFlood, perftest("ib_send_bw", "send_bw", Bandwidth, "-I", "256")),
	with(inlineTurns, perftest("ib_write_lat", "write_lat", Latency, "-I", "256")),
	with(inlineTurns, perftest("ib_send_lat", "send_lat", Latency, "-I", "256")),
	with(flood, of(newPerftest, perftest("ib_write_bw", "write_bw", Bandwidth, "--write_with_imm"))),
	with(turns, of(newPerftest, perftest("ib_write_lat", "write_lat", Latency, "--write_with_imm"))),
	fragile(operation("flush", since62, writes)),
	fragile(operation("atomic_write", since62, []Params{{Size: 8, MTU: 1024, Iters: 50}})),
	operation("window1", nil, writes),
	operation("window2", nil, writes),
	operation("send_inv", nil, writes),
	operation("local_inv", nil, writes),
	operation("send_inv_data", nil, writes),
	operation("send_imm", nil, immediates),
	lossy(operation("uc_send_imm", nil, immediates)),
	lossy(operation("uc_write_imm", nil, immediates)),
	lossy(operation("ud_send_imm", nil, []Params{{Size: 1, MTU: 4096, Iters: 10}, {Size: 4096, MTU: 4096, Iters: 10}})),
	refused("flush", since62, 4000),
	refused("atomic_write", since62, 8),
	refused("window1", nil, 4000),
	refused("window2", nil, 4000),
	refused("send_inv", nil, 4000),
	refused("local_inv", nil, 4000),
	refused("send_inv_data", nil, 4000),
}
