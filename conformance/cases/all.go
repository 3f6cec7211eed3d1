package cases

import (
	"slices"

	"github.com/gorxe/gorxe/conformance"
)

// All returns all cases in the order of the chapters.
func All() []*conformance.Case {
	var all []*conformance.Case
	for _, chapter := range [][]conformance.Case{
		header, headerReceived, icrc, psn,
		responderAdmit, responderAck, responderRead, responderDuplicate, responderOrder, responderLength,
		responderAccess, responderFlush,
		requesterAck, requesterNak, requesterRead,
		receiverNotReady, atomic,
		uc, ucWrite, ud,
		cmConnect, cmEnd, cmRefuse,
		congestion,
	} {
		for i := range chapter {
			all = append(all, &chapter[i])
		}
	}
	slices.SortStableFunc(all, func(x, y *conformance.Case) int {
		return slices.Index(conformance.Chapters(), x.Chapter()) - slices.Index(conformance.Chapters(), y.Chapter())
	})
	return all
}
