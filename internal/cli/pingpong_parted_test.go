package cli

import (
	"testing"

	"github.com/gorxe/gorxe"
)

func TestOnlyTheLastUnacknowledgedMessageMayBeAPartingPeer(t *testing.T) {
	e := &pingpongEnd{params: &pingpongParams{iters: 10}}
	lost := gorxe.WC{WRID: pingpongSend, Status: gorxe.WCRetryExcErr}
	for _, c := range []struct {
		name           string
		wc             gorxe.WC
		sent, received int
		want           bool
	}{
		{"everything came, the last send is not acknowledged", lost, 9, 10, true},
		{"a message of the peer is missing", lost, 9, 9, false},
		{"two sends are missing", lost, 8, 10, false},
		{"the peer refused the last send", gorxe.WC{WRID: pingpongSend, Status: gorxe.WCRemInvReqErr}, 9, 10, false},
		{"the peer has no receive", gorxe.WC{WRID: pingpongSend, Status: gorxe.WCRNRRetryExcErr}, 9, 10, false},
		{"a receive failed", gorxe.WC{WRID: pingpongRecv, Status: gorxe.WCRetryExcErr}, 9, 10, false},
	} {
		if got := e.partedWell(&c.wc, c.sent, c.received); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
