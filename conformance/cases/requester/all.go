// Package requester has the cases of a device that is the requester of a reliable connection: the
// chapter requester.
package requester

import "github.com/gorxe/gorxe/conformance"

// All returns the cases of the package.
func All() []*conformance.Case {
	return conformance.Pointers(acks, naks, reads, repeats)
}
