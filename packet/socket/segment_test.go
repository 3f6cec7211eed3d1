package socket

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/packet"
	"pgregory.net/rapid"
)

// batchOf returns a batch of frames with the given payload lengths to path.
func batchOf(path *packet.Path, sizes ...int) *packet.Batch {
	b := packet.NewBatch(len(sizes))
	for _, n := range sizes {
		f := b.AppendFrame()
		f.Path = path
		f.Payload = append(f.Payload, make([]byte, n))
	}
	return b
}

func path4(dst string) *packet.Path { return &packet.Path{Dst: netip.MustParseAddr(dst)} }

func TestTrain(t *testing.T) {
	const mtu = 8972
	same := func(n, size int) []int { return slices.Repeat([]int{size}, n) }
	for _, test := range []struct {
		rule  string
		sizes []int
		want  int
	}{
		{"one frame is no train", []int{1024}, 1},
		{"equal frames join", same(5, 1024), 5},
		{"a shorter frame ends the train and is in it", []int{1024, 1024, 100, 100}, 3},
		{"a longer frame is not in it", []int{100, 100, 1024}, 2},
		{"an empty frame leads none", []int{0, 0}, 1},
		{"an empty frame ends it and is not in it", []int{100, 100, 0}, 2},
		{"at most 64 segments", same(100, 64), 64},
		{"at most 64 KiB with the trailers to come", same(32, 4096), 15},
		{"a frame that fills the MTU with its trailer leads one", same(2, mtu-packet.TrailerRoom), 2},
		{"a frame over the MTU leads none", same(2, mtu-packet.TrailerRoom+1), 1},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if got := trainFrom(batchOf(path4("192.0.2.1"), test.sizes...), 0, mtu); got != test.want {
				t.Errorf("train of %d frames, want %d", got, test.want)
			}
		})
	}
}

func TestTrainKeepsToOnePath(t *testing.T) {
	p, same, other, marked := path4("192.0.2.1"), path4("192.0.2.1"), path4("192.0.2.2"), path4("192.0.2.1")
	marked.TrafficClass = 2
	for _, test := range []struct {
		rule   string
		second *packet.Path
		want   int
	}{
		{"the same path", p, 2},
		{"an equal path of another queue pair", same, 1},
		{"another destination", other, 1},
		{"another traffic class", marked, 1},
		{"no path", nil, 1},
	} {
		b := batchOf(p, 100, 100)
		b.At(1).Path = test.second
		if got := trainFrom(b, 0, 1500); got != test.want {
			t.Errorf("%s: train of %d frames, want %d", test.rule, got, test.want)
		}
	}
}

func TestTrainIsGatheredFromAtMostIOVMaxPieces(t *testing.T) {
	b := batchOf(path4("192.0.2.1"), slices.Repeat([]int{1}, 8)...)
	for i := range b.Len() {
		f := b.At(i)
		f.Payload = slices.Repeat([][]byte{{1}}, 400)
	}
	if got := trainFrom(b, 0, 1500); got != 2 {
		t.Errorf("train of %d frames of 402 pieces, want 2", got)
	}
}

func TestFlattenKeepsTheBytes(t *testing.T) {
	b := packet.NewBatch(1)
	f := b.AppendFrame()
	f.Header = append(f.Header, "head"...)
	for i := range 2000 {
		f.Payload = append(f.Payload, []byte{byte(i), byte(i >> 8)})
	}
	f.Trailer = append(f.Trailer, "tail"...)
	want := f.AppendTo(nil)
	flatten(f)
	if len(f.Payload) != 1 {
		t.Errorf("%d pieces, want 1", len(f.Payload))
	}
	if diff := cmp.Diff(want, f.AppendTo(nil)); diff != "" {
		t.Error(diff)
	}
}

func TestAppendSegments(t *testing.T) {
	v4, v6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	for _, test := range []struct {
		rule         string
		length, size int
		dst          netip.Addr
		want         []string // offset of the first byte, length, ID
	}{
		{"no segment size: one frame", 10, 0, v4, []string{"0+10 id 0"}},
		{"a segment size below zero is none", 10, -1, v4, []string{"0+10 id 0"}},
		{"the whole is one segment", 10, 10, v4, []string{"0+10 id 0"}},
		{"shorter than a segment", 10, 11, v4, []string{"0+10 id 0"}},
		{"segments fit", 12, 4, v4, []string{"0+4 id 0", "4+4 id 1", "8+4 id 2"}},
		{"the last is shorter", 10, 4, v4, []string{"0+4 id 0", "4+4 id 1", "8+2 id 2"}},
		{"IPv6 has no identification", 10, 5, v6, []string{"0+5 id 0", "5+5 id 0"}},
		{"nothing at all", 0, 4, v4, []string{"0+0 id 0"}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			data := make([]byte, test.length)
			for i := range data {
				data[i] = byte(i)
			}
			var got []string
			for _, f := range appendSegments(nil, packet.Received{Data: data, Dst: test.dst}, test.size) {
				off := 0
				if len(f.Data) > 0 {
					off = int(f.Data[0])
				}
				got = append(got, fmt.Sprintf("%d+%d id %d", off, len(f.Data), f.ID))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSegmentsAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 1, 5000).Draw(t, "data")
		size := rapid.IntRange(-1, 6000).Draw(t, "size")
		frames := appendSegments(nil, packet.Received{Data: data}, size)
		var got []byte
		for i, f := range frames {
			if size > 0 && i < len(frames)-1 && len(f.Data) != size {
				t.Fatalf("segment %d of %d has %d bytes, want %d", i, len(frames), len(f.Data), size)
			}
			if len(f.Data) == 0 {
				t.Fatalf("segment %d of %d is empty", i, len(frames))
			}
			got = append(got, f.Data...)
		}
		if !slices.Equal(got, data) {
			t.Fatal("the segments are not the whole")
		}
	})
}
