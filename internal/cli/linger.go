package cli

import (
	"context"
	"time"

	"github.com/gorxe/gorxe"
)

// When the last acknowledgement of a tool's traffic is lost, the peer sends its last message again, every 67 ms with the
// timeout of 14 that the tools use. An end that is already gone would leave it trying, for ever if it is Linux rxe.
const (
	lingerQuiet = 200 * time.Millisecond // end when nothing came for so long
	lingerMax   = 3 * time.Second
)

// linger keeps qp alive until its peer has been quiet for a while.
func linger(ctx context.Context, qp *gorxe.QP) {
	tick := time.NewTicker(lingerQuiet)
	defer tick.Stop()
	seen := qp.Counters().ReceivedPackets
	for range lingerMax / lingerQuiet {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := qp.Counters().ReceivedPackets
		if now == seen {
			return
		}
		seen = now
	}
}
