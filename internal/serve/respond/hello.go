package respond

import (
	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
)

// Kind is a family of tools.
type Kind uint8

// Kinds of tools that can be answered.
const (
	Perftest Kind = iota
	Pingpong
	kinds
)

// String returns "perftest" or "pingpong".
func (k Kind) String() string { return [...]string{"perftest", "pingpong"}[k] }

// prefixLen is the number of first bytes that identify a client.
const prefixLen = perftest.VersionLen

// identify identifies a client by its first bytes: "0000:", a LID, is a pingpong, a version is
// perftest.
func identify(b []byte) (Kind, error) {
	if b[4] == ':' {
		// Completed with the rest of a valid address, the bytes must decode.
		good := (&pingpong.Dest{}).Append(nil)
		copy(good, b)
		return Pingpong, new(pingpong.Dest).Decode(good)
	}
	v, err := perftest.DecodeVersion(b)
	if err == nil && v.Number() == 0 {
		err = perftest.ErrNoVersion
	}
	return Perftest, err
}
