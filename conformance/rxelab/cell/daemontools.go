package cell

// visiting returns a tool that is a client of gorxe daemon. The daemon runs with its defaults,
// except for a control socket for each lane, because lanes share their files. With IPv6 it also
// accepts the client's GID, because perftest's TCP connection uses IPv4.
func visiting(name, client string, runs []Params, says Says, packets func(p Params) int) Tool {
	return still(talking(name, runs, CMTool{
		Client: client, GorxeServer: "daemon --control-socket /run/rxelab/daemon-{port}/control.sock", ClientSays: says,
		Packets: packets, Daemon: true,
	}))
}

// ofHost makes a tool use the host's program: the programs of other releases do not include
// rdma-core's pingpong tools.
func ofHost(t Tool) Tool {
	t.Native = false
	return t
}

// measured counts the data packets of one direction.
func measured(p Params) int { return p.packets(Bandwidth) }

// turned counts the data packets of both directions.
func turned(p Params) int { return p.packets(Latency) }

// sized are the flags of each perftest run.
const sized = " -d {device} -x {gid} -F -n {count} -s {size} {tcp}"

// number matches the start of a number in perftest's table. If the clock jumps under emulation,
// perftest prints "inf" or "-nan".
const number = `\s*(?:[0-9.]|inf|-nan)`

var (
	measuredAll = Says{Must: ` {size} +{count} +` + number, Never: `(?i:fail|couldn't|unexpected|status 1)`}
	pingedAll   = Says{Must: `{count} iters in`, Never: `(?i:fail|couldn't|invalid)`}
)

// daemonTools are the tools of [Alone]. The first runs of ib_write_bw and of the pingpong tools
// use the tools' defaults; the path MTU is that of the pingpong tools.
var daemonTools = []Tool{
	visiting("rping", "rping -c -a {remote} -V -C {count} -S {size}", pings, Says{Never: pingTrouble}, pinged),
	visiting("ib_write_bw", "ib_write_bw -d {device} -x {gid} {tcp}", []Params{{Size: 65536, Iters: 5000}},
		measuredAll, measured),
	ofHost(visiting("ibv_rc_pingpong", "ibv_rc_pingpong -d {device} -g {gid} {remote}",
		[]Params{{Size: 4096, MTU: 1024, Iters: 1000, Alone: true}}, pingedAll, turned)),
	ofHost(visiting("ibv_rc_pingpong -c", "ibv_rc_pingpong -d {device} -g {gid} -c -n {count} -s {size} {remote}",
		[]Params{{Size: 1, Iters: 100}, {Size: 100000, Iters: 20}}, pingedAll, turned)),
	ofHost(visiting("ibv_srq_pingpong", "ibv_srq_pingpong -d {device} -g {gid} -n {count} {remote}",
		[]Params{{Size: 4096, MTU: 1024, Iters: 1000, Alone: true}}, pingedAll, measured)),
	visiting("ib_write_bw -q 4", "ib_write_bw -q 4"+sized, []Params{{Size: 2, Iters: 100}},
		Says{Must: ` {size} +400 +` + number}, measured),
	visiting("ib_write_bw -a", "ib_write_bw -a -d {device} -x {gid} -F -n {count} {tcp}",
		[]Params{{All: true, Iters: 5}}, Says{Must: ` 8388608 +{count} +` + number}, measured),
	visiting("ib_read_bw", "ib_read_bw"+sized, []Params{{Size: 65536, Iters: 100}}, measuredAll, measured),
	visiting("ib_send_bw", "ib_send_bw"+sized, []Params{{Size: 65536, Iters: 100}}, measuredAll, measured),
	visiting("ib_atomic_bw", "ib_atomic_bw -d {device} -x {gid} -F -n {count} {tcp}", []Params{{Size: 8, Iters: 100}},
		measuredAll, measured),
	visiting("ib_read_lat", "ib_read_lat"+sized, []Params{{Size: 2, Iters: 100}}, measuredAll, measured),
	visiting("ib_send_lat", "ib_send_lat"+sized, []Params{{Size: 2, Iters: 100}}, measuredAll, turned),
}

// Visitors returns clients of gorxe daemon whose data is verified: rping verifies what returns,
// the daemon verifies what perftest sends. payload is the path of the payload file in the guest.
func Visitors(payload string) []Tool {
	told := sized + " --payload_file_path=" + payload // Debian trixie's perftest introduced the option
	return []Tool{
		visiting("rping", "rping -c -a {remote} -V -C {count} -S {size}",
			[]Params{{Size: 64, Iters: 100}, {Size: 4000, Iters: 100}, {Size: 65000, Iters: 20}},
			Says{Never: pingTrouble}, pinged),
		visiting("ib_write_bw", "ib_write_bw"+told,
			[]Params{{Size: 64, Iters: 200}, {Size: 65536, Iters: 100}, {Size: 1 << 20, Iters: 5}},
			measuredAll, measured),
		visiting("ib_write_bw -q 4", "ib_write_bw -q 4"+told, []Params{{Size: 4096, Iters: 50}},
			Says{Must: ` {size} +200 +` + number}, measured),
		visiting("ib_send_bw", "ib_send_bw"+told, []Params{{Size: 64, Iters: 200}, {Size: 65536, Iters: 50}},
			measuredAll, measured),
		visiting("ib_send_lat", "ib_send_lat"+told, []Params{{Size: 128, Iters: 100}}, measuredAll, turned),
		visiting("ib_read_bw", "ib_read_bw"+sized, []Params{{Size: 65536, Iters: 50}}, measuredAll, measured),
		visiting("ib_read_lat", "ib_read_lat"+sized, []Params{{Size: 64, Iters: 100}}, measuredAll, measured),
		ofHost(visiting("ibv_rc_pingpong -c", "ibv_rc_pingpong -d {device} -g {gid} -c -n {count} -s {size} {remote}",
			[]Params{{Size: 4096, Iters: 100}}, pingedAll, turned)),
	}
}
