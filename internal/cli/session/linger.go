package session

import (
	"context"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// When the last acknowledgement of a tool's traffic is lost, the peer sends its last message again, every 67 ms with the
// timeout of 14 that the tools use. An end that is already gone would leave it trying, for ever if it is Linux rxe.
const (
	lingerQuiet = 200 * time.Millisecond // end when nothing came for so long
	LingerMax   = 3 * time.Second
)

// DisconnectTimeout is how long an end of an rdma_cm connection waits for the peer to answer its DREQ.
const DisconnectTimeout = 5 * time.Second

// Linger keeps queue pairs alive until their peer has been quiet for a while.
func Linger(ctx context.Context, qps ...*verbs.QP) {
	tick := time.NewTicker(lingerQuiet)
	defer tick.Stop()
	packets := func() (n uint64) {
		for _, q := range qps {
			n += q.Counters().ReceivedPackets
		}
		return n
	}
	seen := packets()
	for range LingerMax / lingerQuiet {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := packets()
		if now == seen {
			return
		}
		seen = now
	}
}
