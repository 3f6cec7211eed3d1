// Package region implements both ends of exported regions: named memory that a daemon lets peers
// access by one-sided verbs. A client requests a region by its name when it connects through
// rdma_cm in the port space TCP; the answer contains its location. The client then uses RDMA READs,
// WRITEs and atomics, but no SENDs. Numbers are big-endian; bytes not listed are 0.
//
//	private data of the REQ                  of the REP
//	byte 0  "gxrg"                           byte 0  "gxrg"
//	byte 4  version, 1                       byte 4  version, 1
//	byte 5  length of the name, 0 to 48      byte 5  rights: 1 READ, 2 WRITE, 4 atomics
//	byte 8  name                             byte 8  address of the first byte
//	                                         byte 16 length in bytes
//	                                         byte 24 rkey
//
// A name has 1 to 48 bytes: ASCII letters and digits, dots, dashes and underscores, not starting
// with a dash. Without a name the client gets the directory, a readable region: a [Directory] as
// JSON, with the regions that this client may use.
//
// A refusal is a REJ with reason 28, consumer defined, whose private data starts with a
// [Refusal]. A request for a region that the client may not use is rejected as if the region did
// not exist.
//
// The server's queue pair has only the rights of the region, and is in a protection domain that
// contains only this region: the key of another region is invalid there. The server detects dead
// clients by empty WRITEs to them, so clients grant REMOTE_WRITE to their queue pair, as rdma_cm
// does by default.
//
// [Server.Export] registers a region, and [Server.Serve] answers requests with one goroutine per
// connection; the mutex of the Server guards its regions, places and counters. A client uses
// [Dial] and [Conn].
package region

import "time"

// Port is the port of exported regions in the port space TCP.
const Port = 7175

// Default limits.
const (
	// DefaultMaxConns is the default maximum number of connections of a server.
	DefaultMaxConns = 1024
	// DefaultMaxPerPeer is the default maximum number of connections of one host.
	DefaultMaxPerPeer = 64
	// DefaultKeepAlive is the default interval in which a server checks idle clients.
	DefaultKeepAlive = 10 * time.Second
)
