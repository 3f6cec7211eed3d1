package cases

import (
	"slices"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases/cm"
	"github.com/gorxe/gorxe/conformance/cases/requester"
	"github.com/gorxe/gorxe/conformance/cases/responder"
)

// All returns all cases in the order of the chapters.
func All() []*conformance.Case {
	all := slices.Concat(conformance.Pointers(header, headerReceived, uc, ucWrite, ud, congestion),
		responder.All(), requester.All(), cm.All())
	slices.SortStableFunc(all, func(x, y *conformance.Case) int {
		return slices.Index(conformance.Chapters(), x.Chapter()) - slices.Index(conformance.Chapters(), y.Chapter())
	})
	return all
}
