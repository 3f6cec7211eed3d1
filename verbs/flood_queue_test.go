package verbs_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/rawcm"
	"github.com/gorxe/gorxe/verbs"
)

// A peer that alternately requests and gives up has no half-open connection, and so reaches no
// limit.
func TestRequestsThatWereGivenUpDoNotWaitForTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, peer := rawPeer(t, "192.0.2.1", "192.0.2.66")
		l := b.ListenAt(verbs.PortSpaceTCP, 7)
		synctest.Wait()
		const asked = 20_000
		var before uint64
		for i := uint32(1); i <= asked; i++ {
			req := peer.REQ(i, 7)
			for _, m := range []*mad.Message{req, rawcm.TimeoutREJ(req)} {
				if err := peer.Put(m); err != nil {
					t.Fatal(err)
				}
			}
			if i%100 == 0 {
				if err := peer.Flush(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(4 * readAll)
				synctest.Wait()
			}
			if i == asked/10 {
				before = heap()
			}
		}
		if grown := int64(heap() - before); grown > 256<<10 {
			t.Errorf("the heap grew by %d bytes", grown)
		}
		if n := b.Device.Counters()["cm_rx_msgs_rej"]; n != asked {
			t.Fatalf("%d requests were given up, want %d", n, asked)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if r, err := l.Next(over); err == nil {
			t.Errorf("the program is asked by %v, who has given up", r.Remote())
		}
		if err := peer.Put(peer.REQ(asked+1, 7)); err != nil {
			t.Fatal(err)
		}
		if err := peer.Flush(); err != nil {
			t.Fatal(err)
		}
		b.Next(l)
	})
}
