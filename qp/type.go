package qp

import "fmt"

// Type is the service of a queue pair. Values are those of the kernel's ib_qp_type, which
// ibv_qp_type shares.
type Type uint8

const (
	GSI Type = 1 // general services interface, QP1: UD with a fixed number
	RC  Type = 2 // reliable connection
	UC  Type = 3 // unreliable connection
	UD  Type = 4 // unreliable datagram

	numTypes = 5
)

var typeNames = [numTypes]string{GSI: "GSI", RC: "RC", UC: "UC", UD: "UD"}

// Valid is true for the types above.
func (t Type) Valid() bool { return t < numTypes && typeNames[t] != "" }

// String is the short name, such as "RC".
func (t Type) String() string {
	if t.Valid() {
		return typeNames[t]
	}
	return fmt.Sprintf("QPT(%d)", uint8(t))
}

// Connected is true for the types that talk to one remote queue pair.
func (t Type) Connected() bool { return t == RC || t == UC }
