package config

import (
	"fmt"
	"strconv"

	"github.com/gorxe/gorxe/internal/serve/region"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet/links"
	"github.com/gorxe/gorxe/verbs"
)

// A field is an option: a key in a table of the file, and its meaning.
type field[T any] struct {
	key   string
	flag  string // "" in a table that is described by one flag: device and region
	usage string // description; the first word in backquotes names the value
	value func(*T) Value
}

// A section is a table of the file with its keys.
type section struct {
	name   string // "" is the top of the file
	about  string // description
	fields []field[Config]
}

func service(name, port, what string, of func(*Config) *Service, more ...field[Config]) section {
	return section{"service." + name, what, append([]field[Config]{
		{"enabled", name, "answer " + what, func(c *Config) Value { return switched(&of(c).Enabled) }},
		{"port", name + "-port", "`port` that " + name + " clients connect to: " + port, func(c *Config) Value {
			return number(&of(c).Port, 1, 65535, "")
		}},
	}, more...)}
}

// sections are the tables that occur once in a file.
var sections = []section{
	{"", "", []field[Config]{
		{"drain", "drain", "time for peers to answer and for perftest and pingpong sessions to end when the daemon stops: a `duration`",
			func(c *Config) Value { return duration(&c.Drain, 0) }},
	}},
	{"log", "what is logged to standard error", []field[Config]{
		{"level", "log-level", "minimum `level` to log; 'gorxe loglevel' changes it at run time",
			func(c *Config) Value { return level(&c.Log.Level) }},
		{"format", "log-format", "`format` of the log",
			func(c *Config) Value { return choice(&c.Log.Format, "text", "json") }},
	}},
	{"control", "the control socket, through which 'gorxe status' and others inspect the daemon", []field[Config]{
		{"socket", "control-socket", "`path` of the control socket, through which 'gorxe status' and others inspect the daemon; default: control.sock in $RUNTIME_DIRECTORY, else /run/gorxe for root, else $XDG_RUNTIME_DIR/gorxe, else /tmp/gorxe-UID", func(c *Config) Value {
			return text(&c.Control.Socket, "a path", nil)
		}},
		{"mode", "control-mode", "`mode` of the control socket; users with write permission see everything, including memory keys, and can change the log level", func(c *Config) Value {
			return mode(&c.Control.Mode)
		}},
		{"group", "control-group", "`group` of the control socket, a name or a number; default: the user's own group",
			func(c *Config) Value {
				return text(&c.Control.Group, "a group", nil)
			}},
	}},
	{"programs", "the programs socket, through which 'gorxe run' uses the devices; Linux only", []field[Config]{
		{"enabled", "programs", "serve 'gorxe run' of the users that can connect", func(c *Config) Value {
			return switched(&c.Programs.Enabled)
		}},
		{"socket", "programs-socket", "`path` of the programs socket, through which 'gorxe run' uses the devices; default: beside the control socket, programs.sock for control.sock and NAME.programs for another NAME",
			func(c *Config) Value {
				return text(&c.Programs.Socket, "a path", nil)
			}},
		{"mode", "programs-mode", "`mode` of the programs socket; users with write permission can use the devices",
			func(c *Config) Value {
				return mode(&c.Programs.Mode)
			}},
		{"group", "programs-group", "`group` of the programs socket, a name or a number; default: the user's own group",
			func(c *Config) Value {
				return text(&c.Programs.Group, "a group", nil)
			}},
		{"idle", "programs-idle", "time without a 'gorxe run' after which the daemon stops (0s: never)",
			func(c *Config) Value {
				return duration(&c.Programs.IdleTimeout, 0)
			}},
	}},
	{"metrics", "metrics for Prometheus", []field[Config]{
		{"listen", "metrics-listen", "`address` and port for /metrics, such as 127.0.0.1:9481; default: off",
			func(c *Config) Value {
				return text(&c.Metrics.Listen, "an address and a port, such as 127.0.0.1:9481 or :9481", listenable)
			}},
	}},
	{"trace", "recording of the packets of all devices; 'gorxe trace --daemon' does not need it", []field[Config]{
		{"file", "trace", "`file` to record packets in, with their payload (pcapng); default: off",
			func(c *Config) Value {
				return text(&c.Trace.File, "a path", nil)
			}},
		{"size", "trace-size", "maximum `size` of the file; a full file is renamed to end in .1, replacing the " +
			"previous one, and a new file is started", func(c *Config) Value {
			// The minimum is many times the size of the longest packet.
			return sizeWithin(&c.Trace.Size, 1<<20, 0)
		}},
	}},
	service("rping", "an rdma_cm port", "rping clients", func(c *Config) *Service { return &c.Rping }),
	service("perftest", "a TCP port", "perftest clients over RC, except ib_write_lat and -R",
		func(c *Config) *Service { return &c.Perftest },
		field[Config]{"memory", "session-memory",
			"`memory` of one perftest or pingpong client; also its maximum message size", func(c *Config) Value {
				return sizeWithin(&c.SessionMemory, 64<<10, 1<<30)
			}},
		field[Config]{"foreign_gids", "foreign-gids",
			"`networks` and addresses that perftest and pingpong clients may name as their GID, in addition to the address of their TCP connection", func(c *Config) Value { return prefixes(&c.ForeignGIDs) }},
		field[Config]{"payload", "perftest-payload",
			"`file` of the payload (--payload_file_path) that all perftest clients write and send; the daemon checks it; default: no check", func(c *Config) Value {
				return text(&c.Payload, "a path", nil)
			}}),
	service("pingpong", "a TCP port, which may be that of perftest",
		"ibv_rc_pingpong and ibv_srq_pingpong clients",
		func(c *Config) *Service { return &c.Pingpong }),
	{"service.region", "exported regions", []field[Config]{
		{"port", "region-port", "`port` that 'gorxe region' connects to: an rdma_cm port", func(c *Config) Value {
			return number(&c.Export.Port, 1, 65535, "")
		}},
		{"max_connections", "region-max-connections",
			"maximum `number` of concurrent connections to the regions of a device",
			func(c *Config) Value {
				return number(&c.Export.MaxConns, 1, verbs.MaxQP, "")
			}},
		{"max_per_peer", "region-max-per-peer", "maximum `number` of these connections from one host",
			func(c *Config) Value {
				return number(&c.Export.MaxPerPeer, 1, verbs.MaxQP, "")
			}},
	}},
}

// deviceFields are the keys of a [[device]].
var deviceFields = []field[Device]{
	{"name", "", "name of the device; default: that of the interface, or gorxe0, gorxe1 and so on for an address",
		func(d *Device) Value { return text(&d.Name, nameAllowed, isName) }},
	{"interface", "", "network interface; its addresses become GIDs",
		func(d *Device) Value { return text(&d.Interface, "a network interface", nil) }},
	{"address", "", "a local address to use instead of all those of an interface", func(d *Device) Value {
		return text(&d.Address, "an IP address of this host", isAddr)
	}},
	{"link", "", "kind of link; raw needs the capability CAP_NET_RAW, xdp also CAP_NET_ADMIN, CAP_BPF and CAP_IPC_LOCK, and auto is the best that works",
		func(d *Device) Value { return choice(&d.Link, links.Kinds()...) }},
	{"spin", "", "how long to busy-poll for more packets before sleeping", func(d *Device) Value {
		return duration(&d.Spin, verbs.MaxSpin)
	}},
	{"shards", "", "number of shards; each serves its connections on one processor at a time", func(d *Device) Value {
		return number(&d.Shards, 1, verbs.MaxShards, "half the processors, at most 8")
	}},
	{"loopback", "",
		"let queue pairs of the device that are connected to each other exchange packets in memory instead of through the " +
			"host's network stack; datagram queue pairs always use the link",
		func(d *Device) Value {
			return switched(&d.Loopback)
		}},
	{"gids", "", "which of the interface's addresses become GIDs",
		func(d *Device) Value { return choices(&d.GIDs, "v4", "v6") }},
	{"mtu", "", "largest path MTU", func(d *Device) Value { return mtu(&d.MTU) }},
	{"max_qp", "", "maximum number of queue pairs",
		func(d *Device) Value { return number(&d.MaxQP, 1, verbs.MaxQP, strconv.Itoa(verbs.MaxQP)) }},
	{"max_mr", "", "maximum number of memory regions",
		func(d *Device) Value { return number(&d.MaxMR, 1, mr.MaxRegions, strconv.Itoa(mr.DefaultMaxRegions)) }},
	{"peers", "", "networks and addresses that may communicate with the device; default: all",
		func(d *Device) Value { return prefixes(&d.Peers) }},
}

// regionFields are the keys of a [[region]].
var regionFields = []field[Region]{
	{"name", "", "name by which clients ask for it", func(r *Region) Value {
		return text(&r.Name, fmt.Sprintf("1 to %d letters, digits, dots, dashes and underscores",
			region.MaxName), isRegion)
	}},
	{"kind", "", "kind of memory", func(r *Region) Value { return choice(&r.Kind, "anonymous", "file", "shm") }},
	{"path", "", "path of the file, or name of the shared memory object",
		func(r *Region) Value { return text(&r.Path, "a path", nil) }},
	{"size", "", "size of the memory; default: that of the existing file or object",
		func(r *Region) Value { return size(&r.Size) }},
	{"mode", "", "permissions of a file or shared memory object that gorxe creates",
		func(r *Region) Value { return mode(&r.Mode) }},
	{"access", "", "operations that peers may use",
		func(r *Region) Value { return choices(&r.Access, "read", "write", "atomic") }},
	{"peers", "", "networks and addresses that may use it; default: all peers that the device allows",
		func(r *Region) Value { return prefixes(&r.Peers) }},
}
