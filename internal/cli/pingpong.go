package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/serve/exchange"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
	"github.com/gorxe/gorxe/verbs"
)

// pingpongKind is one of the pingpongs of rdma-core.
type pingpongKind struct {
	name    string // between ibv_ and _pingpong
	service verbs.QPType
	shared  bool   // many queue pairs take their receives from one queue
	over    string // for the help
	note    string
}

var pingpongKinds = []pingpongKind{
	{name: "rc", service: verbs.RC, over: "a reliable connection"},
	{name: "uc", service: verbs.UC, over: "an unreliable connection", note: `
A message that is lost is not sent again: it ends the run after some seconds of silence.`},
	{name: "ud", service: verbs.UD, over: "datagrams", note: `
A message that is lost is not sent again: it ends the run after some seconds of silence.`},
	{name: "srq", service: verbs.RC, shared: true, over: "reliable connections that share a receive queue", note: `
-n counts the messages of all connections together.`},
}

// pingpongParams are the parameters of a pingpong.
type pingpongParams struct {
	pingpongKind
	device   deviceFlags
	port     uint16
	size     int
	mtu      int
	rxDepth  int
	iters    int
	sl       int
	qps      int
	gidIndex int
	foreign  foreignGIDs
	chk      bool
	host     string
}

// header is how many bytes stand in front of a received message.
func (p *pingpongParams) header() int { return headerOf(p.service) }

// maxSRQQPs is how many queue pairs can share a receive queue.
const maxSRQQPs = wire.SRQRecords - 1

func pingpongCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "pingpong",
		Short: "Send messages to and fro, as ibv_*_pingpong do",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, k := range pingpongKinds {
		c.AddCommand(pingpongKindCommand(a, k))
	}
	return c
}

func pingpongKindCommand(a *app, k pingpongKind) *cobra.Command {
	p := &pingpongParams{pingpongKind: k}
	same, size := "size, count and path MTU", 65536
	if k.service == verbs.UD {
		same, size = "size and count", 512
	}
	c := &cobra.Command{
		Use:   k.name + " [flags] [host]",
		Short: fmt.Sprintf("Over %s, as %s does", k.over, p.tool()),
		Long: fmt.Sprintf(`Sends messages to and fro over %[1]s. Without a host it waits for a
client. The other end may be gorxe or %[2]s of rdma-core; flags are those of
%[2]s. Give both ends the same %[4]s.%[3]s`, k.over, p.tool(), k.note, same),
		Example: fmt.Sprintf(`  gorxe pingpong %[1]s -d 127.0.0.1                server
  gorxe pingpong %[1]s -d 127.0.0.2 127.0.0.1      client on the same host
  gorxe pingpong %[1]s -s %-5[3]d -c 192.0.2.7       against "%[2]s -g 1 -s %[3]d -c" on 192.0.2.7`, k.name, p.tool(), size),
		Args: optionalHost,
		RunE: func(c *cobra.Command, args []string) error {
			p.host = hostArg(args)
			if err := p.check(c.Flags()); err != nil {
				return err
			}
			return runPingpong(c.Context(), a, p)
		},
	}
	p.addFlags(c.Flags())
	return c
}

func (p *pingpongParams) addFlags(fs *pflag.FlagSet) {
	fs.SortFlags = false
	p.device.add(fs)
	addTraceFlag(fs, &p.device.trace)
	fs.IntVarP(&p.gidIndex, "gid-idx", "g", -1, "GID `index` of this end (default: the first IPv4 GID)")
	addForeignGIDsFlag(fs, &p.foreign)
	fs.Uint16VarP(&p.port, "port", "p", exchange.Port, "TCP `port` to listen on or connect to")
	if p.service == verbs.UD {
		addSize(fs, &p.size, "size", "s", 1024, "`bytes` per message, not more than the path MTU")
	} else {
		addSize(fs, &p.size, "size", "s", 4096, "`bytes` per message; K, M and G mean 2^10, 2^20 and 2^30")
		fs.IntVarP(&p.mtu, "mtu", "m", 1024, "path MTU in `bytes`: 256, 512, 1024, 2048 or 4096")
	}
	fs.IntVarP(&p.iters, "iters", "n", 1000, "`number` of messages each way")
	fs.IntVarP(&p.rxDepth, "rx-depth", "r", 500, "`number` of receives to have posted")
	if p.shared {
		fs.IntVarP(&p.qps, "num-qp", "q", 16, "`number` of queue pairs")
		fs.BoolVarP(&p.chk, "chk", "c", false, "check one byte per page received, as stock peers do")
	} else {
		fs.BoolVarP(&p.chk, "chk", "c", false, "check every byte received (stock peers: one byte per page)")
	}
	fs.IntVarP(&p.sl, "sl", "l", 0, "service `level`; means nothing without a VLAN")
	fs.BoolP("events", "e", false, "accepted: this end always sleeps when it waits long")
	defaultInWords(fs, "gid-idx", "ib-port")
	if p.name == "rc" || p.shared {
		addRefused(fs, "odp", "o", "memory here is not pinned and needs no paging on demand")
	}
	if p.name != "rc" {
		return // the others have no more
	}
	addAccepted(fs, "new_send", "N")
	addRefused(fs, "iodp", "O", "memory here is not pinned and needs no paging on demand")
	addRefused(fs, "prefetch", "P", "memory here is not pinned and needs no paging on demand")
	addRefused(fs, "ts", "t", "completions carry no timestamp")
	addRefused(fs, "dm", "j", "there is no device memory")
}

// tool names the tool of rdma-core that the other end may be.
func (p *pingpongParams) tool() string {
	return fmt.Sprintf("ibv_%s_pingpong", p.name)
}

func (p *pingpongParams) check(fs *pflag.FlagSet) error {
	if err := checkRefused(fs); err != nil {
		return err
	}
	err := checkRanges(
		inRange("-s", p.size, 1, maxMessage), inRange("-n", p.iters, 1, maxMessage), inRange("-r", p.rxDepth, 1, verbs.MaxQPWR),
		inRange("-l", p.sl, 0, 15))
	if err != nil {
		return err
	}
	if p.shared {
		if err := checkRanges(inRange("-q", p.qps, 1, maxSRQQPs)); err != nil {
			return err
		}
		if p.qps > p.rxDepth {
			return usagef("-r %d: too few receives for %d queue pairs, each needs one", p.rxDepth, p.qps)
		}
	}
	if err := checkGIDFlag(fs, "gid-idx"); err != nil {
		return err
	}
	if err := checkMTU(p.mtu); err != nil {
		return err
	}
	return p.device.check()
}

// describe gives the parameters that both ends must have in common.
func (p *pingpongParams) describe() string {
	text := fmt.Sprintf("%s -s %d -n %d", p.tool(), p.size, p.iters)
	if p.service != verbs.UD {
		text += fmt.Sprintf(" -m %d", p.mtu)
	}
	if p.shared {
		text += fmt.Sprintf(" -q %d", p.qps)
	}
	return text
}
