package pingpong

import (
	"testing"

	"github.com/gorxe/gorxe/verbs"
)

func TestOnlyTheLastUnacknowledgedMessageMayBeAPartingPeer(t *testing.T) {
	e := &end{params: &params{iters: 10}}
	lost := verbs.WC{WRID: pingpongSend, Status: verbs.WCRetryExcErr}
	for _, c := range []struct {
		name           string
		wc             verbs.WC
		sent, received int
		want           bool
	}{
		{"everything came, the last send is not acknowledged", lost, 9, 10, true},
		{"a message of the peer is missing", lost, 9, 9, false},
		{"two sends are missing", lost, 8, 10, false},
		{"the peer refused the last send", verbs.WC{WRID: pingpongSend, Status: verbs.WCRemInvReqErr}, 9, 10, false},
		{"the peer has no receive", verbs.WC{WRID: pingpongSend, Status: verbs.WCRNRRetryExcErr}, 9, 10, false},
		{"a receive failed", verbs.WC{WRID: pingpongRecv, Status: verbs.WCRetryExcErr}, 9, 10, false},
	} {
		if got := e.partedWell(&c.wc, c.sent, c.received); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
