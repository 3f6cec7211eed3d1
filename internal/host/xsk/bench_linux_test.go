package xsk

import (
	"fmt"
	"testing"
)

// BenchmarkTurns sends and receives 32 frames alternately on one goroutine, to measure the
// total cost of both ends.
func BenchmarkTurns(b *testing.B) {
	for _, size := range []int{100, 1100, 4180} {
		for _, w := range ways {
			b.Run(fmt.Sprintf("%d bytes/%s", size, w.name), func(b *testing.B) {
				hosts := connect(b, 9000)
				x, y := openIn(b, hosts.Left, left, w.o), openIn(b, hosts.Right, right, w.o)
				if size > x.MaxFrame() {
					b.Skip("too long for this way")
				}
				h := NewHeld()
				frame := make([]byte, size)
				frameTo(frame, right, 1)
				l := x.Lane(0)
				b.SetBytes(int64(32 * size))
				b.ReportAllocs()
				for b.Loop() {
					if err := l.Lock(); err != nil {
						b.Fatal(err)
					}
					for range 32 {
						copy(l.Put(size), frame)
					}
					if _, err := l.Flush(); err != nil {
						b.Fatal(err)
					}
					l.Unlock()
					for n := 0; n < 32; n += len(h.Frames) {
						y.Recv(h, 64)
					}
				}
				h.Release()
			})
		}
	}
}
