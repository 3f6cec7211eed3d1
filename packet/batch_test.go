package packet

import (
	"testing"
)

func TestBatchHoldsItsCapacity(t *testing.T) {
	b := NewBatch(3)
	for i := range 3 {
		if b.Full() {
			t.Fatalf("full at %d frames of %d", i, b.Cap())
		}
		f := b.Next()
		if f == nil || b.At(i) != f || b.Len() != i+1 {
			t.Fatalf("frame %d: Next %p, Len %d", i, f, b.Len())
		}
	}
	if !b.Full() || b.Next() != nil {
		t.Error("a full batch gives out another frame")
	}
	b.Drop()
	if b.Len() != 2 || b.Full() {
		t.Errorf("after Drop: Len %d, want 2", b.Len())
	}
}

func TestResetFrameIsEmpty(t *testing.T) {
	b := NewBatch(1)
	f := b.Next()
	*f = Frame{batch: f.batch, Path: path4("192.0.2.1"), Header: []byte{1}, Payload: [][]byte{{2}}, Trailer: []byte{3}, SrcPort: 4, ID: 5, FlagsFragment: 6, train: 7}
	pieces := f.Payload
	b.Sent, b.Lone = 1, true
	b.Reset()
	if b.Len() != 0 || b.Sent != 0 || b.Lone {
		t.Errorf("Len %d, Sent %d, Lone %v after Reset", b.Len(), b.Sent, b.Lone)
	}
	if pieces[0] != nil {
		t.Error("Reset keeps hold of a borrowed piece")
	}
	f = b.Next()
	if f.Path != nil || f.Len() != 0 || f.SrcPort != 0 || f.ID != 0 || f.FlagsFragment != 0 || f.train != 0 {
		t.Errorf("frame after Reset: %+v", f)
	}
	if cap(f.Header) != HeaderRoom || cap(f.Trailer) != TrailerRoom {
		t.Errorf("room for %d bytes of header and %d of trailer, want %d and %d", cap(f.Header), cap(f.Trailer), HeaderRoom, TrailerRoom)
	}
}

func TestAllocGivesDisjointBytes(t *testing.T) {
	b := NewBatch(1)
	for range 3 {
		f := b.Next()
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
	path := path4("192.0.2.1")
	n := testing.AllocsPerRun(100, func() {
		b.Reset()
		for f := b.Next(); f != nil; f = b.Next() {
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
