package verbs_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// BenchmarkConnect establishes a connection with new queue pairs at both ends, and ends it: from
// Dial until Disconnect is answered, several at a time, over UDP sockets.
func BenchmarkConnect(b *testing.B) {
	cfg := verbstest.UDPDevices(b)
	client, server := verbstest.Open(b, cfg[0], 64), verbstest.Open(b, cfg[1], 64)
	l := server.ListenAt(verbs.PortSpaceTCP, 0)
	to := server.At(l.Addr().Port())
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			r, err := l.Next(ctx)
			if err != nil {
				return
			}
			serving.Go(func() {
				q, _ := server.NewQP()
				defer q.Close()
				if c, err := r.Accept(ctx, q, verbs.DefaultConnParam()); err == nil {
					<-c.Done()
				} else if !errors.Is(err, context.Canceled) {
					b.Error(err)
				}
			})
		}
	})
	const atATime = 32
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	var dialing sync.WaitGroup
	for range atATime {
		dialing.Go(func() {
			for left.Add(-1) >= 0 {
				q, _ := client.NewQP()
				c, err := client.Device.Dial(ctx, to, q, verbs.DefaultConnParam())
				if err == nil {
					err = c.Disconnect(ctx)
				}
				if err != nil {
					b.Error(err)
					return
				}
				q.Close()
			}
		})
	}
	dialing.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "connections/s")
	cancel()
	serving.Wait()
}
