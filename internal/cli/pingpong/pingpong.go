// Package pingpong implements 'gorxe pingpong': the ibv_*_pingpong tools of rdma-core. end is one
// end of a test with one queue pair, srqEnd one with a shared receive queue; both implement
// pinger.
package pingpong

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
	"github.com/gorxe/gorxe/verbs"
)

// kind is one of the pingpong tools of rdma-core.
type kind struct {
	name    string // part of the tool's name between ibv_ and _pingpong
	service verbs.QPType
	shared  bool   // many queue pairs share one receive queue
	over    string // transport, for the help text
	note    string
}

var kinds = []kind{
	{name: "rc", service: verbs.RC, over: "a reliable connection"},
	{name: "uc", service: verbs.UC, over: "an unreliable connection", note: `
A lost message is not sent again: the run then fails after at least two seconds of silence.`},
	{name: "ud", service: verbs.UD, over: "datagrams", note: `
A lost message is not sent again: the run then fails after at least two seconds of silence.`},
	{name: "srq", service: verbs.RC, shared: true, over: "reliable connections that share a receive queue", note: `
-n counts the messages of all connections together.`},
}

// params are the parameters of a pingpong.
type params struct {
	kind
	device   app.DeviceFlags
	port     uint16
	size     int
	mtu      int
	rxDepth  int
	iters    int
	sl       int
	qps      int
	gidIndex int
	foreign  session.ForeignGIDs
	chk      bool
	host     string
}

// header returns the number of bytes before the payload of a received message.
func (p *params) header() int { return session.HeaderOf(p.service) }

// maxSRQQPs is the maximum number of queue pairs that share a receive queue.
const maxSRQQPs = wire.SRQRecords - 1

// Command makes the command 'gorxe pingpong'.
func Command(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "pingpong",
		Short: "Exchange messages, as ibv_*_pingpong do",
		Args:  app.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, k := range kinds {
		c.AddCommand(kindCommand(a, k))
	}
	return c
}

func kindCommand(a *app.App, k kind) *cobra.Command {
	p := &params{kind: k}
	same, size := "size, count and path MTU", 65536
	if k.service == verbs.UD {
		same, size = "size and count", 512
	}
	c := &cobra.Command{
		Use:   k.name + " [flags] [host]",
		Short: fmt.Sprintf("Over %s, as %s does", k.over, p.tool()),
		Long: fmt.Sprintf(`Sends messages to and fro over %[1]s. Without a host argument it waits for a
client. The other end may be gorxe or %[2]s of rdma-core; flags are those of
%[2]s. Give both ends the same %[4]s.%[3]s`, k.over, p.tool(), k.note, same),
		Example: fmt.Sprintf(`  gorxe pingpong %[1]s -d 127.0.0.1                server
  gorxe pingpong %[1]s -d 127.0.0.2 127.0.0.1      client on the same host
  gorxe pingpong %[1]s -s %-5[3]d -c 192.0.2.7       against "%[2]s -g 1 -s %[3]d -c" on 192.0.2.7`, k.name, p.tool(), size),
		Args: app.OptionalHost,
		RunE: func(c *cobra.Command, args []string) error {
			p.host = app.HostArg(args)
			if err := p.check(c.Flags()); err != nil {
				return err
			}
			return run(c.Context(), a, p)
		},
	}
	p.addFlags(c.Flags())
	return c
}

func (p *params) addFlags(fs *pflag.FlagSet) {
	fs.SortFlags = false
	p.device.Add(fs)
	app.AddTraceFlag(fs, &p.device.Trace)
	fs.IntVarP(&p.gidIndex, "gid-idx", "g", -1,
		"GID `index` of this end (default: the first IPv4 GID, else the first that is not link-local)")
	session.AddForeignGIDsFlag(fs, &p.foreign)
	fs.Uint16VarP(&p.port, "port", "p", exchange.Port, "TCP `port` to listen on or connect to")
	if p.service == verbs.UD {
		app.AddSize(fs, &p.size, "size", "s", 1024, "`bytes` per message, not more than the path MTU")
	} else {
		app.AddSize(fs, &p.size, "size", "s", 4096, "`bytes` per message; K, M and G mean 2^10, 2^20 and 2^30")
		fs.IntVarP(&p.mtu, "mtu", "m", 1024, "path MTU in `bytes`: 256, 512, 1024, 2048 or 4096")
	}
	fs.IntVarP(&p.iters, "iters", "n", 1000, "`number` of messages each way")
	fs.IntVarP(&p.rxDepth, "rx-depth", "r", 500, "`number` of receives to keep posted")
	if p.shared {
		fs.IntVarP(&p.qps, "num-qp", "q", 16, "`number` of queue pairs")
		fs.BoolVarP(&p.chk, "chk", "c", false, "check one byte per page received, as ibv_srq_pingpong does")
	} else {
		fs.BoolVarP(&p.chk, "chk", "c", false, "check every byte received ("+p.tool()+": one byte per page)")
	}
	fs.IntVarP(&p.sl, "sl", "l", 0, "service `level`; no effect without a VLAN")
	fs.BoolP("events", "e", false, "accepted and ignored: this end always sleeps when it waits long")
	app.DefaultInWords(fs, "gid-idx", "ib-port")
	if p.name == "rc" || p.shared {
		app.AddRefused(fs, "odp", "o", "memory here is not pinned and needs no paging on demand")
	}
	if p.name != "rc" {
		return // the other tools have no more flags
	}
	app.AddAccepted(fs, "new_send", "N")
	app.AddRefused(fs, "iodp", "O", "memory here is not pinned and needs no paging on demand")
	app.AddRefused(fs, "prefetch", "P", "memory here is not pinned and needs no paging on demand")
	app.AddRefused(fs, "ts", "t", "completions carry no timestamp")
	app.AddRefused(fs, "dm", "j", "there is no device memory")
}

// tool returns the name of the corresponding tool of rdma-core.
func (p *params) tool() string {
	return fmt.Sprintf("ibv_%s_pingpong", p.name)
}

func (p *params) check(fs *pflag.FlagSet) error {
	if err := app.CheckRefused(fs); err != nil {
		return err
	}
	err := app.CheckRanges(
		app.InRange("-s", p.size, 1, session.MaxMessage), app.InRange("-n", p.iters, 1, session.MaxMessage),
		app.InRange("-r", p.rxDepth, 1, verbs.MaxQPWR),
		app.InRange("-l", p.sl, 0, 15))
	if err != nil {
		return err
	}
	if p.shared {
		if err := app.CheckRanges(app.InRange("-q", p.qps, 1, maxSRQQPs)); err != nil {
			return err
		}
		if p.qps > p.rxDepth {
			return app.Usagef("-r %d: too few receives for %d queue pairs, each needs one", p.rxDepth, p.qps)
		}
	}
	if err := app.CheckGIDFlag(fs, "gid-idx"); err != nil {
		return err
	}
	if err := app.CheckMTU(p.mtu); err != nil {
		return err
	}
	return p.device.Check()
}

// describe returns the parameters that both ends must have in common.
func (p *params) describe() string {
	text := fmt.Sprintf("%s -s %d -n %d", p.tool(), p.size, p.iters)
	if p.service != verbs.UD {
		text += fmt.Sprintf(" -m %d", p.mtu)
	}
	if p.shared {
		text += fmt.Sprintf(" -q %d", p.qps)
	}
	return text
}
