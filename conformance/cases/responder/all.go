// Package responder has the cases of a device that is the responder of a reliable connection: the
// chapters icrc, psn, responder, rnr and atomic.
package responder

import "github.com/gorxe/gorxe/conformance"

// All returns the cases of the package.
func All() []*conformance.Case {
	return conformance.Pointers(icrc, psn, admit, acknowledges, reads, duplicates, order, lengths, access, flushes,
		receiverNotReady, atomic)
}
