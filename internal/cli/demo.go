package cli

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/gorxe/gorxe/packet"
)

type demoParams struct {
	link  string
	seed  uint64
	loss  float64
	trace string
	acts  []string // none: the usual ones
}

func demoCommand(a *app) *cobra.Command {
	p := &demoParams{}
	c := &cobra.Command{
		Use:   "demo [ACT...]",
		Short: "Watch two software RNICs talk, packet by packet",
		Long: `Makes two RDMA devices on this host, connects them, and lets one WRITE into, READ from
and SEND to the other, first over a good link, then over one that loses packets. Every line
with an arrow is a packet that was really sent. Acts are write, read, atomic, send, rnr and loss;
without any named it is write, read, send and loss.

--trace keeps what A sends and receives, as a capture at its end of the cable would: what the bad
link loses of A's packets is there, what it loses of B's is not.`,
		Example: `  gorxe demo                   over UDP port 4791 of 127.0.0.1 and 127.0.0.2
  gorxe demo --link pipe       in memory: needs no port, works on every system
  gorxe demo --loss 20         a much worse link
  gorxe demo atomic rnr        two acts that are not in the usual program
  gorxe demo --trace demo.pcapng && gorxe trace --explain demo.pcapng`,
		ValidArgs: actNames(),
		RunE: func(c *cobra.Command, args []string) error {
			p.acts = args
			if err := p.check(); err != nil {
				return err
			}
			return runDemo(c.Context(), a, p)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&p.link, "link", defaultDemoLink(), "udp or pipe: real sockets, or a `network` in memory")
	fs.Uint64Var(&p.seed, "seed", 1, "decides numbers, keys, data and which packets are lost")
	fs.Float64Var(&p.loss, "loss", 5, "`percent` of the packets that the bad link loses")
	addTraceFlag(fs, &p.trace)
	return c
}

// defaultDemoLink is udp where gorxe has it.
func defaultDemoLink() string {
	if runtime.GOOS == "linux" {
		return "udp"
	}
	return "pipe"
}

func (p *demoParams) check() error {
	if p.link != "udp" && p.link != "pipe" {
		return usagef("--link %q: choose udp or pipe", p.link)
	}
	if p.loss < 0 || p.loss > 50 {
		return usagef("--loss %g: must be 0 to 50 percent", p.loss)
	}
	if p.seed == 0 {
		return usagef("--seed 0: choose another number; the same one gives the same numbers and losses")
	}
	return p.checkActs()
}

// Addresses of the two devices.
var demoAddrs = [2]netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}

// demoMTU is the MTU of the network in memory, one that carries 1024 bytes like plain Ethernet.
const demoMTU = 1500

// openLinks opens the links of both devices.
func (p *demoParams) openLinks() (links [2]packet.Link, err error) {
	net := packet.NewPipeNet()
	for i, addr := range demoAddrs {
		if p.link == "pipe" {
			links[i], err = net.Open(addr, demoMTU)
		} else {
			links[i], err = packet.ListenUDP(addr, packet.UDPOptions{})
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

// demo shows all acts.
func runDemo(ctx context.Context, a *app, p *demoParams) error {
	if err := a.record(p.trace); err != nil {
		return err
	}
	links, err := p.openLinks()
	if err != nil {
		return err
	}
	d := &demo{app: a, params: p, style: newStyle(a.stdout), wire: newDemoWire()}
	defer d.close()
	if err := d.open(links); err != nil {
		return err
	}
	if err := d.connect(ctx); err != nil {
		return err
	}
	for _, act := range p.program() {
		if err := act.play(d, ctx); err != nil {
			return err
		}
	}
	d.farewell()
	return nil
}
