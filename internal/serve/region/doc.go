// Package region is both ends of exported regions: memory with a name that a daemon lets peers
// reach by one-sided verbs. A client asks for a region by its name when it connects by rdma_cm
// in the port space TCP, and learns where it is from the answer; from then on there are RDMA
// READs, WRITEs and atomics, no SENDs. Numbers are big-endian; what is not named is 0.
//
//	private data of the REQ                  of the REP
//	byte 0  "gxrg"                           byte 0  "gxrg"
//	byte 4  version, 1                       byte 4  version, 1
//	byte 5  length of the name, 0 to 48      byte 5  rights: 1 READ, 2 WRITE, 4 atomics
//	byte 8  the name                         byte 8  address of the first byte
//	                                         byte 16 length in bytes
//	                                         byte 24 rkey
//
// A name has 1 to 48 bytes: letters and digits of ASCII, dots, dashes and underscores, no dash
// first. Without a name the client gets the directory, a region to be read: a [Directory] as
// JSON, with those regions that this client may use.
//
// A refusal is a REJ with reason 28, consumer defined, whose private data begins with a
// [Refusal]. A region that the client may not use is refused as one that does not exist.
//
// The server's queue pair has the rights of the region and no others, and is in a protection
// domain that only this region is in: the key of another is worth nothing there. A server finds
// out that a client is gone by empty WRITEs to it, so clients grant REMOTE_WRITE to their queue
// pair, as rdma_cm does by default.
package region

import "time"

// Port is where regions are exported in the port space TCP.
const Port = 7175

// Limits where nobody says others.
const (
	// DefaultMaxConns is how many connections a server has at a time.
	DefaultMaxConns = 1024
	// DefaultMaxPerPeer is how many of them one host may have.
	DefaultMaxPerPeer = 64
	// DefaultKeepAlive is how often a server looks whether an idle client is there.
	DefaultKeepAlive = 10 * time.Second
)
