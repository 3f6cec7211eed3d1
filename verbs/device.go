package verbs

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/internal/nic"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
)

// Config configures a device. One of Device and Links is required.
type Config struct {
	// Name is the name of the device, for display. An empty Name means the name of the interface,
	// or "gorxe0" for a device with Links.
	Name string
	// Device is a network interface ("eth0"), each address of which becomes an entry of the GID
	// table, or one local address ("192.0.2.1", "127.0.0.2"). The device listens on UDP port 4791
	// of these addresses. Device requires Linux, and no privileges except those of Link.
	Device string
	// Link is the kind of link to open on the addresses of Device. "udp", the default, is
	// ListenUDP of package socket. "raw" is ListenRaw of package socket and requires CAP_NET_RAW.
	// "xdp" is Listen of package xdp; it requires root, and offers path MTU 2048 if the kernel
	// does not support multi-buffer frames. "auto" is [links.Choose]; [Device.LinkChoices]
	// returns the reasons for its choice. Links is not affected.
	Link string
	// Follow makes the device follow the addresses of the host: an address that Device gains
	// becomes an entry of the GID table, an address that it loses is removed, and a changed MTU
	// applies to later connections. If the interface or address does not exist yet, or no longer,
	// the device waits with the port down. See [Device.GIDs] for the effect on connections.
	// Follow requires Linux, and no privileges except those of Link.
	Follow bool
	// Links replaces Device: each link is one entry of the GID table, in this order. The device
	// closes the links.
	Links []packet.Link
	// Wrap, if set, wraps every link, for example in a [packet.Tap] or New of package fault.
	Wrap func(packet.Link) packet.Link

	// Admit, if set, selects the addresses of Device that become entries of the GID table.
	Admit func(netip.Addr) bool
	// MTU is the maximum path MTU that the device offers; 0 means the maximum of each link.
	MTU MTU
	// Peers lists the networks whose hosts may communicate with the device; default: all
	// hosts. Packets of other hosts are dropped and counted as drop_not_admitted, except those to
	// the connection manager, which rejects their requests. Connecting to other hosts fails.
	Peers []netip.Prefix

	// MaxQP and MaxMR limit the number of queue pairs and regions at a time; 0 means 1,048,560
	// and 524,288.
	MaxQP, MaxMR int
	// Spin is how long a receiving goroutine busy-polls for more packets before it sleeps: 0 means
	// 50 µs, a negative value disables busy-polling, the maximum is 1 ms. The goroutine polls only
	// while most packets arrive within that time, so an idle device uses no processor time. Polling
	// improves latency and message rate, most of all in virtual machines. Disable it to save
	// processor time on a busy but slow link.
	Spin time.Duration
	// Shards is the number of shards, 1 to [MaxShards], into which the connected queue pairs are
	// divided; one processor at a time serves a shard. 0 means half the number of processors, up to
	// 8. On udp links, each shard receives from a queue of its own. The shard of a queue pair is
	// random, so two busy queue pairs may share a processor while another is idle. A program with
	// few queue pairs, or on two processors, gains nothing from several shards. With an Observer
	// there is one shard; with a Seed, one is the default.
	Shards int
	// Loopback lets connected queue pairs of the device that are each other's peers exchange
	// packets in memory instead of through the host's network stack, where a capture on an
	// interface could see them. A [packet.Tap] in Wrap sees them as outgoing. If Wrap injects
	// faults, these queue pairs use the link.
	Loopback bool
	// Transport sets windows and acknowledgement policy. The zero value suits most programs.
	Transport TransportConfig
	// Seed makes queue pair numbers, keys and the GUID repeatable, for tests only. A peer that
	// knows the seed can compute all of them, including the keys of memory; the GUID, which every
	// peer receives, confirms a guess. 0 draws each value from crypto/rand, independently of the
	// others.
	Seed uint64
	// ConnManager starts the connection manager with the device, so that it answers requests even
	// if no program listens. Otherwise it starts with the first Listen or Dial.
	ConnManager bool
	// Observer, if set, receives the work request of each packet and its result, for traces. It
	// costs time; without it there is no cost.
	Observer Observer
	// Logger receives errors that no call could return, such as packets that the host refuses to
	// send. nil disables logging.
	Logger *slog.Logger
}

// Device is a NIC. Its methods are safe for concurrent use.
type Device struct {
	nic     *nic.Device
	name    string
	log     *slog.Logger
	netdev  atomic.Pointer[string] // see NetDev
	maxQP   int
	maxMR   int
	skipped atomic.Pointer[[]error] // see Skipped
	pds     atomic.Uint32           // ID of the latest protection domain
	owners  sync.Map                // names of clients (string) by PD ID (uint32)
	ctx     *Context                // context of objects that methods of Device create

	onHost      bool // opened by Config.Device, so its addresses are those of the host
	choices     chosenLinks
	connections connections
	watching    func()    // stops watchPort or the hostlinks.Follower
	closing     sync.Once // calls watching
}

// Open starts a device. The error names the interface or address that cannot be used, and why.
func Open(cfg Config) (*Device, error) {
	d := &Device{name: cfg.Name, log: cfg.Logger, maxQP: cfg.MaxQP, maxMR: cfg.MaxMR, onHost: cfg.Device != ""}
	d.ctx = &Context{dev: d}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.setNetDev("")
	if d.maxQP <= 0 || d.maxQP > MaxQP {
		d.maxQP = MaxQP
	}
	if d.maxMR <= 0 || d.maxMR > mr.MaxRegions {
		d.maxMR = mr.DefaultMaxRegions
	}
	if cfg.MTU != 0 && !cfg.MTU.Valid() {
		return nil, fmt.Errorf("path MTU %d: it must be 256, 512, 1024, 2048 or 4096", int(cfg.MTU))
	}
	if i := slices.IndexFunc(cfg.Peers, func(p netip.Prefix) bool { return !p.IsValid() }); i >= 0 {
		return nil, fmt.Errorf("Config.Peers[%d] is not a valid prefix", i)
	}
	links, follow, err := d.links(&cfg)
	if err != nil {
		return nil, err
	}
	d.name = cmp.Or(d.name, d.NetDev(), "gorxe0")
	if err = wrapLinks(&cfg, links); err == nil {
		d.nic, err = nic.Open(nic.Config{
			Name: d.name, Links: links, LinksOptional: cfg.Follow, Transport: cfg.Transport, Seed: cfg.Seed,
			MaxQP: d.maxQP, MaxMR: d.maxMR, MaxCQ: maxCQ, MaxSRQ: maxSRQ, Logger: cfg.Logger,
			MTU: cfg.MTU, Peers: cfg.Peers, Spin: spin(cfg.Spin), Shards: shards(&cfg), Observer: cfg.Observer,
			Loopback: cfg.Loopback,
		})
	}
	if err != nil {
		closeLinks(links)
		if follow != nil {
			follow.Close()
		}
		return nil, err
	}
	if follow == nil {
		d.watchPort(links)
	} else {
		err = follow.Start(d.nic, d.name)
		d.watching = follow.End
	}
	if err == nil && cfg.ConnManager {
		_, err = d.cm()
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

const (
	// DefaultSpin is the default of [Config.Spin].
	DefaultSpin = 50 * time.Microsecond
	// MaxSpin is the maximum of [Config.Spin].
	MaxSpin = time.Millisecond
)

// MaxShards is the maximum of [Config.Shards].
const MaxShards = nic.MaxShards

// defaultMaxShards is the maximum of the default of Config.Shards.
const defaultMaxShards = 8

// shards returns the number of shards that cfg selects.
func shards(cfg *Config) int {
	switch {
	case cfg.Observer != nil:
		return 1
	case cfg.Shards <= 0 && cfg.Seed != 0:
		return 1 // queue pair numbers depend on the number of shards, and must be the same on every host
	case cfg.Shards <= 0:
		return min(max(runtime.GOMAXPROCS(0)/2, 1), defaultMaxShards)
	}
	return min(cfg.Shards, MaxShards)
}

// spin returns the busy-poll time for a Config.Spin of d, 0 for none.
func spin(d time.Duration) time.Duration {
	switch {
	case d < 0:
		return 0
	case d == 0:
		return DefaultSpin
	}
	return min(d, MaxSpin)
}

// Close closes the device: it notifies the peers of its connections once, completes outstanding
// work with WR_FLUSH_ERR, closes the links, and ends every wait ([CQ.Wait], [Device.Event]). When
// it returns, all goroutines have ended. Closing it again has no effect. A program that exits
// without Close may leave the last message that it received unacknowledged; see
// docs/decisions/short-messages.md.
func (d *Device) Close() error {
	open := d.connections.disconnectAll()
	err := d.nic.Close()
	for _, c := range open {
		c.end(nil)
	}
	d.closing.Do(func() {
		if d.watching != nil {
			d.watching()
		}
	})
	return err
}

// checkOpen returns [ErrClosed] if the device is closed.
func (d *Device) checkOpen() error {
	select {
	case <-d.nic.Done():
		return ErrClosed
	default:
		return nil
	}
}

// Name returns the device's name.
func (d *Device) Name() string { return d.name }

// NetDev returns the name of the network interface of a device opened by Config.Device, "" while
// there is none.
func (d *Device) NetDev() string { return *d.netdev.Load() }

func (d *Device) setNetDev(name string) { d.netdev.Store(&name) }

// NodeGUID returns the GUID of the device. Without Config.Seed it is different after each Open.
func (d *Device) NodeGUID() uint64 { return d.nic.GUID() }

// Admits reports whether Config.Peers admits a host.
func (d *Device) Admits(peer netip.Addr) bool { return d.nic.Admits(peer) }

// SendError returns the latest error of the host when sending a packet, nil if there was none. It
// explains more than RETRY_EXC_ERR why a peer cannot be reached.
func (d *Device) SendError() error { return d.nic.SendError() }

// Counters returns all counters of the device by name: packets and bytes, dropped packets by reason
// ("drop_..."), what the transport did with the others ("verdict_..."), the transport's counters,
// named as the hardware counters of rxe, those of the links ("link_..."), and those of the
// connection manager ("cm_...") once it has started, named as in Linux where Linux has the same
// counter.
func (d *Device) Counters() map[string]uint64 {
	m := make(map[string]uint64)
	each := func(name string, value uint64) { m[name] = value }
	d.nic.Counters(each)
	if g := d.connections.running(); g != nil {
		g.Counters(each)
	}
	return m
}
