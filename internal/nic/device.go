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
	"github.com/gorxe/gorxe/internal/ordered"
	"github.com/gorxe/gorxe/internal/prp"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Config configures a device for [Open].
type Config struct {
	Name          string
	Links         []packet.Link // closed with the device
	LinksOptional bool          // no link is required at Open: links may be added later
	Transport     transport.Config
	Seed          uint64 // repeatable QPNs, keys and GUID, for tests only (verbs.Config); 0: crypto/rand
	MaxQP         int
	MaxMR         int
	MaxCQ         int
	MaxSRQ        int
	MTU           qp.MTU         // largest path MTU; 0: the largest of each link
	Peers         []netip.Prefix // hosts that may send to the device; none: all hosts
	Shards        int            // number of shards, each with its own lock; 0: one
	Loopback      bool           // two queue pairs connected to each other need no link: see loopback.go
	Spin          time.Duration  // how long a receiver busy-polls before it sleeps, 0: never (see spin)
	Logger        *slog.Logger   // nil: no log
	Observer      Observer       // nil: none
}

// Device is a NIC: links, queue pairs, memory regions and completion queues. All its methods are
// safe for concurrent use.
type Device struct {
	name      string
	log       *slog.Logger
	transport transport.Config
	maxQP     int
	maxCQ     int
	maxSRQ    int
	gids      []*gid       // GID table; its locks are described in the package documentation
	table     sync.RWMutex // guards gids for readers without a shard's lock
	maxMTU    qp.MTU       // 0: no limit
	peers     admit.Hosts
	spin      time.Duration
	loopback  bool
	observer  Observer
	guid      uint64
	start     time.Time

	shards    []*shard
	shardDraw draw          // draws the shards of new queue pairs
	made      atomic.Uint64 // queue pairs created so far; QP.number of the latest
	open      atomic.Int64  // open queue pairs
	keys      *mr.Table     // looked up with a shard's keying held, changed with changing held
	changing  sync.Mutex    // serializes changes of keys; taken after all locks of shards
	atomics   sync.Mutex    // serializes atomics of several shards: see mr.Table.GuardAtomics
	groups    groups

	pollable pollable
	senders  senders

	events     *events
	port       portState
	portProbes atomic.Uint64 // datagrams that CountPortProbe has counted
	ending     atomic.Bool   // Close has begun, so links may report that they are closed; set with mu held

	linking    sync.Mutex // serializes adding and removing links and joining groups
	departures uint64     // number of removed links; guarded by linking
	adding     sync.Mutex // serializes addUp

	mu        sync.Mutex
	cqs       ordered.List[*CQ]  // guarded by mu
	cqOver    bool               // no more CQs are accepted; guarded by mu
	srqs      ordered.List[*SRQ] // guarded by mu
	links     []*attachedLink    // guarded by mu
	leftLinks packet.Stats       // sum of the counters of removed links; guarded by mu

	closing  sync.Once
	closeErr error
	done     chan struct{} // closed once the links are closed
	running  sync.WaitGroup
}

// Open starts a device over the links of cfg. If there is no error, the device owns the links and
// closes them.
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
		name: cfg.Name, log: cfg.Logger, transport: cfg.Transport, maxQP: cfg.MaxQP, maxCQ: cfg.MaxCQ,
		maxSRQ: cfg.MaxSRQ, maxMTU: cfg.MTU, peers: admit.NewHosts(cfg.Peers), spin: cfg.Spin,
		loopback: cfg.Loopback, observer: cfg.Observer, start: time.Now(), guid: secret.guid(),
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

// newGIDs returns the GID table entries of cfg.Links.
func newGIDs(cfg *Config) (gids []*gid, err error) {
	switch n := len(cfg.Links); {
	case n == 0 && !cfg.LinksOptional:
		return nil, errors.New("a device needs at least one link")
	case n > maxGIDs:
		return nil, fmt.Errorf(
			"%d addresses are more than the %d GIDs that an address vector can name: open the device on one of them", n,
			maxGIDs)
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

// now returns the time that machines use: nanoseconds since Open.
func (d *Device) now() transport.Time { return transport.Time(time.Since(d.start)) }

// Now returns the device's time in nanoseconds since Open.
func (d *Device) Now() transport.Time { return d.now() }

// Name returns the name of the device in logs.
func (d *Device) Name() string { return d.name }

// Logger returns the device's logger.
func (d *Device) Logger() *slog.Logger { return d.log }

// Go calls f in a goroutine that Close waits for: f must return once Done is closed.
func (d *Device) Go(f func()) { d.running.Go(f) }

// Closing reports whether Close has begun. Links may then report that they are closed.
func (d *Device) Closing() bool { return d.ending.Load() }

// CountPortProbe counts a datagram that was sent, not by a link but from a separate socket, to find
// out whether a host listens on the RoCEv2 port.
func (d *Device) CountPortProbe() { d.portProbes.Add(1) }

// Admits reports whether a host may send to the device (Config.Peers). Packets of other hosts are
// dropped before their ICRC is computed, except those to QP1, which the connection manager
// answers. Address vectors of connections to such hosts are rejected.
func (d *Device) Admits(peer netip.Addr) bool { return d.peers.Has(peer) }

// GUID returns the node GUID, a locally administered EUI-64 that differs for each device:
// connection managers of peers distinguish instances of a host by it.
func (d *Device) GUID() uint64 { return d.guid }

// Done returns a channel that is closed when the device is closed.
func (d *Device) Done() <-chan struct{} { return d.done }

// Close flushes every queue pair, closes the links, ends all waits, and returns when all
// goroutines of the device have ended. Further calls wait for the first and return its result.
func (d *Device) Close() error {
	d.closing.Do(func() {
		d.sendHeldACKs()
		// The links first: closing wakes a caller that waits in Send with a shard's lock held.
		err := d.closeLinks()
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

// port is the number of the device's only port.
const port = 1

// portState determines the state of the port: active while the network interface is up and the
// device has a link. mu guards it, except links while the device opens.
type portState struct {
	mu    sync.Mutex
	down  bool // the network interface is down
	links int
}

func (p *portState) active() bool { return !p.down && p.links > 0 }

// PortChanged sets the state of the network interface and raises PORT_ACTIVE or PORT_ERR if the
// state of the port changes with it. A device opens with its interface up.
func (d *Device) PortChanged(up bool) {
	d.port.change(d, func(p *portState) { p.down = !up })
}

// linksChanged adds n to the number of links.
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

// PortActive reports whether the port is active, that is, can send and receive.
func (d *Device) PortActive() bool {
	d.port.mu.Lock()
	defer d.port.mu.Unlock()
	return d.port.active()
}

// fatalFailures is the number of consecutive receive errors after which the device reports
// DEVICE_FATAL: with the pauses between them, about one second.
const fatalFailures = 10

// failed handles err, an error of Link.Recv; failures is the number of consecutive errors. It
// reports whether to keep receiving: true unless the link is closed. It raises DEVICE_FATAL at the
// fatalFailures-th consecutive error, and if the link is closed although Device.Close has not
// begun.
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

// secrets generates values that peers must not be able to guess, a separate one for each use, none
// of which reveals another: from crypto/rand or, if seed is not 0, from seed.
type secrets struct{ seed uint64 }

func (s secrets) of(use string) (secret [32]byte) {
	if s.seed == 0 {
		rand.Read(secret[:])
		return secret
	}
	return sha256.Sum256(fmt.Appendf(nil, "gorxe %d %s", s.seed, use))
}

// guid returns a random EUI-64 with the local bit set and the group bit clear. (In a GUID the
// local bit is the second lowest of the first octet, the group bit the lowest.)
func (s secrets) guid() uint64 {
	const local, group = 0x02 << 56, 0x01 << 56
	secret := s.of("GUID")
	return (binary.BigEndian.Uint64(secret[:]) | local) &^ group
}

// Queue pair numbers 0 (SMI), 1 (GSI) and 0xffffff (multicast) are reserved by the IBA; Linux rxe
// does not assign numbers below 16 either.
const (
	firstQPN = bth.QPN(16)
	lastQPN  = bth.MulticastQPN - 1
)

// qpns assigns queue pair numbers in an order that depends on a secret, so a peer cannot compute
// the numbers of other connections from the number of its own. A number is reused after at least
// 15/16 of all numbers: a peer keeps the number of a closed connection in TIME-WAIT for seconds and
// rejects new connections with this number meanwhile.
type qpns struct {
	walk prp.Walk
	next uint64
}

func newQPNs(secret [32]byte) qpns { return qpns{walk: prp.NewWalk(prp.New(secret))} }

// take returns the next number for which used returns false. The caller ensures that there is such
// a number.
func (a *qpns) take(used func(bth.QPN) bool) bth.QPN {
	for {
		number, _ := a.walk.At(a.next)
		a.next++
		if n := bth.QPN(number); n >= firstQPN && n <= lastQPN && !used(n) {
			return n
		}
	}
}
