package nic

import (
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// BenchmarkMessageRate is a WRITE of 64 bytes from post to completion, with some hundred
// outstanding, between two devices on links without a kernel.
func BenchmarkMessageRate(b *testing.B) {
	for _, c := range []struct{ qps, list int }{{1, 1}, {1, 64}, {4, 64}} {
		b.Run(fmt.Sprintf("%d QPs in lists of %d", c.qps, c.list), func(b *testing.B) { messageRate(b, c.qps, c.list) })
	}
}

func messageRate(b *testing.B, qps, list int) {
	n := pipe.NewNet()
	a, z := newEnd(b, 1, openLink(b, n, addrA), 4096), newEnd(b, 2, openLink(b, n, addrB), 4096)
	defer closeAll(b, a, z)
	sends := make([]*QP, qps)
	for i := range sends {
		q, p := a.newQP(), z.newQP()
		a.connect(q, addrB, p.Num(), z.psn, usualRetry)
		z.connect(p, addrA, q.Num(), a.psn, usualRetry)
		sends[i] = q
	}
	wrs := make([]*qp.SendWR, list)
	for i := range wrs {
		wrs[i] = a.write(z, 0, 0, 64)
	}
	const deep = 512
	var got [64]qp.WC
	b.ReportAllocs()
	b.ResetTimer()
	for posted, done, next := 0, 0, 0; done < b.N; {
		for posted-done+list <= deep && posted < b.N {
			if k, err := sends[next].PostSend(wrs); err != nil {
				b.Fatalf("%d of a list were posted: %v", k, err)
			}
			posted, next = posted+list, (next+1)%qps
		}
		k, err := a.cq.Wait(b.Context(), got[:])
		if err != nil {
			b.Fatal(err)
		}
		for _, wc := range got[:k] {
			if wc.Status != qp.WCSuccess {
				b.Fatal(wc.Status)
			}
		}
		done += k
	}
}
