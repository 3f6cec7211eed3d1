// Package cm has the cases of a device's connection manager: the chapter cm.
package cm

import "github.com/gorxe/gorxe/conformance"

// All returns the cases of the package.
func All() []*conformance.Case {
	var all []*conformance.Case
	for _, table := range [][]conformance.Case{
		connect, end, refuse,
	} {
		for i := range table {
			all = append(all, &table[i])
		}
	}
	return all
}
