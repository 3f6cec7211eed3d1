// Package requester has the cases of a device that is the requester of a reliable connection: the
// chapter requester.
package requester

import "github.com/gorxe/gorxe/conformance"

// All returns the cases of the package.
func All() []*conformance.Case {
	var all []*conformance.Case
	for _, table := range [][]conformance.Case{
		acks, naks, reads,
	} {
		for i := range table {
			all = append(all, &table[i])
		}
	}
	return all
}
