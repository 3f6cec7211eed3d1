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

// Config says what a device stands on. One of Device and Links is needed.
type Config struct {
	// Name is for people; empty means the name of the interface, or "gorxe0" for a device made of Links.
	Name string
	// Device is a network interface ("eth0"), of which every address becomes an entry of
	// the GID table, or one local address ("192.0.2.1", "127.0.0.2"). The device listens
	// on UDP port 4791 of these addresses. It needs Linux, and no privileges but those that Link says.
	Device string
	// Link is the kind of the links that are opened on the addresses of Device. "udp", which "" stands for,
	// is ListenUDP of package socket; "raw" is its ListenRaw and takes the capability CAP_NET_RAW; "xdp" is Listen of package xdp,
	// takes root and offers path MTU 2048 where the kernel has no frames in several buffers; "auto" is
	// [links.Choose], and [Device.LinkChoices] says why. Links are as they are.
	Link string
	// Follow lets the device follow the host: an address that Device gets becomes an entry of
	// the GID table, one that it loses goes from it, and a changed MTU counts for what is
	// connected from then on. An interface or address that does not exist yet, or not any
	// more, is waited for, with the port down. See [Device.GIDs] for what becomes of what is
	// connected. It needs Linux, and no privileges but those of Link.
	Follow bool
	// Links are used instead of Device: each is one entry of the GID table, in this order.
	// The device closes them.
	Links []packet.Link
	// Wrap, if set, is put around every link, such as [packet.Tap] or New of package fault.
	Wrap func(packet.Link) packet.Link

	// Admit, if set, chooses which addresses of Device become entries of the GID table.
	Admit func(netip.Addr) bool
	// MTU is the largest path MTU that the device offers; 0 is what each link carries.
	MTU MTU
	// Peers are the networks whose hosts may talk to the device; none means everybody. What
	// others send is dropped and counted as drop_not_admitted, except to the connection
	// manager, which turns them away; and no connection to them can be made.
	Peers []netip.Prefix

	// MaxQP and MaxMR limit how many queue pairs and regions can exist at one time;
	// 0 means 1,048,560 and 524,288.
	MaxQP, MaxMR int
	// Spin is for how long a receiver that has dealt with packets looks for the next ones before it
	// sleeps: 0 means 50 µs, a negative value not at all, 1 ms is the most. It looks only while packets mostly
	// come that soon, so an idle device uses no processor. Latency and message rate gain, in
	// virtual machines the most; who counts every cycle of a busy but slow link sets it to -1.
	Spin time.Duration
	// Shards is how many parts the connected queue pairs are divided into, each of which a
	// processor serves by itself: 1 to [MaxShards]; 0 means half as many as there are processors, 8
	// at most. Where the link is udp each receives by a queue of its own. The shard of a queue pair
	// is drawn at random, so two busy ones may share a processor while another is idle. A program
	// with few queue pairs, or with two processors, gains nothing by several. With an Observer
	// there is one, and unless told otherwise with a Seed.
	Shards int
	// Loopback lets connected queue pairs of the device that are each other's peers, and in one shard,
	// exchange packets in memory: not through the host's network stack, where a capture on an interface
	// could see them. A [packet.Tap] of Wrap sees them as outgoing; with faults of Wrap they go by the link.
	Loopback bool
	// Transport sets windows and acknowledgement policy. The zero value is right for most.
	Transport TransportConfig
	// Seed makes queue pair numbers, keys and the GUID repeatable, for tests only: a peer that knows the
	// seed computes all of them, the keys of memory included, and the GUID, which every peer is
	// told, confirms a guess. 0 draws each from crypto/rand, independent of the others.
	Seed uint64
	// ConnManager starts the connection manager with the device, so that it answers requests
	// though nobody listens. Otherwise it starts with the first Listen or Dial.
	ConnManager bool
	// Observer, if set, is told which work requests packets belong to and what comes of them, for traces. It costs time;
	// without it nothing does.
	Observer Observer
	// Logger gets what no call could report, such as packets the host refuses to send.
	// nil is silence.
	Logger *slog.Logger
}

// Device is a NIC. Its methods may be called by many goroutines.
type Device struct {
	nic     *nic.Device
	name    string
	log     *slog.Logger
	netdev  atomic.Pointer[string]
	maxQP   int
	maxMR   int
	skipped atomic.Pointer[[]error]
	pds     atomic.Uint32
	owners  sync.Map // names of clients by the ID of a protection domain: uint32 to string
	ctx     *Context // of objects that are made by methods of the device

	onHost      bool // its addresses are the host's: it was opened by Config.Device
	choices     linkChoices
	connections connections
	watching    func() // ends what watchPort or a hostlinks.Follower began
	closing     sync.Once
}

// Open starts a device. The error says what is wrong with which interface or address.
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
		return nil, fmt.Errorf("Config.Peers: number %d is no network: make it by netip.ParsePrefix, "+
			"or PrefixFrom with as many bits as the address has at most", i)
	}
	links, follow, err := d.links(&cfg)
	if err != nil {
		return nil, err
	}
	d.name = cmp.Or(d.name, d.NetDev(), "gorxe0")
	if err = wrapLinks(&cfg, links); err == nil {
		d.nic, err = nic.Open(nic.Config{
			Name: d.name, Links: links, Waits: cfg.Follow, Transport: cfg.Transport, Seed: cfg.Seed,
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
	// DefaultSpin is what 0 means as [Config.Spin].
	DefaultSpin = 50 * time.Microsecond
	// MaxSpin is the most that it can be.
	MaxSpin = time.Millisecond
)

// MaxShards is the most that [Config.Shards] can be.
const MaxShards = nic.MaxShards

// usualShards is the most that there are unasked.
const usualShards = 8

func shards(cfg *Config) int {
	switch {
	case cfg.Observer != nil:
		return 1
	case cfg.Shards <= 0 && cfg.Seed != 0:
		return 1 // numbers depend on how many there are, and are to be the same on every host
	case cfg.Shards <= 0:
		return min(max(runtime.GOMAXPROCS(0)/2, 1), usualShards)
	}
	return min(cfg.Shards, MaxShards)
}

func spin(d time.Duration) time.Duration {
	switch {
	case d < 0:
		return 0
	case d == 0:
		return DefaultSpin
	}
	return min(d, MaxSpin)
}

// Close ends the device: the peers of its connections are told once, outstanding work completes with WR_FLUSH_ERR, links are closed,
// every wait ([CQ.Wait], [Device.Event]) returns, and no goroutine is left. Closing again does nothing. A program that exits
// without it may leave the last message that it received unacknowledged: see docs/decisions/short-messages.md.
func (d *Device) Close() error {
	open := d.connections.hangUp()
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

// NetDev returns the name of the network interface of a device opened by Config.Device, ""
// while there is none.
func (d *Device) NetDev() string { return *d.netdev.Load() }

func (d *Device) setNetDev(name string) { d.netdev.Store(&name) }

// NodeGUID returns the GUID of this instance: every Open gives another one.
func (d *Device) NodeGUID() uint64 { return d.nic.GUID() }

// Admits is true for a host that Config.Peers lets talk to the device.
func (d *Device) Admits(peer netip.Addr) bool { return d.nic.Admits(peer) }

// SendError returns the latest error with which the host refused to send a packet, nil if
// it never did. It tells more than a RETRY_EXC_ERR about a peer that cannot be reached.
func (d *Device) SendError() error { return d.nic.SendError() }

// Counters returns all counters of the device by name: packets and bytes, packets dropped
// by reason ("drop_..."), what the transport made of the others ("verdict_..."), the
// transport's own, named as rxe's hardware counters, the links' ("link_..."), and, once it has
// started, the connection manager's ("cm_..."), named as Linux' where it has the same.
func (d *Device) Counters() map[string]uint64 {
	m := make(map[string]uint64)
	each := func(name string, value uint64) { m[name] = value }
	d.nic.Counters(each)
	if g := d.connections.running(); g != nil {
		g.Counters(each)
	}
	return m
}
