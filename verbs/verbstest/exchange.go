package verbstest

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/gorxe/gorxe/verbs"
)

// Exchange transfers messages of many sizes by WRITE, READ and SEND between two connected nodes.
func Exchange(t *testing.T, a, b *Node) {
	t.Helper()
	var wc [1]verbs.WC
	rnd := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, 3, 4096, 4097, 65536, 1_000_003} {
		rnd.Read(a.Buf[:size])
		for _, op := range []verbs.WROpcode{verbs.WRWrite, verbs.WRRead, verbs.WRSend} {
			from, to := a.Buf[:size], b.Buf[:size]
			if op == verbs.WRRead {
				from, to = to, from
			}
			clear(to)
			if op == verbs.WRSend {
				if err := b.QP.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{b.MR.SGE(0, size)}}); err != nil {
					t.Fatal(err)
				}
			}
			b.Fence()
			if err := a.QP.PostSend(a.OneSided(op, b, size)); err != nil {
				t.Fatal(err)
			}
			if op == verbs.WRSend {
				b.Wait(1, wc[:])
			}
			a.Wait(1, wc[:])
			b.Fence()
			if !bytes.Equal(from, to) {
				t.Errorf("%v of %d bytes: other bytes arrived", op, size)
			}
		}
	}
	for name, n := range b.Device.Counters() {
		if n > 0 && name == "drop_bad_icrc" {
			t.Errorf("%d packets with a wrong ICRC", n)
		}
	}
}
