package app

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/links"
	"github.com/gorxe/gorxe/verbs"
	"github.com/spf13/pflag"
)

// DeviceFlags select the device and its port, with the flags of other verbs tools.
type DeviceFlags struct {
	Interface string
	ibPort    int
	Link      string
	Spin      time.Duration
	shards    int
	Faults    string // faults of outgoing packets
	faultsIn  string // faults of incoming packets
	Trace     string // path of a file for the packets
	Follow    bool   // as in verbs.Config; set by the command
	Loopback  bool   // as in verbs.Config; set by the command
}

// Add defines the flags on fs.
func (f *DeviceFlags) Add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.Interface, "ib-dev", "d", "",
		"network interface or local `address` to use (default: the one that reaches the peer)")
	fs.IntVarP(&f.ibPort, "ib-port", "i", 1, "`port` of the device: 1, the only one")
	addLinkFlag(fs, &f.Link)
	addSpinFlag(fs, &f.Spin)
	addShardsFlag(fs, &f.shards)
	addFaultFlag(fs, &f.Faults)
	fs.StringVar(&f.faultsIn, "fault-in", "",
		"inject faults into incoming packets: a `list` as for --fault, except delay and jitter")
}

// addFaultFlag defines --fault, the faults of outgoing packets.
func addFaultFlag(fs *pflag.FlagSet, list *string) {
	fs.StringVar(list, "fault", "",
		"inject faults into outgoing packets: a `list` such as drop=1%,delay=2ms; faults: "+fault.Spec)
}

// addLinkFlag defines --link, which selects how a device sends and receives packets.
func addLinkFlag(fs *pflag.FlagSet, kind *string) {
	fs.StringVar(kind, "link", "udp",
		"`kind` of link: udp, raw (needs CAP_NET_RAW), xdp (also needs CAP_NET_ADMIN, CAP_BPF and CAP_IPC_LOCK) "+
			"or auto (the best that works)")
}

// addSpinFlag defines --spin, a trade-off between latency and processor time.
func addSpinFlag(fs *pflag.FlagSet, d *time.Duration) {
	fs.DurationVar(d, "spin", verbs.DefaultSpin,
		"busy-poll for more packets for this `duration` before sleeping, 0s to 1ms")
}

// addShardsFlag defines --shards, the number of processors that serve connections.
func addShardsFlag(fs *pflag.FlagSet, n *int) {
	fs.IntVar(n, "shards", 0,
		"`number` of shards, 1 to 64; they divide the connections, and each uses one processor at a time "+
			"(default: half the processors, at most 8)")
}

// Managed returns the values of f for a command whose connections rdma_cm makes.
func (f *DeviceFlags) Managed() *ManagedFlags {
	return &ManagedFlags{Interface: f.Interface, Link: f.Link, Spin: f.Spin, shards: f.shards, Faults: f.Faults,
		faultsIn: f.faultsIn, Trace: f.Trace}
}

// Check returns a usage error for the first flag with an invalid value.
func (f *DeviceFlags) Check() error {
	if f.shards < 0 || f.shards > verbs.MaxShards {
		return Usagef("--shards %d: give 1 to %d", f.shards, verbs.MaxShards)
	}
	if f.Spin < 0 || f.Spin > verbs.MaxSpin {
		return Usagef("--spin %v: give 0s to %v", f.Spin, verbs.MaxSpin)
	}
	if err := links.CheckKind(f.Link); err != nil {
		return Usagef("--link %q: choose %s", f.Link, links.KindList())
	}
	if f.ibPort != 1 {
		return Usagef("device port %d: a gorxe device has only port 1; omit -i", f.ibPort)
	}
	if f.Faults != "" {
		if _, err := fault.Parse(f.Faults); err != nil {
			return Usagef("--fault: %v", err)
		}
	}
	if f.faultsIn != "" {
		in, err := fault.Parse(f.faultsIn)
		if err != nil {
			return Usagef("--fault-in: %v", err)
		}
		if in.Delay != 0 || in.Jitter != 0 {
			return Usagef("--fault-in %s: incoming packets cannot be delayed; delay the outgoing packets of the other end with --fault", f.faultsIn)
		}
	}
	return nil
}

// config returns the configuration of a device on an interface or address, with the flags'
// faults.
func (f *DeviceFlags) config(device string) verbs.Config {
	cfg := verbs.Config{
		Device: device, Link: f.Link, Follow: f.Follow, Loopback: f.Loopback, Spin: cmp.Or(f.Spin, -1),
		Shards: f.shards,
	}
	// Check has rejected invalid lists; an empty list means no faults.
	faults, _ := fault.Parse(f.Faults)
	in, _ := fault.Parse(f.faultsIn)
	if none := (fault.Config{}); faults != none || in != none {
		cfg.Wrap = func(l packet.Link) packet.Link { return fault.NewBoth(l, faults, in) }
	}
	return cfg
}

// OpenDevice opens the device that f describes on an interface or address.
func (a *App) OpenDevice(f *DeviceFlags, device string) (*verbs.Device, error) {
	cfg := f.config(device)
	if err := a.recorded(&cfg, f.Trace); err != nil {
		return nil, err
	}
	return a.openLinks(cfg)
}

// openLinks opens a device. With --link auto it prints which link each address got.
func (a *App) openLinks(cfg verbs.Config) (*verbs.Device, error) {
	dev, err := a.Open(cfg)
	if err != nil || cfg.Link != links.Auto {
		return dev, err
	}
	for _, g := range dev.GIDs() {
		if choices := dev.LinkChoices(g.Addr); choices != nil {
			fmt.Fprintf(a.Stderr, "gorxe: link at %v: %s\n", g.Addr, choiceText(choices))
		}
	}
	return dev, nil
}

// choiceText returns one line with the outcome for each kind of link.
func choiceText(choices []links.Choice) string {
	var said []string
	for _, c := range choices {
		said = append(said, OneLine(errors.New(c.String())))
	}
	return strings.Join(said, "; ")
}

// OpenNamed opens the device that f names. If f names none, it returns nil: OpenAt then opens the
// device, once the connection to the peer gives the address.
func (a *App) OpenNamed(f *DeviceFlags) (*verbs.Device, error) {
	if f.Interface == "" {
		return nil, nil
	}
	return a.OpenDevice(f, f.Interface)
}

// OpenAt opens the device that f describes on the local address of conn, the connection to the
// peer. If a GID is selected by index (indexed), it opens the whole interface, because the index
// counts all addresses of the interface.
func (a *App) OpenAt(f *DeviceFlags, conn net.Conn, indexed bool) (*verbs.Device, error) {
	ap, err := netip.ParseAddrPort(conn.LocalAddr().String())
	if err != nil {
		return nil, fmt.Errorf("%v is not an address to open a device on; name one with -d", conn.LocalAddr())
	}
	device := ap.Addr().Unmap().String()
	if indexed {
		if _, _, name, err := a.Addrs(device); err == nil && name != "" {
			device = name
		}
	}
	dev, err := a.OpenDevice(f, device)
	if err != nil {
		return nil, fmt.Errorf("%w; name another address or interface with -d", err)
	}
	return dev, nil
}
