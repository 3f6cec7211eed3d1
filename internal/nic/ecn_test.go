package nic

import (
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
)

func TestPacketsMarkedForCongestionAreCounted(t *testing.T) {
	for _, marked := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a, b := newPair(t, 1<<12, usualRetry, func(l packet.Link) packet.Link {
				if marked {
					return fault.New(l, fault.Config{ECNMark: 1})
				}
				return l
			})
			defer closeAll(t, a, b)
			a.post(a.write(b, 1, 0, 4096))
			a.succeed(1)
			want := uint64(0)
			if marked {
				want = b.counter("rx_packets")
			}
			if n := b.counter("np_ecn_marked_roce_packets"); n != want {
				t.Errorf("marked %v: %d of %d packets were counted", marked, n, b.counter("rx_packets"))
			}
		})
	}
}
