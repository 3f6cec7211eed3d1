package qp

import "fmt"

// Type is the type of a queue pair. The values are those of ibv_qp_type and the kernel's
// ib_qp_type.
type Type uint8

const (
	GSI Type = 1 // general services interface: UD with the fixed number 1
	RC  Type = 2 // reliable connection
	UC  Type = 3 // unreliable connection
	UD  Type = 4 // unreliable datagram

	numTypes = 5
)

var typeNames = [numTypes]string{GSI: "GSI", RC: "RC", UC: "UC", UD: "UD"}

// Valid reports whether t is one of the types above.
func (t Type) Valid() bool { return t < numTypes && typeNames[t] != "" }

// String returns the short name, such as "RC".
func (t Type) String() string {
	if t.Valid() {
		return typeNames[t]
	}
	return fmt.Sprintf("QPT(%d)", uint8(t))
}

// Connected reports whether a queue pair of this type has exactly one peer.
func (t Type) Connected() bool { return t == RC || t == UC }
