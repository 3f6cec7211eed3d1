package linktest

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet"
)

func mixedSizes(t *testing.T, a, b *end) {
	sizes := []int{0, 1, 3, 4, 64, 255, 256, 1000, 1024, 1025, 2048, 4095, 4096, 0, 0, 1}
	for round := range 20 {
		n := 0
		for i := range sizes {
			// Another order in every round, so that each size follows each other size.
			if size := sizes[(i*(2*round+1))%len(sizes)]; size <= a.room() {
				a.put(&a.to, size, 1+i%4)
				n++
			}
		}
		a.mustFlush()
		b.expectAll(n)
	}
}

func equalSizes(t *testing.T, a, b *end) {
	for _, size := range []int{0, 64, 256, 1024, 2048, 4096} {
		if size > a.room() {
			continue
		}
		n := min(WindowFrames, Window/(size+overhead))
		for range n - 1 {
			a.put(&a.to, size, 1)
		}
		a.put(&a.to, size/2, 1)
		a.mustFlush()
		b.expectAll(n)
	}
}

func manyPieces(t *testing.T, a, b *end) {
	for _, pieces := range []int{30, 500, 1020, 1022, 1023, 1024, 2000} {
		for range 8 {
			a.put(&a.to, min(2048, a.room()), pieces)
		}
		a.mustFlush()
		b.expectAll(8)
	}
}

func bigBatches(t *testing.T, a, b *end) {
	for range 10 {
		for range a.batch.Cap() {
			a.put(&a.to, 64, 1)
		}
		a.mustFlush()
		b.expectAll(a.batch.Cap())
	}
}

func bothDirections(t *testing.T, a, b *end) {
	const rounds, each = 50, 16
	// Each end sends each frames and then receives as many, so that at most each frames are in
	// flight in each direction.
	other := make(chan error)
	go func() {
		for range rounds {
			for range each {
				b.put(&b.to, 1024, 2)
			}
			err := b.flush()
			for i := 0; err == nil && i < each; i++ {
				var f *packet.Received
				if f, err = b.recv(); err == nil {
					err = check(f, b.got)
					b.got++
				}
			}
			other <- err
			if err != nil {
				return
			}
		}
	}()
	for range rounds {
		for range each {
			a.put(&a.to, 1024, 2)
		}
		a.mustFlush()
		a.expectAll(each)
		if err := <-other; err != nil {
			t.Fatal(err)
		}
	}
}

func severalPaths(t *testing.T, a, b *end) {
	paths := []packet.Path{a.to, a.to, a.to, a.to, a.to}
	paths[1].TrafficClass = 0x2c
	paths[2].TrafficClass = 0x03
	paths[3].HopLimit = 7
	paths[4].TrafficClass, paths[4].HopLimit = 0xff, 255
	var want []packet.Path
	for i := range 60 {
		// Runs of several frames, so that the link can group them.
		p := &paths[i/3%len(paths)]
		a.put(p, 512, 1)
		want = append(want, *p)
	}
	a.mustFlush()
	for i, w := range want {
		f := b.expect()
		hops := w.HopLimit
		if hops == 0 {
			hops = packet.DefaultHopLimit
		}
		if f.TrafficClass != w.TrafficClass || f.HopLimit != hops {
			t.Errorf("frame %d: traffic class %#x, hop limit %d, want %#x, %d",
				i, f.TrafficClass, f.HopLimit, w.TrafficClass, hops)
		}
	}
}

func addresses(t *testing.T, a, b *end) {
	a.put(&a.to, 10, 1)
	a.mustFlush()
	f := b.expect()
	if want := a.link.Local().WithZone(""); f.Src != want {
		t.Errorf("source %v, want %v", f.Src, want)
	}
	if want := b.link.Local().WithZone(""); f.Dst != want {
		t.Errorf("destination %v, want %v", f.Dst, want)
	}
	if c := b.link.Caps(); f.HeaderSeen != c.ReportsHeader {
		t.Errorf("HeaderSeen is %v, Caps.SeesHeader %v", f.HeaderSeen, c.ReportsHeader)
	}
}

func loan(t *testing.T, a, b *end) {
	buf := make([]byte, 1024)
	for range 32 {
		f := a.put(&a.to, len(buf), 1)
		f.Payload[0] = append(f.Alloc(len(buf))[:0], f.Payload[0]...)
	}
	if err := a.send(); err != nil {
		t.Fatalf("Send: %v", err)
	}
	for i := range a.batch.Len() {
		f := a.batch.At(i)
		clear(f.Header)
		clear(f.Payload[0])
		clear(f.Trailer)
	}
	a.batch.Reset()
	b.expectAll(32)
}

func again(t *testing.T, a, b *end) {
	for range 10 {
		a.put(&a.to, 300, 1)
	}
	for range 3 {
		a.batch.Sent = 0
		if err := a.send(); err != nil {
			t.Fatalf("Send: %v", err)
		}
		if a.batch.Sent != 10 {
			t.Fatalf("Send dealt with %d frames of 10", a.batch.Sent)
		}
		b.got = 0
		b.expectAll(10)
	}
}

func lone(t *testing.T, a, b *end) {
	a.batch.NoTrains = true
	for range 20 {
		a.put(&a.to, 200, 1)
	}
	a.mustFlush()
	b.expectAll(20)
}

func overMTU(t *testing.T, a, b *end) {
	for round := range 3 {
		// In succession, so that the link could group them.
		for _, size := range []int{100, 100, a.room() + 1, a.room() + 1, 100} {
			a.put(&a.to, size, 2)
		}
		err := a.flush()
		var refused *packet.SendError
		if !errors.As(err, &refused) || !errors.Is(err, packet.ErrTooLong) {
			t.Fatalf("round %d: Send: %v, want a SendError that is ErrTooLong", round, err)
		}
		if refused.Refused != 2 {
			t.Errorf("round %d: %d frames refused, want 2: %v", round, refused.Refused, err)
		}
		for _, n := range []uint32{0, 1, 4} {
			b.got = uint32(5*round) + n
			b.expect()
		}
	}
	c, ok := a.link.(packet.StatsReporter)
	if ok && c.Stats().TxRefused != 6 {
		t.Errorf("TxRefused is %d, want 6", c.Stats().TxRefused)
	}
}

func otherFamily(t *testing.T, a, b *end) {
	bad := packet.Path{Src: a.to.Src, Dst: netip.MustParseAddr("::1")}
	if a.link.Local().Is6() {
		bad.Dst = netip.MustParseAddr("127.0.0.1")
	}
	a.put(&a.to, 100, 1)
	a.put(&bad, 100, 1)
	a.put(&a.to, 100, 1)
	if err := a.flush(); !errors.Is(err, packet.ErrAddressFamily) {
		t.Fatalf("Send: %v, want ErrAddressFamily", err)
	}
	b.expect()
	b.got++
	b.expect()
}

func noAllocation(t *testing.T, a, b *end) {
	one := func() {
		for i := range 32 {
			a.put(&a.to, 1024, 2)
			if i == 16 {
				a.put(&a.to, 3, 1)
			}
		}
		if err := a.flush(); err != nil {
			t.Fatalf("Send: %v", err)
		}
		for range 33 {
			f, err := b.recv()
			if err != nil {
				t.Fatalf("Recv: %v", err)
			}
			if err := check(f, b.got); err != nil {
				t.Fatal(err)
			}
			b.got++
		}
	}
	for range 50 {
		one()
	}
	if n := testing.AllocsPerRun(200, one); n != 0 {
		t.Errorf("%v allocations to prepare, send and receive 33 frames, want 0", n)
	}
}
