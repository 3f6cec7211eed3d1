package perf

import (
	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
)

func (p *params) addFlags(fs *pflag.FlagSet) {
	fs.SortFlags = false
	lat := p.test.Latency()
	p.device.Add(fs)
	app.AddTraceFlag(fs, &p.device.Trace)
	fs.IntVarP(&p.gidIndex, "gid-index", "x", -1,
		"GID `index` of this end (default: the first IPv4 GID, else the first that is not link-local)")
	session.AddForeignGIDsFlag(fs, &p.foreign)
	fs.Uint16VarP(&p.port, "port", "p", exchange.Port, "`port` to listen on or connect to: of TCP, with -R of rdma_cm")
	types := "connection `type`: RC or UC"
	if p.test.Send() {
		types = "connection `type`: RC, UC or UD"
	}
	fs.StringP("connection", "c", "RC", types)
	fs.Lookup("connection").Hidden = p.test.Fetches() // these tests have only RC
	p.addSizeFlags(fs)
	if p.fills() {
		fs.StringVar(&p.payloadFile, "payload_file_path", "",
			"`file` of DWORDs to fill messages with, such as 0x01020304,0x05060708, of which 04 is the first byte")
	}
	if p.test.Atomic() {
		fs.StringVarP(&p.atomic, "atomic_type", "A", fetchAndAdd, "`operation`: CMP_AND_SWAP or FETCH_AND_ADD")
	}
	iters := 1000
	if p.test == wire.WriteBW {
		iters = 5000
	}
	fs.IntVarP(&p.iters, "iters", "n", iters, "`number` of messages per queue pair, at least 5")
	fs.IntVarP(&p.duration, "duration", "D", 0, "run for this number of `seconds` instead of a number of messages")
	fs.IntVarP(&p.margin, "margin", "f", -1,
		"with -D, exclude this number of `seconds` at the beginning and at the end (default: a quarter of -D)")
	fs.IntVarP(&p.mtu, "mtu", "m", 0, "path MTU in `bytes`: 256, 512, 1024, 2048 or 4096 (default: the largest)")
	depth := 128
	if lat {
		depth = 1
	}
	fs.IntVarP(&p.txDepth, "tx-depth", "t", depth,
		"`number` of work requests per queue pair that may be posted and not yet complete")
	if p.test.Write() {
		fs.BoolVar(&p.imm, "write_with_imm", false,
			"WRITE with immediate data, which the other end waits for (perftest 24.01 and later)")
	}
	receives := "`number` of receives to keep posted per queue pair"
	if p.test.Write() {
		receives = "with --write_with_imm, `number` of receives to keep posted per queue pair"
	}
	fs.IntVarP(&p.rxDepth, "rx-depth", "r", rxDepth, receives)
	fs.Lookup("rx-depth").Hidden = p.test.Fetches()
	switch {
	case p.test.Atomic():
		fs.IntVarP(&p.outs, "outs", "o", 0,
			"`number` of atomics of a queue pair on the wire at a time, max_rd_atomic (default: what the device allows)")
	case p.test.Fetches():
		fs.IntVarP(&p.outs, "outs", "o", 0,
			"`number` of READs of a queue pair on the wire at a time, max_rd_atomic (default: what the device allows)")
	default:
		fs.IntVarP(&p.inline, "inline_size", "I", 0, "send messages of up to this number of `bytes` inline")
	}
	fs.Uint8VarP(&p.timeout, "qp-timeout", "u", 14, "acknowledgement timeout: 4.096 µs times 2^`exponent`, up to 31")
	fs.IntVarP(&p.sl, "sl", "S", 0, "service `level`; no effect without a VLAN")
	fs.Uint8Var(&p.trafficClass, "tclass", 0, "traffic class: the IP header's ToS `byte`")
	if lat {
		fs.BoolVarP(&p.histogram, "report-histogram", "H", false, "print all results, sorted; with --json, a histogram")
		fs.BoolVarP(&p.unsorted, "report-unsorted", "U", false, "print all results, in order of time")
	} else {
		fs.IntVarP(&p.qps, "qp", "q", 1, "`number` of queue pairs")
		fs.BoolVarP(&p.duplex, "bidirectional", "b", false, "both ends send")
		fs.IntVarP(&p.postList, "post_list", "l", 1, "post this `number` of messages at a time")
		fs.IntVarP(&p.cqMod, "cq-mod", "Q", 100,
			"`number` of messages per completion requested (default 100, or 1 above 8192 bytes)")
		fs.BoolVarP(&p.noPeak, "noPeak", "N", false, "do not compute the peak bandwidth")
		fs.BoolVar(&p.gbits, "report_gbits", false, "report in Gbit/s instead of MiB/s")
		fs.Float64VarP(&p.limitBW, "limit_bw", "w", 0,
			"fail when the average bandwidth is below this `value`, in MiB/s, or Gbit/s with --report_gbits")
		fs.Float64VarP(&p.limitRate, "limit_msgrate", "y", 0,
			"fail when the message rate is below this `value`, in millions per second")
	}
	fs.BoolVarP(&p.events, "events", "e", false,
		"sleep until there is a completion (default: poll briefly, then sleep)")
	fs.BoolVar(&p.busyPoll, "busy-poll", false, "busy-poll for completions, never sleep")
	fs.BoolVarP(&p.managed, "rdma_cm", "R", false,
		"connect the queue pairs with rdma_cm instead of TCP")
	app.DefaultInWords(fs, "gid-index", "margin", "ib-port")
	if !lat {
		app.DefaultInWords(fs, "cq-mod")
	}
	fs.BoolVar(&p.json, "json", false, "print the result as JSON, and nothing else")
	fs.StringVar(&p.cpuProfile, "cpuprofile", "", "write a CPU profile to `file`, for go tool pprof")
	p.addForeignFlags(fs)
}

// addSizeFlags adds the flags for message sizes, which atomics do not have.
func (p *params) addSizeFlags(fs *pflag.FlagSet) {
	if p.test.Atomic() {
		fs.StringVarP(&p.sizeText, "size", "s", "8", "")
		fs.Lookup("size").Hidden = true
		return
	}
	size := "65536"
	if p.test.Latency() {
		size = "2"
	}
	fs.StringVarP(&p.sizeText, "size", "s", size, "`bytes` per message; K, M and G mean 2^10, 2^20 and 2^30")
	fs.BoolVarP(&p.all, "all", "a", false, "run all sizes from 2 to 2^23 bytes")
}

// addForeignFlags adds flags of perftest that gorxe does not need or does not support.
func (p *params) addForeignFlags(fs *pflag.FlagSet) {
	if p.test.Fetches() {
		app.AddRefused(fs, "inline_size", "I", "a request of "+p.test.String()+" carries no data")
	}
	fs.BoolP("CPU-freq", "F", false, "accepted for compatibility with perftest, ignored")
	app.AddAccepted(fs, "use_old_post_send", "")
	app.AddAccepted(fs, "ipv6-addr", "")
	app.AddRefused(fs, "comm_rdma_cm", "z",
		"the exchange runs over TCP or, with -R, over rdma_cm as the queue pairs do")
	app.AddRefused(fs, "dualport", "O", "a gorxe device has one port")
	if p.test.Send() {
		app.AddRefused(fs, "mcg", "g", "there is no multicast test")
		app.AddRefused(fs, "use-srq", "", "each queue pair here has its own receives")
	}
	if !p.test.Latency() {
		app.AddRefused(fs, "run_infinitely", "", "use -D with a long time")
		app.AddRefused(fs, "reversed", "", "start the other end as client instead")
	}
	if p.test.Latency() {
		app.AddRefused(fs, "report-cycles", "C", "times are reported in microseconds")
	}
}
