// Package config reads the configuration of a daemon from a TOML file and from equivalent flags,
// with defaults that suffice without either. Every option is in one table (fields.go), which
// defines the keys of the file, the flags, and the reference in docs/operations.md.
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

// Config is the configuration of a daemon.
type Config struct {
	Log      Log
	Control  Control
	Programs Programs
	Metrics  Metrics
	Trace    Trace
	Drain    time.Duration // maximum time to end connections
	Devices  []Device      // default: those that the host suggests
	Rping    Service
	Perftest Service
	Pingpong Service
	Regions  []Region
	Export   Export

	SessionMemory uint64 // of one perftest or pingpong client, in bytes
	// ForeignGIDs are the networks of GIDs that a perftest or pingpong client may use although its
	// TCP connection comes from another address.
	ForeignGIDs []netip.Prefix
	// Payload is the file with the payload that perftest clients write and send; "" disables
	// the check.
	Payload string

	at map[string]string // file position or flag of each option that is not a default, by key
}

// Log configures the log.
type Log struct {
	Level  slog.Level
	Format string // "text" or "json"
}

// Control configures the Unix socket for diagnostics.
type Control struct {
	Socket string      // "" means that of DefaultSocket
	Mode   fs.FileMode // of the socket
	Group  string      // group of the socket, a name or a number; "" keeps that of the process
}

// Programs configures the socket through which 'gorxe run' uses the devices.
type Programs struct {
	Enabled     bool
	Socket      string        // "" means one next to the control socket
	Mode        fs.FileMode   // of the socket
	Group       string        // group of the socket, a name or a number; "" keeps that of the process
	IdleTimeout time.Duration // time without a program after which the daemon stops; 0 means never
}

// Metrics configures the metrics for Prometheus.
type Metrics struct {
	Listen string // host:port, "" disables them
}

// Trace configures the file with the packets of all devices.
type Trace struct {
	File string // "" if there is none
	Size uint64 // maximum size of a file in bytes; there are up to two
}

// Device configures one device.
type Device struct {
	Name      string // "" is replaced by Interface, or gorxe0 etc.
	Interface string // either this or Address
	Address   string
	Link      string         // kind of link
	Spin      time.Duration  // how long receivers busy-poll before they sleep
	Shards    int            // number of shards; 0 means half the processors
	Loopback  bool           // queue pairs of the device exchange packets in memory
	GIDs      []string       // of "v4", "v6"
	MTU       int            // maximum path MTU in bytes; 0 means what the interface allows
	MaxQP     int            // 0 means the maximum
	MaxMR     int            // likewise
	Peers     []netip.Prefix // hosts that may communicate with it; default: all

	At string // file position or flag
}

// On returns the interface or address that the device is opened on.
func (d *Device) On() string {
	if d.Address != "" {
		return d.Address
	}
	return d.Interface
}

// Service configures a service of the built-in server.
type Service struct {
	Enabled bool
	Port    int // TCP port, or port of the RDMA port space TCP
}

// Export configures the export of regions.
type Export struct {
	Port       int // of the RDMA port space TCP
	MaxConns   int // connections of a device at a time
	MaxPerPeer int // of one host
}

// Region configures memory that peers can access by its name.
type Region struct {
	Name   string
	Kind   string      // "anonymous", "file" or "shm"
	Path   string      // of a file; name of a shared memory object
	Size   uint64      // in bytes; 0 means the size of the file
	Mode   fs.FileMode // of a file that is created
	Access []string
	Peers  []netip.Prefix // hosts that may use it; default: all peers that the device allows

	At string // file position or flag
}

// Default returns the configuration without a file and flags.
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

// At returns the file position or flag of an option by its key, such as "log.level"; "" for a
// default.
func (c *Config) At(key string) string { return c.at[key] }

// DefaultDevice returns a device with defaults on an interface or address.
func DefaultDevice(on string) Device {
	d := defaultDevice()
	bareDevice(&d, on)
	return d
}

// PathMTU returns the path MTU of the device on an interface with MTU of, for display.
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
