// Package demo implements 'gorxe demo': two devices exchange messages, and every packet is shown.
// A wire taps their links and records each packet as an event; render prints the events. wire.mu
// guards the events.
package demo

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/packet/socket"
	"github.com/spf13/cobra"
)

type params struct {
	link  string
	seed  uint64
	loss  float64
	trace string
	peer  string   // file of the trace at B's end
	acts  []string // none: the default acts
}

// Command makes the command 'gorxe demo'.
func Command(a *app.App) *cobra.Command {
	p := &params{}
	c := &cobra.Command{
		Use:   "demo [ACT...]",
		Short: "Watch two software RNICs talk, packet by packet",
		Long: `Creates two RDMA devices on this host, A and B, connects them, and lets A WRITE to, READ from
and SEND to B over a link without loss, then WRITE over a link that loses packets. Every line
with an arrow is a packet that was sent, or several similar ones in succession. ACT is write,
read, atomic, send, rnr (a SEND before B has posted a receive: receiver not ready) or loss; the
default is write, read, send and loss.

--trace writes the packets that A sends and receives, as a capture at A's end of the link would:
it contains the packets of A that the link loses, but not the packets of B that the link loses.
--trace-b writes the same for B's end. 'gorxe trace' joins both files.`,
		Example: `  gorxe demo                   over UDP port 4791 of 127.0.0.1 and 127.0.0.2
  gorxe demo --link pipe       in memory: needs no port, works on every system
  gorxe demo --loss 20         a much worse link
  gorxe demo atomic rnr        two acts that the default does not include
  gorxe demo --trace demo.pcapng && gorxe trace --explain demo.pcapng
  gorxe demo --trace a.pcapng --trace-b b.pcapng loss && gorxe trace a.pcapng b.pcapng`,
		ValidArgs: actNames(),
		RunE: func(c *cobra.Command, args []string) error {
			p.acts = args
			if err := p.check(); err != nil {
				return err
			}
			return run(c.Context(), a, p)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&p.link, "link", defaultLink(), "udp or pipe: real sockets, or a `network` in memory")
	fs.Uint64Var(&p.seed, "seed", 1, "decides QPNs, PSNs, keys, data and which packets are lost")
	fs.Float64Var(&p.loss, "loss", 5, "loss rate of the bad link, in `percent` of the packets")
	app.AddTraceFlag(fs, &p.trace)
	fs.StringVar(&p.peer, "trace-b", "", "the same at B's end, to another `file`")
	return c
}

// defaultLink returns "udp" on systems where gorxe supports it.
func defaultLink() string {
	if runtime.GOOS == "linux" {
		return "udp"
	}
	return "pipe"
}

func (p *params) check() error {
	if p.link != "udp" && p.link != "pipe" {
		return app.Usagef("--link %q: choose udp or pipe", p.link)
	}
	if p.loss < 0 || p.loss > 50 {
		return app.Usagef("--loss %g: must be 0 to 50 percent", p.loss)
	}
	if p.seed == 0 {
		return app.Usagef("--seed 0: choose another number; the same one gives the same numbers and losses")
	}
	if p.peer != "" && p.peer == p.trace {
		return app.Usagef("--trace and --trace-b name the same file")
	}
	return p.checkActs()
}

// Addresses of the two devices.
var addrs = [2]netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}

// pipeMTU is the MTU of the network in memory, for a path MTU of 1024 as on plain Ethernet.
const pipeMTU = 1500

// openLinks opens the links of both devices.
func (p *params) openLinks() (links [2]packet.Link, err error) {
	net := pipe.NewNet()
	for i, addr := range addrs {
		if p.link == "pipe" {
			links[i], err = net.Open(addr, pipeMTU)
		} else {
			links[i], err = socket.ListenUDP(addr, socket.UDPOptions{})
		}
		if err != nil {
			if i == 1 {
				links[0].Close()
			}
			return links, fmt.Errorf("%w; 'gorxe demo --link pipe' needs no port", err)
		}
	}
	return links, nil
}

// run runs all acts.
func run(ctx context.Context, a *app.App, p *params) error {
	if err := a.StartRecording(p.trace); err != nil {
		return err
	}
	var recordings [2]*app.Recording
	recordings[0] = a.Recording
	if p.peer != "" {
		var err error
		if recordings[1], err = a.AddRecording("trace-b", p.peer); err != nil {
			return err
		}
	}
	links, err := p.openLinks()
	if err != nil {
		return err
	}
	d := &demo{App: a, params: p, style: app.NewStyle(a.Stdout), wire: newWire()}
	defer d.close()
	if err := d.open(links, recordings); err != nil {
		return err
	}
	if err := d.connect(ctx); err != nil {
		return err
	}
	for _, act := range p.selectedActs() {
		if err := act.play(d, ctx); err != nil {
			return err
		}
	}
	d.farewell()
	return nil
}
