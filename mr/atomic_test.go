package mr_test

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/gorxe/gorxe/mr"
)

func TestAtomicsReturnWhatWasThereBefore(t *testing.T) {
	for name, mem := range map[string]mr.Memory{
		"aligned":         mr.Bytes(make([]byte, 32)[8:]),
		"unaligned":       mr.Bytes(make([]byte, 32)[3:27]),
		"not addressable": &remote{b: make([]byte, 24)},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := mr.NewTable([32]byte{1}, 1).Register(&mr.PD{}, mem, 0x1000, 24, mr.LocalWrite|mr.RemoteAtomic)
			if err != nil {
				t.Fatal(err)
			}
			steps := []struct {
				old  uint64
				call func() (uint64, error)
			}{
				{0, func() (uint64, error) { return r.FetchAdd(0x1008, 5) }},
				{5, func() (uint64, error) { return r.CompareSwap(0x1008, 4, 9) }},
				{5, func() (uint64, error) { return r.CompareSwap(0x1008, 5, 1<<63) }},
				{1 << 63, func() (uint64, error) { return r.FetchAdd(0x1008, 1<<63) }},
				{0, func() (uint64, error) { return r.FetchAdd(0x1008, 0) }},
			}
			for i, s := range steps {
				if old, err := s.call(); err != nil || old != s.old {
					t.Errorf("step %d: old value %#x, error %v, want %#x", i, old, err, s.old)
				}
			}
			var b [24]byte
			if err := r.Read(b[:], 0x1000); err != nil || b != [24]byte{} {
				t.Errorf("other bytes changed: % x, %v", b, err)
			}
		})
	}
}

func TestAtomicsStayInsideTheRegion(t *testing.T) {
	r, err := mr.NewTable([32]byte{1}, 1).Register(&mr.PD{}, mr.Bytes(make([]byte, 24)), 0x1000, 24,
		mr.LocalWrite|mr.RemoteAtomic)
	if err != nil {
		t.Fatal(err)
	}
	for _, addr := range []uint64{0xff8, 0x1011, 0x1018, 1<<64 - 8} {
		var access *mr.AccessError
		if _, err := r.FetchAdd(addr, 1); !errors.As(err, &access) || access.Fault != mr.OutOfBounds {
			t.Errorf("address %#x: %v, want %v", addr, err, mr.OutOfBounds)
		}
	}
}

// A local program may increment the same word with sync/atomic.
func TestAtomicsAreAtomicTowardsLocalPrograms(t *testing.T) {
	buf := make([]byte, 8)
	r, err := mr.NewTable([32]byte{1}, 1).Register(&mr.PD{}, mr.Bytes(buf), 0, 8, mr.LocalWrite|mr.RemoteAtomic)
	if err != nil {
		t.Fatal(err)
	}
	const n = 10000
	var wg sync.WaitGroup
	wg.Go(func() {
		w := (*uint64)(unsafe.Pointer(&buf[0]))
		for range n {
			atomic.AddUint64(w, 1)
		}
	})
	for range n {
		if _, err := r.FetchAdd(0, 1); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if got := binary.NativeEndian.Uint64(buf); got != 2*n {
		t.Errorf("counted %d, want %d", got, 2*n)
	}
}
