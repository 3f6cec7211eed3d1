package mr

import (
	"fmt"
	"testing"
)

func BenchmarkLookup(b *testing.B) {
	for _, n := range []int{1, 1000, 100_000} {
		b.Run(fmt.Sprintf("regions=%d", n), func(b *testing.B) {
			t := NewTable([32]byte{1}, 0)
			pd, mem := &PD{}, Bytes(make([]byte, 64))
			keys := make([]uint32, n)
			for i := range keys {
				r, err := t.Register(pd, mem, 0, 64, RemoteRead)
				if err != nil {
					b.Fatal(err)
				}
				keys[i] = r.RKey()
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if t.Lookup(keys[i]) == nil {
					b.Fatal("lost a key")
				}
				if i++; i == n {
					i = 0
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	t, pd := NewTable([32]byte{1}, 0), &PD{}
	r, err := t.Register(pd, Bytes(make([]byte, 4096)), 0x1000, 4096, LocalWrite|RemoteWrite)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if r.Check(pd, 0x1100, 1024, RemoteWrite) != OK {
			b.Fatal("refused")
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	t := NewTable([32]byte{1}, 0)
	r, err := t.Register(&PD{}, Bytes(make([]byte, 8192)), 0, 8192, LocalWrite)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		f    func(uint64, []byte) error
		off  uint64
		n    int
	}{
		{"Write/n=1024", r.Write, 0, 1024},
		{"WriteFinal/n=1024/aligned", r.WriteFinal, 0, 1024},
		{"WriteFinal/n=1024/unaligned", r.WriteFinal, 3, 1024},
		{"WriteFinal/n=8", r.WriteFinal, 0, 8},
		{"WriteFinal/n=2", r.WriteFinal, 0, 2},
	} {
		b.Run(c.name, func(b *testing.B) {
			src := make([]byte, c.n)
			b.SetBytes(int64(c.n))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.f(c.off, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
