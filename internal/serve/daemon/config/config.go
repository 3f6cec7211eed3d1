// Package config reads what a daemon is to be: a TOML file, flags that say the same, and
// defaults that are enough without either. Every option is in one table (fields.go), from
// which the file, the flags and the reference in docs/operations.md come.
package config

import (
	"io/fs"
	"log/slog"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/internal/serve/region"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/verbs"
)

// Config is everything that can be chosen.
type Config struct {
	Log      Log
	Control  Control
	Programs Programs
	Metrics  Metrics
	Trace    Trace
	Drain    time.Duration // how long connections are given to end
	Devices  []Device      // none means the one that the host suggests
	Rping    Service
	Perftest Service
	Pingpong Service
	Regions  []Region
	Export   Export

	SessionMemory uint64         // of one client of perftest or a pingpong, in bytes
	ForeignGIDs   []netip.Prefix // that clients of both may name although their TCP connection has another address
	Payload       string         // file with what clients of perftest write and send; "" looks at nothing

	at map[string]string // where what is not a default was said, by key
}

// Log says what is logged and how.
type Log struct {
	Level  slog.Level
	Format string // "text" or "json"
}

// Control is the socket through which the daemon is looked into.
type Control struct {
	Socket string      // "" means the place that DefaultSocket names
	Mode   fs.FileMode // of the socket
	Group  string      // that owns the socket, a name or a number; "" leaves the user's
}

// Programs is the socket through which 'gorxe run' runs programs on the devices.
type Programs struct {
	Enabled bool
	Socket  string        // "" means one beside the control socket
	Mode    fs.FileMode   // of the socket
	Group   string        // that owns the socket, a name or a number; "" leaves the user's
	Idle    time.Duration // how long the daemon may be without a program before it stops; 0 is for ever
}

// Metrics is where Prometheus finds its metrics.
type Metrics struct {
	Listen string // host:port, "" for nowhere
}

// Trace is the file with the packets of all devices.
type Trace struct {
	File string // "" for none
	Size uint64 // of a file in bytes; there are two at most
}

// Device is one RNIC.
type Device struct {
	Name      string // "" is replaced by Interface, or gorxe0 and so on
	Interface string // this or Address
	Address   string
	Link      string         // kind of link
	Spin      time.Duration  // how long receivers look before they sleep
	Shards    int            // parts that queue pairs are divided into, 0 is half the processors
	Loopback  bool           // queue pairs of the device exchange packets in memory
	GIDs      []string       // of "v4", "v6"
	MTU       int            // largest path MTU in bytes, 0 for what the interface allows
	MaxQP     int            // 0 is the largest number there is
	MaxMR     int            // likewise
	Peers     []netip.Prefix // who may talk to it; none means everybody

	At string // where it was said
}

// On is the interface or address that the device is opened on.
func (d *Device) On() string {
	if d.Address != "" {
		return d.Address
	}
	return d.Interface
}

// Service is a responder to a tool.
type Service struct {
	Enabled bool
	Port    int // TCP port, or that of the RDMA port space TCP
}

// Export is how regions are exported.
type Export struct {
	Port       int // of the RDMA port space TCP
	MaxConns   int // connections of a device at a time
	MaxPerPeer int // of one host
}

// Region is memory that peers may use by its name.
type Region struct {
	Name   string
	Kind   string      // "anonymous", "file" or "shm"
	Path   string      // of a file; name of a shared memory object
	Size   uint64      // in bytes; 0 of a file is its own
	Mode   fs.FileMode // of a file that is made
	Access []string
	Peers  []netip.Prefix // none means all that the device admits

	At string // where it was said
}

// Default is the configuration without file and flags.
func Default() Config {
	return Config{
		Log:      Log{Level: slog.LevelInfo, Format: "text"},
		Control:  Control{Mode: 0o600},
		Programs: Programs{Enabled: true, Mode: 0o600},
		Trace:    Trace{Size: 256 << 20},
		Drain:    10 * time.Second,
		Rping:    Service{Enabled: true, Port: 7174},
		Perftest: Service{Enabled: true, Port: 18515},
		Pingpong: Service{Enabled: true, Port: 18515},
		Export:   Export{region.Port, region.DefaultMaxConns, region.DefaultMaxPerPeer},

		SessionMemory: 64 << 20,
		at:            map[string]string{},
	}
}

// At tells where an option, named by its key as in "log.level", was given; "" where it was not.
func (c *Config) At(key string) string { return c.at[key] }

// DefaultDevice is a device on an interface or address of which nothing else was chosen.
func DefaultDevice(on string) Device {
	d := defaultDevice()
	bareDevice(&d, on)
	return d
}

// PathMTU is what the device offers on an interface with an MTU, for people.
func (d *Device) PathMTU(of int) string {
	n := qp.MTUForLink(of)
	if d.MTU != 0 {
		n = min(n, qp.MTU(d.MTU))
	}
	return n.String()
}

func defaultDevice() Device {
	return Device{Link: "udp", Spin: verbs.DefaultSpin, Loopback: true, GIDs: []string{"v4", "v6"}}
}

func defaultRegion() Region { return Region{Kind: "anonymous", Access: []string{"read"}, Mode: 0o600} }
