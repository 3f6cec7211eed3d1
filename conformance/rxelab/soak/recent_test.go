package soak

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/pcapgo"
)

func TestTheLatestFramesAreKeptInTheirOrder(t *testing.T) {
	for _, c := range []struct {
		name         string
		seen         int
		first, count int // of the bytes written
	}{
		{"none", 0, 0, 0},
		{"fewer than fit", 5, 0, 5},
		{"more than fit", recentFrames + 7, 7, recentFrames},
	} {
		var r recent
		at := func(i int) time.Time { return time.Unix(1e9, int64(i)) }
		frame := bytes.Repeat([]byte{0xab}, 4096)
		for i := range c.seen {
			frame[0] = byte(i)
			n := 60 + i%5*1000
			r.keep(gopacket.CaptureInfo{Timestamp: at(i), Length: n, CaptureLength: n}, frame[:n])
		}
		var file bytes.Buffer
		if err := r.write(&file); err != nil {
			t.Fatal(err)
		}
		p, err := pcapgo.NewReader(&file)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for i := c.first; ; i++ {
			head, about, err := p.ReadPacketData()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			count++
			length := 60 + i%5*1000
			if !about.Timestamp.Equal(at(i)) || about.Length != length || len(head) != min(length, recentHead) ||
				head[0] != byte(i) {
				t.Fatalf("%s: frame %d is %+v, %#x", c.name, i, about, head[:1])
			}
		}
		if count != c.count {
			t.Errorf("%s: %d frames, want %d", c.name, count, c.count)
		}
	}
}
