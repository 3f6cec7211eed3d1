// Package cm has the cases of a device's connection manager: the chapter cm.
package cm

import "github.com/gorxe/gorxe/conformance"

// All returns the cases of the package.
func All() []*conformance.Case {
	return conformance.Pointers(connect, end, refuse)
}
