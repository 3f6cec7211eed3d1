package bench

import "github.com/gorxe/gorxe/tools/bench/bounce"

// Link is one of gorxe's links with the flags of gorxe perf that select it.
type Link struct {
	Name string
	Args []string
}

// Build is another build of gorxe to measure, from an older revision or with a change.
type Build struct {
	Name string // replaces "gorxe" in the names of contenders
	File string
}

// Names of contenders that ratios refer to.
const (
	rivalTCP     = "iperf3, TCP"
	rivalCubic   = "iperf3, TCP cubic"
	rivalBlast   = "bare UDP, GSO and GRO"
	rivalWrites  = "bare UDP, cut as WRITEs are"
	floorBytes   = "bare loop, ICRC and copy"
	floorCopies  = "bare loop, ICRC and two copies"
	floorReads   = "bare loop, requests and two copies"
	floorLink    = "bare loop, socket as a link's"
	floorOne     = "bare loop, 1 region"
	floorMany    = "bare loop, 1,000 regions"
	floorTiny    = "bare loop, 96-byte packets"
	floorClean   = "bare loop, no loss"
	floorSome    = "bare loop, 0.1 % lost"
	floorMuch    = "bare loop, 1 % lost"
	rivalTCPLat  = "qperf tcp_lat"
	rivalUDPLat  = "qperf udp_lat"
	floorSleeps  = "bare loop of SENDs, sleeping"
	floorPolls   = "bare loop of SENDs, polling"
	rivalPackets = "bare UDP, 96-byte segments"
)

// segment is the UDP payload length of a middle packet of a WRITE with path MTU 4096: BTH,
// payload, ICRC.
const segment = "4112"

// lead is the UDP payload length of the first packet, which also has a RETH. Because it is longer
// than the others, it cannot be in the same train.
const lead = "4128"

// tinySegment is the UDP payload length of a WRITE of 64 bytes: BTH, RETH, payload, ICRC.
const tinySegment = "96"

// Contests returns the contests for the given links, with this build of gorxe and the others, and
// the contests of programs under gorxe run.
func Contests(links []Link, others ...Build) []Contest {
	bw := Contest{
		Name: "bandwidth", Title: "Bandwidth", Metric: Bandwidth,
		About: "Messages of 64 KiB, unless told otherwise, on one reliable connection with path MTU 4096, 128 outstanding, against one TCP stream, " +
			"with the congestion control that the host has by default and with cubic, and against UDP datagrams of the same size that " +
			"nobody acknowledges, which is the limit of the path. The first packet of a WRITE is 16 bytes longer than the others, and only datagrams of one length " +
			"make a train: a WRITE of 64 KiB takes two datagrams of the host's, as bare UDP sends them that is cut so, and a SEND one. " +
			"The bare loop is the limit of a RoCE end in user space: it gathers BTH, payload and ICRC of equal packets, checks the " +
			"ICRC of those that arrive and copies their payload, and acknowledges each batch, with a window of 1 MiB and no RDMA " +
			"transport. Its figure is of payload, as those of gorxe are. With two copies the sender copies each payload before it computes the ICRC, " +
			"as the responder of a READ must: the memory may change until the kernel has read it, and the requester would wait for its timer. " +
			"With requests it is the limit of a READ: instead of the acknowledgements, the receiver sends a READ request for each two packets, " +
			"as gorxe does where the host segments trains, and the sender checks the ICRC of each request. With the socket of a link the sender " +
			"uses its socket as gorxe does, which has one for all peers: unconnected, so that each train takes a route lookup, and registered with epoll.",
		Contenders: []Contender{
			{Name: rivalTCP, Tool: "iperf3"},
			{Name: rivalCubic, Tool: "iperf3", Args: []string{"-C", "cubic"}},
			{Name: rivalBlast, Tool: "blast", Args: []string{"--segment", segment}},
			{Name: rivalWrites, Tool: "blast", Args: []string{"--segment", segment, "--lead", lead}},
			{Name: floorBytes, Tool: "blast", Args: []string{"--segment", segment, "--icrc"}},
			{Name: floorCopies, Tool: "blast", Args: []string{"--segment", segment, "--icrc", "--copied"}},
			{Name: floorReads, Tool: "blast", Args: []string{"--segment", segment, "--icrc", "--copied", "--requests"}},
			{Name: floorLink, Tool: "blast", Args: []string{"--segment", segment, "--icrc", "--as-link"}},
		},
	}
	bw.Ratios = append(bw.Ratios, Ratio{Of: floorCopies, To: floorBytes}, Ratio{Of: floorReads, To: floorBytes},
		Ratio{Of: floorLink, To: floorBytes})
	lat := Contest{
		Name: "latency", Title: "Latency", Metric: Latency,
		About: "Half the round trip of an 8-byte message, on average, which is what qperf tells. Sleeping: both ends wait in the kernel, as qperf's do. Polling: both " +
			"ends look for completions without a pause; by default they do so for a moment before they sleep. qperf always sleeps: a ratio of gorxe polling, or by default, " +
			"to qperf sets a whole core at each end against ends that rest. The bare loop of SENDs is the limit of a RoCE end in user space: it exchanges packets " +
			"with BTH and ICRC, checks the ICRC, and sends the acknowledgement of a message as one train with its answer, without an RDMA transport. Percentiles are of every single message.",
		Contenders: []Contender{
			{Name: rivalTCPLat, Tool: "qperf", Args: []string{"-m", "8", "tcp_lat"}},
			{Name: rivalUDPLat, Tool: "qperf", Args: []string{"-m", "8", "udp_lat"}},
			{Name: floorSleeps, Tool: "bounce", Args: []string{"-way", string(bounce.Sends)}},
			{Name: floorPolls, Tool: "bounce", Args: []string{"-way", string(bounce.SendsPolling)}},
		},
	}
	rate := Contest{
		Name: "rate", Title: "Message rate", Metric: MessageRate,
		About: "WRITEs of 64 bytes, 1,024 outstanding, posted one by one or in lists of 64. The limit counts segments that arrived. " +
			"The bare loop has packets of the same length: it gathers BTH, payload and ICRC of each and checks the ICRC of those that " +
			"arrive, without work requests and completions.",
		Contenders: []Contender{
			{Name: rivalPackets, Tool: "blast", Args: []string{"--segment", tinySegment}},
			{Name: floorTiny, Tool: "blast", Args: []string{"--segment", tinySegment, "--icrc"}},
		},
		Ratios: []Ratio{{Of: floorTiny, To: rivalPackets}},
	}
	many := Contest{
		Name: "many", Title: "A thousand queue pairs", Metric: Bandwidth,
		About: "WRITEs of 64 KiB on one queue pair and on 1,000 that are all active. The busy neighbour is a process that " +
			"computes without a pause on the server's core: it leaves the server about half of it. Each queue pair has memory of " +
			"its own, 64 KiB at each end, as in perftest. The bare loop shows what that costs alone: its packets go through one " +
			"region of 64 KiB, which stays in the processor's cache, or through 1,000.",
		Contenders: []Contender{
			{Name: floorOne, Tool: "blast", Args: []string{"--segment", segment, "--icrc"}},
			{Name: floorMany, Tool: "blast", Args: []string{"--segment", segment, "--icrc", "--regions", "1000"}},
		},
		Ratios: []Ratio{{Of: floorMany, To: floorOne}},
	}
	loss := Contest{
		Name: "loss", Title: "Goodput under loss", Metric: Bandwidth,
		About: "WRITEs of 64 KiB while each end loses a part of the packets that arrive, at random. The bare loop " +
			"gathers, checks and copies packets as that of the bandwidth contest does, and each of its ends loses as " +
			"much. It is the limit of a reliable end that executes packets in order and learns of one gap per round " +
			"trip, as RoCE's sequence NAK reports it: the receiver keeps a copy of packets behind a gap, copies them " +
			"to their place when the gap is filled, and answers each batch with an acknowledgement or a NAK; the " +
			"sender sends the packet that a NAK names again, once, before new ones. While a gap is repaired, two " +
			"windows may be unacknowledged. Both of its ends poll, with and without losses.",
		Contenders: []Contender{
			{Name: floorClean, Tool: "blast", Args: []string{"--segment", segment, "--icrc", "--reliable"}},
			{Name: floorSome, Tool: "blast", Args: []string{"--segment", segment, "--icrc", "--lose", "0.001"}},
			{Name: floorMuch, Tool: "blast", Args: []string{"--segment", segment, "--icrc", "--lose", "0.01"}},
		},
		Ratios: []Ratio{{Of: floorSome, To: floorClean}, {Of: floorMuch, To: floorClean}},
	}
	for _, l := range links {
		gorxe := func(c *Contest, what, test string, args ...string) string {
			args = append(append([]string{test}, args...), l.Args...)
			return c.enter(others, l.Name+": "+what, Contender{Tool: "perf", Args: args})
		}
		busy := func(c *Contest, what, as string) string {
			d := *c.contender(as)
			d.Busy = true
			return c.enter(others, l.Name+": "+what, d)
		}
		write := gorxe(&bw, "WRITE", "write_bw", "-s", "65536", "-m", "4096")
		read := gorxe(&bw, "READ", "read_bw", "-s", "65536", "-m", "4096")
		short := gorxe(&bw, "WRITE of 8 KiB", "write_bw", "-s", "8192", "-m", "4096")
		send := gorxe(&bw, "SEND", "send_bw", "-s", "65536", "-m", "4096")
		bw.Ratios = append(bw.Ratios, Ratio{Of: write, To: rivalTCP, MinTarget: 1.2},
			Ratio{Of: write, To: rivalCubic, MinTarget: 1.2}, Ratio{Of: write, To: rivalBlast, MinTarget: 0.75},
			Ratio{Of: write, To: rivalWrites},
			Ratio{Of: send, To: rivalBlast}, Ratio{Of: write, To: floorBytes, MinTarget: 0.85},
			Ratio{Of: send, To: floorBytes, MinTarget: 0.85},
			Ratio{Of: short, To: write, MinTarget: 0.8}, Ratio{Of: read, To: write, MinTarget: 0.85},
			Ratio{Of: send, To: write, MinTarget: 0.8}, Ratio{Of: read, To: floorCopies},
			Ratio{Of: read, To: floorReads}, Ratio{Of: write, To: floorLink}, Ratio{Of: send, To: floorLink})

		sleeping := gorxe(&lat, "SEND, sleeping", "send_lat", "-s", "8", "--events", "--spin", "0s")
		spinning := gorxe(&lat, "SEND, by default", "send_lat", "-s", "8", "--events")
		polling := gorxe(&lat, "SEND, polling", "send_lat", "-s", "8", "--busy-poll")
		lat.Ratios = append(lat.Ratios, Ratio{Of: sleeping, To: rivalUDPLat, MaxTarget: 1.5},
			Ratio{Of: spinning, To: rivalUDPLat}, Ratio{Of: polling, To: rivalUDPLat, MaxTarget: 0.9},
			Ratio{Of: sleeping, To: rivalTCPLat}, Ratio{Of: polling, To: rivalTCPLat},
			Ratio{Of: sleeping, To: floorSleeps}, Ratio{Of: polling, To: floorPolls})
		for _, who := range []string{sleeping, spinning, polling} {
			lat.Ratios = append(lat.Ratios, Ratio{Of: who, Tail: true, MaxTarget: 2})
		}

		single := gorxe(&rate, "1 QP", "write_bw", "-s", "64", "-t", "1024")
		lists := gorxe(&rate, "1 QP, lists", "write_bw", "-s", "64", "-t", "1024", "-l", "64")
		four := gorxe(&rate, "4 QPs, lists", "write_bw", "-s", "64", "-t", "1024", "-l", "64", "-q", "4")
		rate.Ratios = append(rate.Ratios, Ratio{Of: single, MinTarget: 1},
			Ratio{Of: single, To: rivalPackets, MinTarget: 0.25},
			Ratio{Of: lists, To: rivalPackets, MinTarget: 0.25}, Ratio{Of: four, To: lists, MinTarget: 1},
			Ratio{Of: single, To: floorTiny}, Ratio{Of: lists, To: floorTiny})

		one := gorxe(&many, "1 QP", "write_bw", "-s", "65536", "-m", "4096")
		thousand := gorxe(&many, "1,000 QPs", "write_bw", "-s", "65536", "-m", "4096", "-q", "1000", "-t", "4")
		oneBeside := busy(&many, "1 QP, busy neighbour", one)
		thousandBeside := busy(&many, "1,000 QPs, busy neighbour", thousand)
		many.Ratios = append(many.Ratios, Ratio{Of: thousand, To: one, MinTarget: 0.85},
			Ratio{Of: thousandBeside, To: oneBeside, MinTarget: 0.85})

		clean := gorxe(&loss, "no loss", "write_bw", "-s", "65536", "-m", "4096")
		some := gorxe(&loss, "0.1 % lost", "write_bw", "-s", "65536", "-m", "4096", "--fault-in",
			"drop=0.1%,seed={seed}")
		much := gorxe(&loss, "1 % lost", "write_bw", "-s", "65536", "-m", "4096", "--fault-in", "drop=1%,seed={seed}")
		loss.Ratios = append(loss.Ratios, Ratio{Of: some, To: clean, MinTarget: 0.95},
			Ratio{Of: much, To: clean, MinTarget: 0.8})
	}
	return append([]Contest{bw, lat, rate, many, loss}, programContests(others)...)
}
