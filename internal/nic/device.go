package nic

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/nic/admit"
	"github.com/gorxe/gorxe/internal/prp"
	"github.com/gorxe/gorxe/internal/roster"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Config is what a device is opened with.
type Config struct {
	Name      string
	Links     []packet.Link // closed with the device
	Waits     bool          // links may come later: there may be none yet
	Transport transport.Config
	Seed      uint64 // decides queue pair numbers, keys and the GUID, for tests: see verbs.Config; 0 for crypto/rand
	MaxQP     int
	MaxMR     int
	MaxCQ     int
	MaxSRQ    int
	MTU       qp.MTU         // largest path MTU, 0 for what each link carries
	Peers     []netip.Prefix // who may talk to the device; none means everybody
	Shards    int            // how many there are, each with a lock of its own; 0 is one: see the package
	Loopback  bool           // connected queue pairs of the device exchange packets without the link: see loopback.go
	Spin      time.Duration  // how long a receiver looks for the next batch before it sleeps, 0 for not at all: see spin
	Logger    *slog.Logger   // nil is silence
	Observer  Observer       // nil is nobody
}

// Device is a NIC: links, and the queue pairs, regions and queues that live on them.
type Device struct {
	name      string
	log       *slog.Logger
	transport transport.Config
	maxQP     int
	maxCQ     int
	maxSRQ    int
	gids      []*gid       // the GID table; doc.go says what guards it
	table     sync.RWMutex // of gids, for readers without a shard's lock
	maxMTU    qp.MTU       // 0 for any
	peers     admit.Hosts
	spin      time.Duration
	loopback  bool
	observer  Observer
	guid      uint64
	start     time.Time

	shards    []*shard
	shardDraw draw          // chooses shards of new queue pairs
	made      atomic.Uint64 // queue pairs, ever: their numbers
	open      atomic.Int64  // queue pairs there are
	keys      *mr.Table     // looked up with a shard's keying held, changed with changing: see doc.go
	changing  sync.Mutex    // taken after all locks of shards
	atomics   sync.Mutex    // serializes atomics of several shards: see mr.Table.GuardAtomics
	groups    groups

	pollable pollable
	senders  senders

	events     *events
	port       portState
	portProbes atomic.Uint64 // datagrams that asked whether anything listens, from sockets of their own
	ending     atomic.Bool   // Close has begun: links may say that they are closed; set with mu held

	linking    sync.Mutex // links come and go, and groups are joined, one at a time
	departures uint64     // links that were removed, guarded by linking
	adding     sync.Mutex // counters are added up one at a time

	mu        sync.Mutex
	cqs       roster.List[*CQ]  // guarded by mu
	cqOver    bool              // guarded by mu: no more are made
	srqs      roster.List[*SRQ] // guarded by mu
	wires     []*wire           // guarded by mu
	leftLinks packet.Stats      // of links that were removed, guarded by mu

	closing  sync.Once
	closeErr error
	done     chan struct{} // closed when the links are
	running  sync.WaitGroup
}

// Open starts a device over the links of cfg. They belong to it from then on, and only
// if there is no error.
func Open(cfg Config) (*Device, error) {
	cfg.Shards = min(max(cfg.Shards, 1), MaxShards)
	gids, err := newGIDs(&cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	secret := secrets{cfg.Seed}
	d := &Device{
		name: cfg.Name, log: cfg.Logger, transport: cfg.Transport, maxQP: cfg.MaxQP, maxCQ: cfg.MaxCQ, maxSRQ: cfg.MaxSRQ,
		maxMTU: cfg.MTU, peers: admit.NewHosts(cfg.Peers), spin: cfg.Spin, loopback: cfg.Loopback, observer: cfg.Observer,
		start: time.Now(), guid: secret.guid(),
		keys: mr.NewTable(secret.of("keys"), cfg.MaxMR), shardDraw: newDraw(secret.of("shards")),
		done: make(chan struct{}), events: newEvents(),
	}
	d.keys.GuardAtomics(&d.atomics)
	for i := range cfg.Shards {
		d.shards = append(d.shards, newShard(d, i, cfg.Shards > 1, secret.of(fmt.Sprint("queue pair numbers ", i))))
	}
	for _, s := range d.shards {
		d.running.Go(s.pump)
	}
	d.enterAll(gids)
	return d, nil
}

// newGIDs makes the entries of the links that cfg opens the device with.
func newGIDs(cfg *Config) (gids []*gid, err error) {
	switch n := len(cfg.Links); {
	case n == 0 && !cfg.Waits:
		return nil, errors.New("a device needs at least one link")
	case n > maxGIDs:
		return nil, fmt.Errorf("%d addresses are more than the %d GIDs that an address vector can name: open the device on one of them", n, maxGIDs)
	}
	for i, l := range cfg.Links {
		g, err := newGID(l, cfg.MTU, cfg.Shards)
		if err != nil {
			return nil, fmt.Errorf("link %d: %w", i, err)
		}
		g.index = i
		gids = append(gids, g)
	}
	return gids, nil
}

// now is the time that machines are told: nanoseconds since Open.
func (d *Device) now() transport.Time { return transport.Time(time.Since(d.start)) }

// Now returns the time that the device counts in nanoseconds, from when it was opened.
func (d *Device) Now() transport.Time { return d.now() }

// Name returns the name of the device, for the log.
func (d *Device) Name() string { return d.name }

// Logger returns where the device logs.
func (d *Device) Logger() *slog.Logger { return d.log }

// Go calls f in a goroutine for which Close waits: f has to return once Done is closed.
func (d *Device) Go(f func()) { d.running.Go(f) }

// Closing reports whether Close has begun. Links may say then that they are closed.
func (d *Device) Closing() bool { return d.ending.Load() }

// PortProbed counts a datagram that asks a host whether anything listens, and was sent from a socket of its own.
func (d *Device) PortProbed() { d.portProbes.Add(1) }

// Admits reports whether a host may talk to the device. Packets of others are dropped before anything
// is computed for them, except those to QP1: the connection manager has an answer for them. No
// connection leads to them.
func (d *Device) Admits(peer netip.Addr) bool { return d.peers.Has(peer) }

// GUID is the node GUID, an EUI-64 of the locally administered kind, different for each
// device: a connection manager's peer tells instances apart by it.
func (d *Device) GUID() uint64 { return d.guid }

// Done is closed when the device is.
func (d *Device) Done() <-chan struct{} { return d.done }

// Close flushes every queue pair, closes the links, ends every wait, and returns when
// no goroutine of the device is left. Closing again waits for the same and returns the same.
func (d *Device) Close() error {
	d.closing.Do(func() {
		d.sendHeldACKs()
		// The links first: it wakes a poster that waits in Send with the lock held.
		err := d.closeWires()
		for _, s := range d.shards {
			s.close()
		}
		close(d.done)
		d.running.Wait()
		d.closeCQs()
		d.events.close()
		d.closeErr = err
	})
	return d.closeErr
}

// port is the number of a device's only port.
const port = 1

// portState is what the port's state comes from: it is active while the network interface is
// up and the device has a link. It is guarded by its lock, but links while the device opens.
type portState struct {
	mu    sync.Mutex
	down  bool // the network interface
	links int
}

func (p *portState) active() bool { return !p.down && p.links > 0 }

// PortChanged takes note of the state of the network interface and raises PORT_ACTIVE or
// PORT_ERR if the state of the port changes with it. A device opens with its interface up.
func (d *Device) PortChanged(up bool) {
	d.port.change(d, func(p *portState) { p.down = !up })
}

// linksChanged takes note of n more links.
func (p *portState) linksChanged(d *Device, n int) {
	p.change(d, func(p *portState) { p.links += n })
}

func (p *portState) change(d *Device, change func(*portState)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.active()
	change(p)
	switch is := p.active(); {
	case is && !was:
		d.events.raise(AsyncEvent{Type: qp.EventPortActive, Port: port})
	case was && !is:
		d.events.raise(AsyncEvent{Type: qp.EventPortErr, Port: port})
	}
}

// PortActive is true while the port can send and receive.
func (d *Device) PortActive() bool {
	d.port.mu.Lock()
	defer d.port.mu.Unlock()
	return d.port.active()
}

// fatalFailures is how often in a row receiving must fail before it counts as over: with
// the pauses in between that is about a second.
const fatalFailures = 10

// failed takes note of an error of Link.Recv, the failures-th in a row, and says whether to
// go on. What fails for good raises DEVICE_FATAL: a link that somebody else closed, and one
// that fails again and again, which is tried on all the same.
func (d *Device) failed(failures int, err error) bool {
	over := errors.Is(err, net.ErrClosed)
	if over && d.ending.Load() {
		return false
	}
	if over || failures == fatalFailures {
		d.log.Error("receiving failed for good", "device", d.name, "error", err)
		d.events.raise(AsyncEvent{Type: qp.EventDeviceFatal})
	}
	if !over {
		d.log.Warn("receiving failed", "device", d.name, "error", err, "failures", failures)
	}
	return !over
}

// secrets draws what peers must not guess, a secret for each use, none of which tells another:
// from crypto/rand, or from a seed that is not 0.
type secrets struct{ seed uint64 }

func (s secrets) of(use string) (secret [32]byte) {
	if s.seed == 0 {
		rand.Read(secret[:])
		return secret
	}
	return sha256.Sum256(fmt.Appendf(nil, "gorxe %d %s", s.seed, use))
}

// guid draws an EUI-64 of the locally administered, individual kind. (In an EUI-64
// that stands in a GUID the bit that marks it is the one next to the lowest of the first
// octet, the lowest is that of a group.)
func (s secrets) guid() uint64 {
	const local, group = 0x02 << 56, 0x01 << 56
	secret := s.of("GUID")
	return (binary.BigEndian.Uint64(secret[:]) | local) &^ group
}

// Queue pair numbers 0 (SMI), 1 (GSI) and 0xffffff (multicast) are taken by the IBA;
// Linux rxe hands out nothing below 16 either.
const (
	firstQPN = bth.QPN(16)
	lastQPN  = bth.MulticastQPN - 1
)

// qpns hands out queue pair numbers in an order that only the secret tells, so that no peer
// computes the number of another's connection from its own. A number comes back after at least
// 15/16 of the others: a peer keeps the number of a closed connection in its time-wait state for
// seconds and refuses it until then.
type qpns struct {
	walk prp.Walk
	next uint64
}

func newQPNs(secret [32]byte) qpns { return qpns{walk: prp.NewWalk(prp.New(secret))} }

// take returns the next number that used does not know. The caller sees to it that
// there is one.
func (a *qpns) take(used func(bth.QPN) bool) bth.QPN {
	for {
		number, _ := a.walk.At(a.next)
		a.next++
		if n := bth.QPN(number); n >= firstQPN && n <= lastQPN && !used(n) {
			return n
		}
	}
}
