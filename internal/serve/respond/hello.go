package respond

import (
	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
)

// Kind is a family of tools.
type Kind uint8

// The tools that are answered.
const (
	Perftest Kind = iota
	Pingpong
	kinds
)

// String returns "perftest" or "pingpong".
func (k Kind) String() string { return [...]string{"perftest", "pingpong"}[k] }

// tellLen is how many of a client's first bytes tell what it is.
const tellLen = perftest.VersionLen

// tell says whose first bytes these are: of a pingpong "0000:", a LID; of perftest a version.
func tell(b []byte) (Kind, error) {
	if b[4] == ':' {
		// The rest of what is a good address decodes; what is cut off is put there.
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
