package packet

import (
	"net/netip"
	"testing"
	"unsafe"
)

func TestBatchHoldsItsCapacity(t *testing.T) {
	b := NewBatch(3)
	for i := range 3 {
		if b.Full() {
			t.Fatalf("full at %d frames of %d", i, b.Cap())
		}
		f := b.AppendFrame()
		if f == nil || b.At(i) != f || b.Len() != i+1 {
			t.Fatalf("frame %d: Next %p, Len %d", i, f, b.Len())
		}
	}
	if !b.Full() || b.AppendFrame() != nil {
		t.Error("a full batch gives out another frame")
	}
	b.Drop()
	if b.Len() != 2 || b.Full() {
		t.Errorf("after Drop: Len %d, want 2", b.Len())
	}
}

func TestResetFrameIsEmpty(t *testing.T) {
	b := NewBatch(1)
	f := b.AppendFrame()
	*f = Frame{batch: f.batch, Path: &Path{Dst: netip.MustParseAddr("192.0.2.1")}, Header: []byte{1},
		Payload: [][]byte{{2}}, Trailer: []byte{3}, SrcPort: 4, ID: 5, FlagsFragment: 6, Train: 7}
	pieces := f.Payload
	b.Sent, b.NoTrains = 1, true
	b.Reset()
	if b.Len() != 0 || b.Sent != 0 || b.NoTrains {
		t.Errorf("Len %d, Sent %d, Lone %v after Reset", b.Len(), b.Sent, b.NoTrains)
	}
	if pieces[0] != nil {
		t.Error("Reset keeps hold of a borrowed piece")
	}
	f = b.AppendFrame()
	if f.Path != nil || f.Len() != 0 || f.SrcPort != 0 || f.ID != 0 || f.FlagsFragment != 0 || f.Train != 0 {
		t.Errorf("frame after Reset: %+v", f)
	}
	if cap(f.Header) != HeaderRoom || cap(f.Trailer) != TrailerRoom {
		t.Errorf("room for %d bytes of header and %d of trailer, want %d and %d", cap(f.Header), cap(f.Trailer),
			HeaderRoom, TrailerRoom)
	}
}

func TestAllocGivesDisjointBytes(t *testing.T) {
	b := NewBatch(1)
	for range 3 {
		f := b.AppendFrame()
		var all [][]byte
		for i, n := range []int{0, 1, 4096, arenaChunk - 10, 70000, 5, 4096, 3 * arenaChunk, 1} {
			p := f.Alloc(n)
			if len(p) != n || cap(p) != n {
				t.Fatalf("Alloc(%d): len %d, cap %d", n, len(p), cap(p))
			}
			for k := range p {
				p[k] = byte(i)
			}
			all = append(all, p)
		}
		for i, p := range all {
			for _, v := range p {
				if v != byte(i) {
					t.Fatalf("piece %d was overwritten by piece %d", i, v)
				}
			}
		}
		b.Reset()
	}
}

func TestFillingABatchAllocatesNothing(t *testing.T) {
	b := NewBatch(64)
	path := &Path{Dst: netip.MustParseAddr("192.0.2.1")}
	n := testing.AllocsPerRun(100, func() {
		b.Reset()
		for f := b.AppendFrame(); f != nil; f = b.AppendFrame() {
			f.Path = path
			f.Header = append(f.Header, make([]byte, HeaderRoom)...)
			f.Payload = append(f.Payload, f.Alloc(4096), f.Header[:1])
			f.Trailer = append(f.Trailer, make([]byte, TrailerRoom)...)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations to fill a batch, want 0", n)
	}
}

func TestJoinKeepsBytesAndRoomAndLetsGoOfPayload(t *testing.T) {
	b := NewBatch(2)
	fill := func() {
		for range 2 {
			f := b.AppendFrame()
			f.Header = append(f.Header, "head"...)
			f.Payload = append(f.Payload, []byte("pay"), nil, []byte("load"))
			f.Trailer = append(f.Trailer, 0)
			f.Flatten(4)
		}
	}
	fill()
	for i := range b.Len() {
		f := b.At(i)
		f.Trailer = append(f.Trailer, "icrc"...)
		if len(f.Payload) != 0 {
			t.Errorf("frame %d still borrows %q", i, f.Payload)
		}
	}
	// Appending to the first buffer does not overwrite the second.
	for i := range b.Len() {
		if got, want := string(b.At(i).AppendTo(nil)), "headpayload\x00icrc"; got != want {
			t.Errorf("frame %d is %q, want %q", i, got, want)
		}
	}
	payload := [][]byte{[]byte("pay")}
	if n := testing.AllocsPerRun(100, func() {
		b.Reset()
		f := b.AppendFrame()
		f.Payload = append(f.Payload, payload...)
		f.Flatten(4)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestRimKeepsBytesRoomAndPayload(t *testing.T) {
	b := NewBatch(3)
	fill := func() {
		for b.AppendFrame() != nil {
			f := b.At(b.Len() - 1)
			f.Header = append(f.Header, "head"...)
			f.Payload = append(f.Payload, payloadOfRim)
			f.Trailer = append(f.Trailer, 0)
			f.PackEnds(4)
		}
		for i := range b.Len() {
			f := b.At(i)
			f.Trailer = append(f.Trailer, "icrc"...)
		}
	}
	fill()
	for i := range b.Len() {
		f := b.At(i)
		if got, want := string(f.AppendTo(nil)), "headpayload\x00icrc"; got != want {
			t.Errorf("frame %d is %q, want %q", i, got, want)
		}
		if len(f.Payload) != 1 || &f.Payload[0][0] != &payloadOfRim[0] {
			t.Errorf("the payload of frame %d was moved", i)
		}
		if i > 0 && unsafe.Add(unsafe.Pointer(&b.At(i - 1).Trailer[0]), 5) != unsafe.Pointer(&f.Header[0]) {
			t.Errorf("the trailer of frame %d is not right before the next header", i-1)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		b.Reset()
		fill()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

var payloadOfRim = []byte("payload")
