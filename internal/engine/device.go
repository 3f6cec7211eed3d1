package engine

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/transport"
)

// Config is what a device is opened with.
type Config struct {
	Name      string
	Links     []packet.Link // closed with the device
	Transport transport.Config
	Seed      uint64 // of queue pair numbers, keys and the GUID; 0 takes a random one
	MaxQP     int
	MaxMR     int
	MaxCQ     int
	MaxSRQ    int
	Logger    *slog.Logger // nil is silence
}

// Device is a NIC: links, and the queue pairs, regions and queues that live on them.
type Device struct {
	name      string
	log       *slog.Logger
	transport transport.Config
	maxQP     int
	maxCQ     int
	maxSRQ    int
	gids      []*gid
	guid      uint64
	start     time.Time

	shard *shard
	keys  *mr.Table // read under one shard's lock, changed under all
	srqs  int       // shared receive queues, guarded by the shard's lock

	events   *events
	portDown atomic.Bool
	ending   atomic.Bool // Close has begun: links may say that they are closed

	joining sync.Mutex // attaching to multicast groups goes one at a time

	mu  sync.Mutex
	cqs map[*CQ]struct{} // guarded by mu, nil once closed

	closing  sync.Once
	closeErr error
	done     chan struct{} // closed when the links are
	running  sync.WaitGroup
}

// Open starts a device over the links of cfg. They belong to it from then on, and only
// if there is no error.
func Open(cfg Config) (*Device, error) {
	gids, err := newGIDs(cfg.Links)
	if err != nil {
		return nil, err
	}
	if cfg.Seed == 0 {
		cfg.Seed = randomSeed()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	seeds := seedSequence(cfg.Seed)
	d := &Device{
		name: cfg.Name, log: cfg.Logger, transport: cfg.Transport, maxQP: cfg.MaxQP, maxCQ: cfg.MaxCQ, maxSRQ: cfg.MaxSRQ,
		gids: gids, start: time.Now(), guid: localGUID(seeds.next()),
		keys: mr.NewTable(seeds.next(), cfg.MaxMR),
		cqs:  make(map[*CQ]struct{}), done: make(chan struct{}), events: newEvents(),
	}
	d.shard = newShard(d, seeds.next())
	for _, g := range gids {
		d.running.Go(newInbox(g, d.shard).run)
	}
	d.running.Go(d.shard.pump)
	return d, nil
}

// now is the time that machines are told: nanoseconds since Open.
func (d *Device) now() transport.Time { return transport.Time(time.Since(d.start)) }

// GUID is the node GUID, an EUI-64 of the locally administered kind, different for each
// device: a connection manager's peer tells instances apart by it.
func (d *Device) GUID() uint64 { return d.guid }

// Done is closed when the device is.
func (d *Device) Done() <-chan struct{} { return d.done }

// Close flushes every queue pair, closes the links, ends every wait, and returns when
// no goroutine of the device is left. Closing again waits for the same and returns the same.
func (d *Device) Close() error {
	d.closing.Do(func() {
		d.ending.Store(true)
		// The links first: it wakes a poster that waits in Send with the lock held.
		var errs []error
		for _, g := range d.gids {
			if err := g.link.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
		d.shard.close()
		close(d.done)
		d.running.Wait()
		d.closeCQs()
		d.events.close()
		d.closeErr = errors.Join(errs...)
	})
	return d.closeErr
}

// seedSequence derives independent seeds from one (splitmix64).
type seedSequence uint64

func (s *seedSequence) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func randomSeed() uint64 {
	var b [8]byte
	rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:]) | 1
}

// localGUID makes an EUI-64 of the locally administered, individual kind. (In an EUI-64
// that stands in a GUID the bit that marks it is the one next to the lowest of the first
// octet, the lowest is that of a group.)
func localGUID(r uint64) uint64 {
	const local, group = 0x02 << 56, 0x01 << 56
	return (r | local) &^ group
}
