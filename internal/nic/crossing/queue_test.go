package crossing

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet"
)

// next sets the only frame of b to one with a number in its header and a payload of n bytes in
// pieces.
func next(b *packet.Batch, number int, pieces ...[]byte) *packet.Frame {
	b.Reset()
	f := b.AppendFrame()
	f.Header = append(f.Header, byte(number), byte(number>>8))
	f.Payload = append(f.Payload, pieces...)
	return f
}

func TestFramesCrossInOrderAndWhatDoesNotFitIsRefused(t *testing.T) {
	var q Queue
	b, payload := packet.NewBatch(1), make([]byte, 4096)
	fits := 0
	for q.Put(next(b, fits, payload), 7, netip.Addr{}, 1) {
		fits++
	}
	if least, most := Limit/(4096+2+copyAlign), Limit/(4096+2); fits < least || fits > most {
		t.Errorf("%d frames of 4,098 bytes wait, want %d to %d", fits, least, most)
	}
	got := q.Take()
	for i := range got.Len() {
		f, data := got.At(i)
		if n := int(data[0]) | int(data[1])<<8; n != i || len(data) != 4098 || (f.begin+2)%copyAlign != 0 {
			t.Fatalf("frame %d is frame %d, of %d bytes from %d on", i, n, len(data), f.begin)
		}
	}
	if got.Len() != fits || q.Take().Len() > 0 {
		t.Errorf("%d of %d frames are taken, and some of them twice", got.Len(), fits)
	}
}

func TestAFrameIsCopiedWithWhereItComesFromAndGoes(t *testing.T) {
	var q Queue
	b, payload := packet.NewBatch(1), []byte("abcdef")
	src := netip.MustParseAddr("192.0.2.1")
	f := next(b, 1, payload[:2], payload[2:])
	f.Trailer = append(f.Trailer, 0, 0) // padding is not copied
	q.Put(f, 9, src, 3)
	copy(payload, "------")
	got, data := q.Take().At(0)
	if got.From != 9 || got.Src != src || got.To != 3 || string(data) != "\x01\x00abcdef" {
		t.Errorf("got %q, %+v", data, got)
	}
}

func TestAQueueInUseAllocatesNothing(t *testing.T) {
	var q Queue
	b, payload := packet.NewBatch(1), make([]byte, 4096)
	turn := func() {
		for i := range 8 {
			q.Put(next(b, i, payload), 7, netip.Addr{}, 1)
		}
		q.Take()
	}
	turn() // both lists grow
	turn()
	if n := testing.AllocsPerRun(100, turn); n > 0 {
		t.Errorf("%g allocations", n)
	}
}
