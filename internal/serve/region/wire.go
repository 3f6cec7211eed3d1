package region

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/gorxe/gorxe/verbs"
)

const (
	magic   = "gxrg"
	version = 1

	requestLen = verbs.DialPrivateLen
	replyLen   = 28
	nameAt     = 8
)

// MaxName is the maximum length of a name in bytes.
const MaxName = requestLen - nameAt

// CheckName returns an error if name is not valid as the name of a region.
func CheckName(name string) error {
	const punctuation = "._-"
	if len(name) == 0 || len(name) > MaxName || name[0] == '-' || strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
			!strings.ContainsRune(punctuation, r)
	}) >= 0 {
		return fmt.Errorf("invalid region name %q: use 1 to %d letters, digits, dots, dashes and underscores, not starting with a dash", name, MaxName)
	}
	return nil
}

// Access is a set of rights of peers on a region.
type Access uint8

// Rights, with their values on the wire.
const (
	Read Access = 1 << iota
	Write
	Atomic
)

var accessNames = []struct {
	right Access
	name  string
	verbs verbs.Access // rights on the queue pair
	local verbs.Access // additional rights on the region
}{
	{Read, "read", verbs.RemoteRead, 0},
	{Write, "write", verbs.RemoteWrite, verbs.LocalWrite},
	{Atomic, "atomic", verbs.RemoteAtomic, verbs.LocalWrite},
}

const allAccess = Read | Write | Atomic

// ParseAccess returns the rights with these names: read, write, atomic.
func ParseAccess(names []string) (a Access, err error) {
	for _, name := range names {
		had := a
		for _, n := range accessNames {
			if n.name == name {
				a |= n.right
			}
		}
		if a == had && !a.has(name) {
			return 0, fmt.Errorf("there is no right %q: there are read, write and atomic", name)
		}
	}
	return a, nil
}

func (a Access) has(name string) bool {
	for _, n := range a.Names() {
		if n == name {
			return true
		}
	}
	return false
}

// Names returns the names of the rights.
func (a Access) Names() []string {
	names := []string{}
	for _, n := range accessNames {
		if a&n.right != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

func (a Access) String() string { return strings.Join(a.Names(), ",") }

// verbs returns the rights of a queue pair and of the region that it serves.
func (a Access) verbs() (queuePair, region verbs.Access) {
	for _, n := range accessNames {
		if a&n.right != 0 {
			queuePair |= n.verbs
			region |= n.verbs | n.local
		}
	}
	return queuePair, region
}

// request returns the private data of a request for a region, or with "" for the directory.
func request(name string) []byte {
	p := make([]byte, requestLen)
	copy(p, magic)
	p[4], p[5] = version, byte(len(name))
	copy(p[nameAt:], name)
	return p
}

var errRequest = errors.New("not a request for a region of version 1")

// parseRequest returns the name that a client requests, "" for the directory.
func parseRequest(p []byte) (string, error) {
	if len(p) < requestLen || string(p[:4]) != magic || p[4] != version || p[5] > MaxName || p[6]|p[7] != 0 {
		return "", errRequest
	}
	name, rest := p[nameAt:nameAt+int(p[5])], p[nameAt+int(p[5]):requestLen]
	if len(bytes.Trim(rest, "\x00")) > 0 || len(name) > 0 && CheckName(string(name)) != nil {
		return "", errRequest
	}
	return string(name), nil
}

// location describes a region to a client.
type location struct {
	access Access
	addr   uint64
	length uint64
	rkey   uint32
}

func (l *location) encode() []byte {
	p := make([]byte, replyLen)
	copy(p, magic)
	p[4], p[5] = version, byte(l.access)
	binary.BigEndian.PutUint64(p[8:], l.addr)
	binary.BigEndian.PutUint64(p[16:], l.length)
	binary.BigEndian.PutUint32(p[24:], l.rkey)
	return p
}

// parseReply decodes the reply of a server. It ignores rights that this version does not know.
func parseReply(p []byte) (l location, err error) {
	if len(p) < replyLen || string(p[:4]) != magic {
		return l, ErrProtocol
	}
	if p[4] != version {
		return l, fmt.Errorf("%w: it speaks version %d, this end version %d", ErrProtocol, p[4], version)
	}
	l = location{Access(p[5]) & allAccess, binary.BigEndian.Uint64(p[8:]), binary.BigEndian.Uint64(p[16:]),
		binary.BigEndian.Uint32(p[24:])}
	if l.length > 0 && l.addr+(l.length-1) < l.addr {
		return l, fmt.Errorf("%w: %d bytes at address %#x go past the end of the address space", ErrProtocol,
			l.length, l.addr)
	}
	return l, nil
}

// A Refusal is the reason why a server rejects a request.
type Refusal uint8

// Refusals, with their values on the wire. 0 is not used: a program that sends no private data
// seems to send zeros.
const (
	NoRegion   Refusal = 1 // no such region, or not for this client
	Busy       Refusal = 2 // limit of connections, in total or of this host
	BadRequest Refusal = 3 // private data is not a valid request
)

// Errors of a client, for errors.Is.
var (
	// ErrNoRegion is the error of [NoRegion].
	ErrNoRegion = errors.New("no such region, or access denied")
	// ErrBusy is the error of [Busy].
	ErrBusy = errors.New("the server's connection limit is reached, in all or for this host: try again later")
	// ErrBadRequest is the error of [BadRequest].
	ErrBadRequest = errors.New("the other end does not understand the request: it may be of another version")
	// ErrProtocol means that the program at the address does not export regions.
	ErrProtocol = errors.New("the server does not export regions")
)

var refusals = map[Refusal]error{NoRegion: ErrNoRegion, Busy: ErrBusy, BadRequest: ErrBadRequest}
