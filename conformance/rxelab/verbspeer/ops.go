package verbspeer

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gorxe/gorxe/verbs"
)

// Script is the other end: a program for rdma-core's Python bindings. It wants a file ops.json with Ops next to itself.
//
//go:embed verbs_peer.py
var Script []byte

// Ops is the table of operations.
//
//go:embed ops.json
var Ops []byte

// operation is what an entry of Ops says.
type operation struct {
	Type    string // of the queue pairs: UC or UD; empty: RC
	Key     string // what the server opens its memory with: region, window1 or window2
	Steps   []step
	Refused *step // what the server must refuse at last, when that is asked for; nil: it refuses nothing
}

func (o *operation) service() verbs.QPType {
	switch o.Type {
	case "UC":
		return verbs.UC
	case "UD":
		return verbs.UD
	}
	return verbs.RC
}

// step is an act of the client with the status it must end with, or a question to the server.
type step struct {
	name string
	ask  bool
	want verbs.WCStatus
}

// UnmarshalJSON reads ["name", status] or, of a question, ["name"].
func (s *step) UnmarshalJSON(b []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	if len(parts) != 1 && len(parts) != 2 {
		return fmt.Errorf("step %s: want a name and at most a status", b)
	}
	s.ask = len(parts) == 1
	if err := json.Unmarshal(parts[0], &s.name); err != nil || s.ask {
		return err
	}
	return json.Unmarshal(parts[1], &s.want)
}

// operations returns what Ops says, by name.
func operations() (all map[string]*operation, err error) {
	err = json.Unmarshal(Ops, &all)
	return all, err
}

// find returns an operation of Ops.
func find(name string) (*operation, error) {
	all, err := operations()
	if err != nil {
		return nil, err
	}
	if op := all[name]; op != nil {
		return op, nil
	}
	return nil, fmt.Errorf("operation %q: choose one of %v", name, slices.Sorted(maps.Keys(all)))
}

// immediate is what round fill sends beside the data. No two of its bytes are alike.
func immediate(fill int) uint32 { return 0x01020304 + uint32(fill) }

// pattern is what round fill writes.
func pattern(n, fill int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8 + fill*13)
	}
	return b
}
