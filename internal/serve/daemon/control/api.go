// Package control is the control API of a running daemon: HTTP and JSON on a Unix socket. It
// contains the [Server], the [Client], and the types that they exchange. Anyone who can open the
// socket can see everything, including the keys of memory regions.
//
// The paths start with a version, /v1/. Within a version, fields are added but not changed. The
// server rejects unknown paths, methods, query keys and body fields with a 4xx status and
// {"error": "why"}.
package control

import (
	"net/netip"
	"time"
)

// Status is the response of GET /v1/status.
type Status struct {
	Version  string    `json:"version"`
	PID      int       `json:"pid"`
	State    string    `json:"state"` // "starting", "running", "draining"
	Started  time.Time `json:"started"`
	LogLevel string    `json:"log_level"`
	Socket   string    `json:"socket"`
	Metrics  string    `json:"metrics"` // address of /metrics, "" if there is none
	Devices  []Device  `json:"devices"`
	Services []Service `json:"services"`
	Regions  []Region  `json:"regions"`

	ProgramsSocket string    `json:"programs_socket"` // socket for 'gorxe run', "" if there is none
	Programs       []Program `json:"programs"`
}

// Program is a process that 'gorxe run' runs on a device.
type Program struct {
	Program  string `json:"program"` // PID in the namespace of its 'gorxe run', and name of its executable
	User     uint32 `json:"uid"`
	Device   string `json:"device"`
	Contexts int    `json:"contexts"` // open device files
}

// Device describes a device and its port.
type Device struct {
	Name      string         `json:"name"`
	Interface string         `json:"interface"`
	NodeGUID  string         `json:"node_guid"`
	Port      string         `json:"port"` // "PORT_ACTIVE" or "PORT_DOWN"
	MTU       int            `json:"active_mtu"`
	GIDs      []GID          `json:"gids"`
	Skipped   []string       `json:"skipped"`    // addresses that are not among the GIDs, and why
	Peers     []netip.Prefix `json:"peers"`      // hosts that may communicate with it; default: all
	SendError string         `json:"send_error"` // latest error of the host when sending
	QPs       int            `json:"qps"`
	MaxQPs    int            `json:"max_qps"`
	MRs       int            `json:"mrs"`
	MaxMRs    int            `json:"max_mrs"`
}

// GID is an entry of a device's GID table.
type GID struct {
	Index int        `json:"index"`
	GID   string     `json:"gid"`
	Addr  netip.Addr `json:"address"`
	Link  string     `json:"link"`
	MTU   int        `json:"mtu"`
}

// Service describes a service of the built-in server.
type Service struct {
	Name string `json:"name"`
	Port int    `json:"port"`
}

// Region describes an exported region of a device.
type Region struct {
	Device      string         `json:"device"`
	Name        string         `json:"name"`
	Kind        string         `json:"kind"`
	Path        string         `json:"path"` // of a file or shared memory object
	Length      uint64         `json:"length"`
	Access      []string       `json:"access"`
	Peers       []netip.Prefix `json:"peers"` // hosts that may use it; default: all peers of the device
	Connections int            `json:"connections"`
	// Error is the error of the last access to a truncated file, "" if there was none.
	Error string `json:"error"`
}

// QP is an element of the response of GET /v1/qps, {"qps": [...]}.
type QP struct {
	Device    string            `json:"device"`
	Number    uint64            `json:"number"` // position in the order of creation
	QPN       uint32            `json:"qpn"`
	Type      string            `json:"type"`
	State     string            `json:"state"`
	PD        uint32            `json:"pd"`
	Age       float64           `json:"age_seconds"`
	GIDIndex  int               `json:"gid_index"` // -1 without a peer
	Local     netip.Addr        `json:"local_address"`
	Remote    netip.Addr        `json:"remote_address"`
	RemoteQPN uint32            `json:"remote_qpn"`
	MTU       int               `json:"path_mtu"`
	SendPSN   uint32            `json:"send_psn"`
	AckPSN    uint32            `json:"ack_psn"`
	RecvPSN   uint32            `json:"recv_psn"`
	Unacked   int               `json:"unacknowledged_packets"`
	Window    uint32            `json:"window_packets"`
	Reads     int               `json:"outstanding_reads"`
	Retries   uint8             `json:"retries_left"`
	RNRLeft   uint8             `json:"rnr_retries_left"`
	RNRWait   bool              `json:"rnr_wait"`
	Early     int               `json:"early_requests_held"`
	SendQueue int               `json:"send_queue"`
	SendDepth int               `json:"send_depth"`
	RecvQueue int               `json:"recv_queue"`
	RecvDepth int               `json:"recv_depth"`
	SRQ       uint64            `json:"srq"` // 0 if there is none
	SendCQ    uint64            `json:"send_cq"`
	RecvCQ    uint64            `json:"recv_cq"`
	Program   string            `json:"program"`  // owner: see [Program]; "" for the daemon itself
	Counters  map[string]uint64 `json:"counters"` // non-zero counters
}

// MR is an element of the response of GET /v1/mrs, {"mrs": [...]}: a region or a window.
type MR struct {
	Device      string `json:"device"`
	Number      uint64 `json:"number"`
	Kind        string `json:"kind"` // "region", "fast", "window1", "window2"
	Key         string `json:"key"`  // L_Key and R_Key, in hexadecimal; it gives access to the memory
	PD          uint32 `json:"pd"`
	OpensMemory bool   `json:"opens_memory"` // false for an unbound window or an unregistered fast region
	Address     string `json:"address"`      // in hexadecimal
	Length      uint64 `json:"length"`
	Access      string `json:"access"`
	Windows     int    `json:"windows"`    // number of windows bound to the region
	Parent      string `json:"parent_key"` // of a bound window
	QPN         uint32 `json:"qpn"`        // of a bound window of type 2
	Program     string `json:"program"`    // as that of a QP
}

// CQ is an element of the response of GET /v1/cqs, {"cqs": [...]}.
type CQ struct {
	Device     string `json:"device"`
	Number     uint64 `json:"number"`
	Len        int    `json:"completions"`
	Depth      int    `json:"depth"`
	Users      int    `json:"users"`
	Waiting    int    `json:"waiting"`
	Channel    bool   `json:"channel"`
	Overflowed bool   `json:"overflowed"`
}

// SRQ is an element of the response of GET /v1/srqs, {"srqs": [...]}.
type SRQ struct {
	Device string `json:"device"`
	Number uint64 `json:"number"`
	PD     uint32 `json:"pd"`
	Len    int    `json:"receives"`
	Depth  int    `json:"depth"`
	Limit  int    `json:"limit"`
	Users  int    `json:"users"`
}

// Group is an element of the response of GET /v1/groups, {"groups": [...]}.
type Group struct {
	Device  string     `json:"device"`
	Addr    netip.Addr `json:"address"`
	Members []uint32   `json:"qpns"`
}

// CM is an element of the response of GET /v1/cms, {"cms": [...]}: a connection, including those
// that are being established or have just ended.
type CM struct {
	Device    string         `json:"device"`
	LocalID   uint32         `json:"local_id"`
	RemoteID  uint32         `json:"remote_id"`
	State     string         `json:"state"`
	PortSpace string         `json:"port_space"`
	Local     netip.AddrPort `json:"local"`
	Remote    netip.AddrPort `json:"remote"`
	QPN       uint32         `json:"qpn"`
	RemoteQPN uint32         `json:"remote_qpn"`
	Age       float64        `json:"age_seconds"`
}

// Stats is an element of the response of GET /v1/stats, {"stats": [...]}.
type Stats struct {
	Device   string            `json:"device"` // "" for the built-in server, which serves all devices
	Counters map[string]uint64 `json:"counters"`
}

// Log is the response of GET /v1/log, and the body of PUT /v1/log.
type Log struct {
	Level string `json:"level"`
}

// Problem is the body of every error response.
type Problem struct {
	Error string `json:"error"`
}
