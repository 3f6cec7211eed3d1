package nic

import (
	"bytes"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/packet"
)

func TestFramesCrossInOrderAndWhatDoesNotFitIsRefused(t *testing.T) {
	var c crossing
	b := packet.NewBatch(1)
	path := &packet.Path{}
	fits := 0
	for {
		b.Reset()
		f := b.Next()
		f.Path = path
		f.Header = append(f.Header, byte(fits), byte(fits>>8))
		f.Payload = append(f.Payload, make([]byte, 4096))
		if !c.put(f, 7, netip.Addr{}, 1) {
			break
		}
		fits++
	}
	if least, most := crossingBytes/(4096+2+copyAlign), crossingBytes/(4096+2); fits < least || fits > most {
		t.Errorf("%d frames of 4,098 bytes wait, want %d to %d", fits, least, most)
	}
	got := c.take()
	for i, f := range got.frames {
		n := int(got.data[f.begin]) | int(got.data[f.begin+1])<<8
		if n != i || f.end-f.begin != 4098 || (f.begin+2)%copyAlign != 0 {
			t.Fatalf("frame %d is frame %d, of %d bytes from %d on", i, n, f.end-f.begin, f.begin)
		}
	}
	if len(got.frames) != fits || len(c.take().frames) > 0 {
		t.Errorf("%d of %d frames are taken, and some of them twice", len(got.frames), fits)
	}
}

// What a shard has no room for is lost, and sent again as on a link.
func TestWhatCrossesToAShardWithoutRoomIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newLoopedPair(t, 1<<14, plain, 4)
		defer closeAll(t, a)
		fill(a.buf, 1)
		c := &b.qp.shard.crossing
		fillUp := func(n int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.waiting.data = make([]byte, n)
		}
		fillUp(crossingBytes)
		a.post(a.write(b, 1, 0, len(a.buf)))
		synctest.Wait()
		if n := a.drops()["shard_busy"]; n == 0 || bytes.Equal(a.buf, b.buf) {
			t.Errorf("%d packets were dropped, and the WRITE has come through: %v", n, bytes.Equal(a.buf, b.buf))
		}
		fillUp(0)
		a.succeed(1)
		if !bytes.Equal(a.buf, b.buf) {
			t.Error("the ends hold different bytes")
		}
	})
}
