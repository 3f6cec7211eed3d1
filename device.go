package gorxe

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/gorxe/gorxe/internal/engine"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
)

// Config says what a device stands on. One of Device and Links is needed.
type Config struct {
	// Name is for people; empty means "gorxe0".
	Name string
	// Device is a network interface ("eth0"), of which every address becomes an entry of
	// the GID table, or one local address ("192.0.2.1", "127.0.0.2"). The device listens
	// on UDP port 4791 of these addresses. It needs Linux, and no privileges.
	Device string
	// Links are used instead of Device: each is one entry of the GID table, in this order.
	// The device closes them.
	Links []packet.Link
	// Wrap, if set, is put around every link, such as [packet.Tap] or [packet.Fault].
	Wrap func(packet.Link) packet.Link

	// MaxQP and MaxMR limit how many queue pairs and regions can exist at one time;
	// 0 means 1,048,560 and 524,288.
	MaxQP, MaxMR int
	// Transport sets windows and acknowledgement policy. The zero value is right for most.
	Transport TransportConfig
	// Seed makes queue pair numbers and keys repeatable, for tests. 0 takes a random one:
	// they keep their unpredictability, which is part of their safety.
	Seed uint64
	// Logger gets what no call could report, such as packets the host refuses to send.
	// nil is silence.
	Logger *slog.Logger
}

// Device is a NIC. Its methods may be called by many goroutines.
type Device struct {
	engine  *engine.Device
	name    string
	netdev  string
	maxQP   int
	maxMR   int
	skipped []error
	pds     atomic.Uint32

	onHost      bool // its addresses are the host's: it was opened by Config.Device
	connections connections
	watching    func() // ends what watchPort began
	closing     sync.Once
}

// Open starts a device. The error says what is wrong with which interface or address.
func Open(cfg Config) (*Device, error) {
	d := &Device{name: cfg.Name, maxQP: cfg.MaxQP, maxMR: cfg.MaxMR}
	d.onHost = cfg.Device != ""
	if d.name == "" {
		d.name = "gorxe0"
	}
	if d.maxQP <= 0 || d.maxQP > maxQP {
		d.maxQP = maxQP
	}
	if d.maxMR <= 0 || d.maxMR > mr.MaxRegions {
		d.maxMR = mr.DefaultMaxRegions
	}
	links, err := d.links(&cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Wrap != nil {
		for i, l := range links {
			links[i] = cfg.Wrap(l)
		}
	}
	d.engine, err = engine.Open(engine.Config{
		Name: d.name, Links: links, Transport: cfg.Transport, Seed: cfg.Seed,
		MaxQP: d.maxQP, MaxMR: d.maxMR, MaxCQ: maxCQ, MaxSRQ: maxSRQ, Logger: cfg.Logger,
	})
	if err != nil {
		closeLinks(links)
		return nil, err
	}
	d.watchPort(links)
	if cfg.Logger != nil {
		for _, err := range d.skipped {
			cfg.Logger.Warn("address left out", "device", d.name, "error", err)
		}
	}
	return d, nil
}

// links returns those of cfg, or opens a UDP link on each address of its device.
func (d *Device) links(cfg *Config) ([]packet.Link, error) {
	switch {
	case cfg.Device == "" && len(cfg.Links) == 0:
		return nil, errors.New("nothing to open: Config needs Device, an interface name or a local address, or Links")
	case cfg.Device != "" && len(cfg.Links) > 0:
		return nil, errors.New("Config has both Device and Links: give one")
	case cfg.Device == "":
		return slices.Clone(cfg.Links), nil
	}
	addrs, _, ifname, err := packet.HostAddrs(cfg.Device)
	if err != nil {
		return nil, err
	}
	d.netdev = ifname
	var links []packet.Link
	for _, a := range addrs {
		l, err := packet.ListenUDP(a, packet.UDPOptions{})
		switch {
		case err == nil:
			links = append(links, l)
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			// An IPv6 address is tentative for a second after it was set.
			d.skipped = append(d.skipped, err)
		default:
			closeLinks(links)
			return nil, err
		}
	}
	if len(links) == 0 {
		return nil, fmt.Errorf("no address of %s can be used: %w", cfg.Device, errors.Join(d.skipped...))
	}
	return links, nil
}

func closeLinks(links []packet.Link) {
	for _, l := range links {
		// What failed before is what the caller has to hear of.
		_ = l.Close()
	}
}

// Close ends the device: the peers of its connections are told once, outstanding work completes with WR_FLUSH_ERR, links are closed,
// every wait ([CQ.Wait], [Device.Event]) returns, and no goroutine is left. Closing again does nothing.
func (d *Device) Close() error {
	d.connections.hangUp()
	err := d.engine.Close()
	d.closing.Do(func() {
		if d.watching != nil {
			d.watching()
		}
	})
	return err
}

// Name returns the device's name.
func (d *Device) Name() string { return d.name }

// NetDev returns the name of the network interface of a device opened by Config.Device.
func (d *Device) NetDev() string { return d.netdev }

// NodeGUID returns the GUID of this instance: every Open gives another one.
func (d *Device) NodeGUID() uint64 { return d.engine.GUID() }

// Skipped returns why addresses of Config.Device are not in the GID table, nil if all are.
func (d *Device) Skipped() []error { return d.skipped }

// SendError returns the latest error with which the host refused to send a packet, nil if
// it never did. It tells more than a RETRY_EXC_ERR about a peer that cannot be reached.
func (d *Device) SendError() error { return d.engine.SendError() }

// Counters returns all counters of the device by name: packets and bytes, packets dropped
// by reason ("drop_..."), what the transport made of the others ("verdict_..."), the
// transport's own, named as rxe's hardware counters, and the links' ("link_...").
func (d *Device) Counters() map[string]uint64 {
	m := make(map[string]uint64)
	d.engine.Counters(func(name string, value uint64) { m[name] = value })
	return m
}

// AllocPD makes a protection domain: regions and queue pairs of different domains do not
// reach each other.
func (d *Device) AllocPD() *PD {
	return &PD{dev: d, pd: &mr.PD{ID: d.pds.Add(1)}}
}

// PD is a protection domain.
type PD struct {
	dev *Device
	pd  *mr.PD
}

// Device returns the device the domain is on.
func (p *PD) Device() *Device { return p.dev }
