package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

// deviceFlags choose the device and its port, as every verbs tool lets one do.
type deviceFlags struct {
	dev    string
	ibPort int
	link   string
	spin   time.Duration
	shards int
	faults string // in what is sent
	losses string // in what arrives
	trace  string // file for the packets
}

func (f *deviceFlags) add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.dev, "ib-dev", "d", "", "network interface or local `address` to use (default: the address that the TCP connection uses)")
	fs.IntVarP(&f.ibPort, "ib-port", "i", 1, "`port` of the device; there is one")
	addLinkFlag(fs, &f.link)
	addSpinFlag(fs, &f.spin)
	addShardsFlag(fs, &f.shards)
	fs.StringVar(&f.faults, "fault", "", "do harm to the packets that leave: a `list` such as drop=1%,reorder=5%,seed=7")
	fs.StringVar(&f.losses, "fault-in", "", "do harm to the packets that arrive: a `list` as that of --fault, without delay and jitter")
}

// addLinkFlag is the choice of how packets leave and come.
func addLinkFlag(fs *pflag.FlagSet, kind *string) {
	fs.StringVar(kind, "link", "udp", "`kind` of link: udp, raw (takes CAP_NET_RAW), xdp (takes root) or auto (the best that works)")
}

// addSpinFlag is the choice between latency and an idle processor.
func addSpinFlag(fs *pflag.FlagSet, d *time.Duration) {
	fs.DurationVar(d, "spin", verbs.DefaultSpin, "look `long` for the next packets before sleeping, while they mostly come that soon, 0s to 1ms")
}

// addShardsFlag is the choice of how many processors serve connections.
func addShardsFlag(fs *pflag.FlagSet, n *int) {
	fs.IntVar(n, "shards", 0, "divide connections into a `number` of parts, each served by a processor of its own, 1 to 64 (default: half the processors)")
}

func (f *deviceFlags) check() error {
	if f.shards < 0 || f.shards > verbs.MaxShards {
		return usagef("--shards %d: give 1 to %d", f.shards, verbs.MaxShards)
	}
	if f.spin < 0 || f.spin > verbs.MaxSpin {
		return usagef("--spin %v: give 0s to %v", f.spin, verbs.MaxSpin)
	}
	if err := packet.CheckKind(f.link); err != nil {
		return usagef("--link %q: choose %s", f.link, packet.KindList())
	}
	if f.ibPort != 1 {
		return usagef("device port %d: a gorxe device has port 1 only, leave -i out", f.ibPort)
	}
	if f.faults != "" {
		if _, err := packet.ParseFaults(f.faults); err != nil {
			return usagef("--fault: %v", err)
		}
	}
	if f.losses != "" {
		in, err := packet.ParseFaults(f.losses)
		if err != nil {
			return usagef("--fault-in: %v", err)
		}
		if in.Delay != 0 || in.Jitter != 0 {
			return usagef("--fault-in %s: what arrives is not delayed; delay what leaves the other end, with --fault", f.losses)
		}
	}
	return nil
}

// config is that of a device on an interface or address, with the flags' faults.
func (f *deviceFlags) config(device string) verbs.Config {
	cfg := verbs.Config{Device: device, Link: f.link, Spin: cmp.Or(f.spin, -1), Shards: f.shards}
	// check has refused what is wrong; what is empty is no fault.
	faults, _ := packet.ParseFaults(f.faults)
	losses, _ := packet.ParseFaults(f.losses)
	if none := (packet.FaultConfig{}); faults != none || losses != none {
		cfg.Wrap = func(l packet.Link) packet.Link { return packet.FaultBoth(l, faults, losses) }
	}
	return cfg
}

// openDevice opens the device that f describes on an interface or address.
func (a *app) openDevice(f *deviceFlags, device string) (*verbs.Device, error) {
	cfg := f.config(device)
	if err := a.recorded(&cfg, f.trace); err != nil {
		return nil, err
	}
	return a.openLinks(cfg)
}

// openLinks opens a device, and says which links it has where that was left to it.
func (a *app) openLinks(cfg verbs.Config) (*verbs.Device, error) {
	dev, err := a.open(cfg)
	if err != nil || cfg.Link != packet.Auto {
		return dev, err
	}
	for _, g := range dev.GIDs() {
		if choices := dev.LinkChoices(g.Addr); choices != nil {
			fmt.Fprintf(a.stderr, "gorxe: link at %v: %s\n", g.Addr, choiceText(choices))
		}
	}
	return dev, nil
}

// choiceText says in one line what became of each kind of link.
func choiceText(choices []packet.Choice) string {
	var said []string
	for _, c := range choices {
		said = append(said, oneLine(errors.New(c.String())))
	}
	return strings.Join(said, "; ")
}

// openFor opens the device that f names, or nil when it names none: then open it with openAt once the connection to the
// peer tells which address that is.
func (a *app) openFor(f *deviceFlags) (*verbs.Device, error) {
	if f.dev == "" {
		return nil, nil
	}
	return a.openDevice(f, f.dev)
}

// openAt opens the device that f describes on the local address of conn: that which leads to the peer. Where a GID was
// chosen by its index it is the device of the whole interface, as the index counts all addresses of that.
func (a *app) openAt(f *deviceFlags, conn net.Conn, indexed bool) (*verbs.Device, error) {
	ap, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return nil, fmt.Errorf("%v is not an address to open a device on; name one with -d", conn.LocalAddr())
	}
	device := ap.Addr().Unmap().String()
	if indexed {
		if _, _, name, err := a.addrs(device); err == nil && name != "" {
			device = name
		}
	}
	dev, err := a.openDevice(f, device)
	if err != nil {
		return nil, fmt.Errorf("%w; name another address or interface with -d", err)
	}
	return dev, nil
}
