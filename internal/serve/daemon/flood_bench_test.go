package daemon

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/serve/rping"
)

// flooding makes the peer send REQs as fast as it can until stop.
func (f *flooded) flooding() (stop func()) {
	var over atomic.Bool
	var sending sync.WaitGroup
	sending.Go(func() {
		for !over.Load() {
			if err := f.flood(1000); err != nil {
				f.t.Error(err)
				return
			}
		}
	})
	return func() {
		over.Store(true)
		sending.Wait()
	}
}

// underFlood runs a benchmark of the honest host on a quiet network, and while another peer sends
// REQs as fast as it can.
func underFlood(b *testing.B, bench func(b *testing.B, f *flooded)) {
	for _, name := range []string{"quiet", "flood"} {
		b.Run(name, func(b *testing.B) {
			f := newFlooded(b)
			f.ping()
			if name == "flood" {
				defer f.flooding()()
			}
			b.ResetTimer()
			bench(b, f)
			b.StopTimer()
			if name == "flood" {
				b.ReportMetric(float64(f.next)/b.Elapsed().Seconds(), "REQs/s")
			}
		})
	}
}

// BenchmarkHonestConnection connects to the daemon's rping server, pings once and disconnects,
// over UDP sockets.
func BenchmarkHonestConnection(b *testing.B) {
	underFlood(b, func(b *testing.B, f *flooded) {
		f.pings.Count, f.pings.Size = 1, rping.DefaultSize
		for b.Loop() {
			f.ping()
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "connections/s")
	})
}

// BenchmarkHonestPing pings over one connection: two SENDs and a READ, two SENDs and a WRITE.
func BenchmarkHonestPing(b *testing.B) {
	underFlood(b, func(b *testing.B, f *flooded) {
		var longest time.Duration
		last := time.Now()
		f.pings.Count, f.pings.Size = uint64(b.N), rping.DefaultSize
		f.pings.Ping = func([]byte) {
			now := time.Now()
			longest, last = max(longest, now.Sub(last)), now
		}
		f.ping()
		b.ReportMetric(float64(longest.Microseconds()), "max-us")
	})
}
