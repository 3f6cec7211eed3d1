package socket_test

import (
	"runtime"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/socket"
)

// Datagrams may be empty, so the length of the first waiting one cannot be used.
func TestUDPEmptyDatagramIsPending(t *testing.T) {
	a, b := listen(t, "127.44.0.7", socket.UDPOptions{}), listen(t, "127.44.0.8", socket.UDPOptions{})
	defer a.Close()
	defer b.Close()
	p := b.(packet.PendingReporter)
	if p.Pending() {
		t.Fatal("pending before anything was sent")
	}
	batch := packet.NewBatch(1)
	batch.AppendFrame().Path = &packet.Path{Src: a.Local(), Dst: b.Local()}
	a.Prepare(batch)
	if err := a.Send(batch); err != nil {
		t.Fatal(err)
	}
	for tries := 0; !p.Pending(); tries++ {
		if tries == 100_000 {
			t.Fatal("an empty datagram that waits is not pending")
		}
		runtime.Gosched()
	}
}
