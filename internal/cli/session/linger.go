package session

import (
	"context"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// If the last acknowledgement of the traffic is lost, the peer retransmits its last message,
// every 67 ms with the timeout of 14 that the tools use. If this end were already gone, the peer
// would retry in vain, and Linux rxe would never stop.
const (
	lingerQuiet = 200 * time.Millisecond // quiet time after which Linger returns
	LingerMax   = 3 * time.Second
)

// DisconnectTimeout is the maximum time an end of an rdma_cm connection waits for the response to
// its DREQ.
const DisconnectTimeout = 5 * time.Second

// Linger keeps queue pairs alive until no packets have arrived for lingerQuiet, at most for
// LingerMax.
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
