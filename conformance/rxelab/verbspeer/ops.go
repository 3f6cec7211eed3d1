package verbspeer

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gorxe/gorxe/verbs"
)

// Script is the other end: a program for rdma-core's Python bindings. It needs a file ops.json
// with Ops in its directory.
//
//go:embed verbs_peer.py
var Script []byte

// Ops is the table of operations.
//
//go:embed ops.json
var Ops []byte

// operation is an entry of Ops.
type operation struct {
	Type    string // type of the queue pairs: UC or UD; empty: RC
	Key     string // access to the server's memory: region, window1 or window2
	Steps   []step
	Refused *step // optional last step that the server must refuse; nil: there is none
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

// step is a step of the client with the expected status, or a step that the client requests from
// the server.
type step struct {
	name string
	ask  bool
	want verbs.WCStatus
}

// UnmarshalJSON decodes ["name", status] or, for a step of the server, ["name"].
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

// operations returns the operations of Ops, by name.
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

// immediate returns the immediate data of round fill. Its bytes are all different.
func immediate(fill int) uint32 { return 0x01020304 + uint32(fill) }

// pattern returns the data of round fill.
func pattern(n, fill int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8 + fill*13)
	}
	return b
}
