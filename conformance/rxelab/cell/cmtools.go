package cell

// Parameters of the tools of [CM].
var (
	pings      = []Params{{Size: 64, Iters: 100}, {Size: 4000, Iters: 100}}
	longPings  = []Params{{Size: 65000, Iters: 100}}
	exchanges  = []Params{{Size: 100, Conns: 32, Iters: 100}, {Size: 5000, Iters: 10}}
	lookups    = []Params{{Size: 100, Iters: 10}, {Size: 1000, Conns: 4, Iters: 20}}
	once       = []Params{{Size: 16, Iters: 1}}
	hundred    = []Params{{Conns: 100}}
	managedBW  = []Params{{Size: 65536, Iters: 20}, {Size: 65536, QPs: 4, Iters: 10}}
	managedLat = []Params{{Size: 2, Iters: 100}}
	fetches    = []Params{{Size: 8, Iters: 100}}
	attempt    = []Params{{Size: 64, Iters: 1}}
)

// segments returns the number of packets of a message.
func segments(size int) int { return max(1, (size+portMTU-1)/portMTU) }

// handshake is the number of packets that establish and end a connection: REQ, REP, RTU, DREQ,
// DREP.
const handshake = 5

// pinged returns the number of packets of an rping run: for each ping two announcements and two
// replies, a READ request, and the data in both directions.
func pinged(p Params) int { return handshake + p.Iters*(5+2*segments(p.Size)) }

// exchanged returns the number of packets of all connections with messages in both directions.
func exchanged(p Params) int {
	return max(1, p.Conns) * (handshake + 2*p.Iters*segments(p.Size))
}

// stepped counts the packets of the connections of cmtime with its synchronization: one connection
// to warm up, and all connections twice.
func stepped(p Params) int { return handshake * (1 + 2*max(1, p.Conns)) }

// looked returns the number of packets of all datagram queue pairs: SIDR_REQ, SIDR_REP and the
// messages in both directions.
func looked(p Params) int { return max(1, p.Conns) * (2 + 2*p.Iters) }

// talking returns a tool of rdma_cm with the programs of the kernel's release. It runs only
// without loss: a program that ends sends DREQ once, and a peer that misses it waits forever.
func talking(name string, runs []Params, t CMTool) Tool {
	return Tool{Name: name, Native: true, CM: true, Kind: Connection, Runs: runs, Fragile: true, Talk: &t}
}

// still marks a tool that runs only on an undisturbed network.
func still(t Tool) Tool {
	t.Still = true
	return t
}

// rping returns an rping test. The client's exit status is 0 even if the server disconnects too
// early, but it prints an error.
func rping(name, flags string, runs []Params, server, client Says) Tool {
	const parameters = " -p {port} -V -C {count} -S {size}"
	return talking(name, runs, CMTool{
		Server: "rping -s -a {local}" + parameters + flags, Client: "rping -c -a {remote}" + parameters + flags,
		GorxeServer: "rping -s -a {local}" + parameters + flags,
		GorxeClient: "rping -c -a {remote}" + parameters + flags,
		ServerSays:  server, ClientSays: client, Packets: pinged,
	})
}

const pingTrouble = `wait for|(?i:error|failed|mismatch|bogus)`

// matose returns a ucmatose test. The server of ucmatose sends first and ends the connections.
// gorxe cm does the same, and serves other programs too.
func matose() Tool {
	const parameters = " -p {port} -C {count} -S {size}"
	says := Says{Must: `return status 0`, Never: `error|fail`}
	return talking("ucmatose", exchanges, CMTool{
		Server:      "ucmatose -b {local} -c {connections}" + parameters,
		Client:      "ucmatose -s {remote} -c {connections}" + parameters,
		GorxeServer: "cm -s -b {local} -n {connections}" + parameters,
		GorxeClient: "cm -c {remote} -n {connections}" + parameters,
		ServerSays:  says,
		ClientSays:  says,
		Packets:     exchanged,
	})
}

// inStep returns a test of cmtime of rdma-core 52 to 58, which synchronizes its ends over a TCP
// connection and measures twice. Its server ends by itself.
func inStep() Tool {
	const parameters = " -p {port}"
	says := Says{Must: `(?s)qp_conn +{connections}\n.*cm_conn +{connections}\n.*destroy qp `,
		Never: `event: |(?i:fail|error|unhandled)`}
	t := talking("cmtime, in step", hundred, CMTool{
		Server:      "cmtime -b {local} -c {connections}" + parameters,
		Client:      "cmtime -s {remote} -c {connections}" + parameters,
		GorxeServer: "cm -s -b {local} -n {connections} --step" + parameters,
		GorxeClient: "cm -c {remote} -n {connections} --step" + parameters,
		ServerSays:  says,
		ClientSays:  says,
		Packets:     stepped,
	})
	t.Suites, t.IPv6Suites = []string{"trixie"}, []string{}
	return still(t)
}

// UdaddyPort is the port of udaddy: its flag -p has another meaning.
const UdaddyPort = "7174"

func lookup() Tool {
	const parameters = " -C {count} -S {size}"
	says := Says{Must: `return status 0`, Never: `error|fail`}
	t := talking("udaddy", lookups, CMTool{
		Server:      "udaddy -b {local} -c {connections}" + parameters,
		Client:      "udaddy -s {remote} -c {connections}" + parameters,
		GorxeServer: "cm -s -b {local} -P udp -p " + UdaddyPort + " -n {connections}" + parameters,
		GorxeClient: "cm -c {remote} -P udp -p " + UdaddyPort + " -n {connections}" + parameters,
		ServerSays:  says,
		ClientSays:  says,
		Packets:     looked,
	})
	return still(t)
}

// managed changes a test of perftest to queue pairs that rdma_cm connects. perftest supports that
// over IPv6 since 24.01.
func managed(runs []Params, t Tool) Tool {
	t.Name += " -R"
	t.Fixed = append(t.Fixed, "-R")
	t.Runs, t.Native, t.CM, t.Still = runs, true, true, true
	t.IPv6Flag, t.IPv6Suites = "--ipv6-addr", []string{newPerftest}
	return t
}

// cmTools are the tools of [CM].
var cmTools = []Tool{
	rping("rping -v", " -v", pings,
		Says{Must: `server ping data: rdma-ping-{last}: `, Never: `(?i:error|failed)`},
		Says{Must: `ping data: rdma-ping-{last}: `, Never: pingTrouble}),
	rping("rping", "", longPings, Says{Must: `server DISCONNECT EVENT`, Never: `(?i:error|failed)`},
		Says{Never: pingTrouble}),
	still(rping("rping -q", " -q", attempt, Says{Must: `server DISCONNECT EVENT`, Never: `(?i:error|failed)`},
		Says{Never: pingTrouble})),
	matose(),
	lookup(),
	still(talking("rdma_server", once, CMTool{
		Server: "rdma_server -s {local} -p {port}", Client: "rdma_client -s {remote} -p {port}",
		GorxeServer: "cm -s -b {local} -n 1 -p {port} -C 1 -S 16",
		GorxeClient: "cm -c {remote} -n 1 -p {port} -C 1 -S 16",
		ServerSays:  Says{Must: `rdma_server: end 0`}, ClientSays: Says{Must: `rdma_client: end 0`}, Packets: exchanged,
	})),
	// bookworm's cmtime also runs on trixie's kernel, for IPv6: the TCP connection of trixie's
	// cmtime is IPv4 only.
	still(of("bookworm", talking("cmtime", hundred, CMTool{
		Server: "cmtime -b {local} -p {port}", Client: "cmtime -s {remote} -p {port} -c {connections}",
		GorxeServer: "cm -s -b {local} -n {connections} -p {port} -C 0",
		GorxeClient: "cm -c {remote} -n {connections} -p {port} -C 0",
		ServerSays:  Says{Never: `(?i:fail|error)`},
		ClientSays:  Says{Must: `disconnect +: `, Never: `event: |(?i:fail|error)`},
		Packets:     exchanged, Endless: true,
	}))),
	inStep(),
	managed(managedBW, perftest("ib_write_bw", "write_bw", Bandwidth)),
	managed(managedBW[:1], perftest("ib_read_bw", "read_bw", Bandwidth)),
	managed(managedBW[:1], perftest("ib_send_bw", "send_bw", Bandwidth)),
	atomics(fetches, managed(nil, perftest("ib_atomic_bw", "atomic_bw", Bandwidth))),
	managed(managedLat, perftest("ib_write_lat", "write_lat", Latency)),
	managed(managedLat, perftest("ib_read_lat", "read_lat", Latency)),
	managed(managedLat, perftest("ib_send_lat", "send_lat", Latency)),
	atomics(fetches, managed(nil, perftest("ib_atomic_lat", "atomic_lat", Latency))),
	still(talking("rping, no listener", attempt, CMTool{
		Client: "rping -c -a {remote} -p {port} -C 1", GorxeServer: "rping -s -a {local} -p {other}",
		GorxeClient: "rping -c -a {remote} -p {port} -C 1",
		ClientSays:  Says{Must: `RDMA_CM_EVENT_REJECTED, error 8`}, Outcome: Refused,
	})),
	still(talking("ucmatose, no listener", attempt, CMTool{
		Client: "ucmatose -s {remote} -p {port}", GorxeServer: "cm -s -b {local} -p {other}",
		GorxeClient: "cm -c {remote} -p {port}",
		ClientSays:  Says{Must: `RDMA_CM_EVENT_REJECTED, error: 8`}, Outcome: Refused,
	})),
	still(talking("udaddy, no listener", attempt, CMTool{
		Client: "udaddy -s {remote}", GorxeServer: "cm -s -b {local} -P udp -p {other}",
		GorxeClient: "cm -c {remote} -P udp -p {port}",
		ClientSays:  Says{Must: `RDMA_CM_EVENT_UNREACHABLE, error: 1\n`}, Outcome: Refused,
	})),
	still(talking("rping, dead host", attempt, CMTool{
		Client: "rping -c -a {remote} -p {port} -C 1", GorxeServer: "rping -s -a {local} -p {port}",
		GorxeClient: "rping -c -a {remote} -p {port} -C 1",
		ClientSays:  Says{Must: `RDMA_CM_EVENT_UNREACHABLE, error -110`}, Outcome: Unreachable,
	})),
	still(talking("udaddy, dead host", attempt, CMTool{
		Client: "udaddy -s {remote}", GorxeServer: "cm -s -b {local} -P udp -p " + UdaddyPort,
		GorxeClient: "cm -c {remote} -P udp -p " + UdaddyPort,
		ClientSays:  Says{Must: `RDMA_CM_EVENT_UNREACHABLE, error: -110`}, Outcome: Unreachable,
	})),
}
