package pace

import (
	"testing"
	"time"
)

func TestABucketFillsWithTime(t *testing.T) {
	r, now := Rate{10, 100 * time.Millisecond}, time.Unix(1, 0)
	var b Bucket
	took := func() (n int) {
		for b.TryTake(r, now) {
			n++
		}
		return n
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{
		{0, 10}, {0, 0}, {time.Second / 10, 1}, {time.Second / 20, 0}, {time.Second / 20, 1},
		{time.Second / 2, 5}, {time.Hour, 10}, {-time.Hour, 0},
	} {
		now = now.Add(c.after)
		if got := took(); got != c.want {
			t.Errorf("after %v: %d, want %d", c.after, got, c.want)
		}
	}
}

func TestATokenThatIsNotThereYetCanBeTaken(t *testing.T) {
	r, now := Rate{3, time.Second}, time.Unix(1, 0)
	var b Bucket
	for i, want := range []time.Duration{-2 * time.Second, -time.Second, 0, time.Second, 2 * time.Second} {
		if got, refill := b.Wait(r, now, 1), b.Refill(now); got != want || refill != time.Duration(i)*time.Second {
			t.Errorf("after %d tokens the next one is there in %v, all in %v; want %v and %d s",
				i, got, refill, want, i)
		}
		b.Take(r, now, 1)
	}
	if b.TryTake(r, now.Add(2*time.Second)) || !b.TryTake(r, now.Add(3*time.Second)) {
		t.Error("the sixth of 3 tokens, and one a second, is there after other than 3 s")
	}
}

func TestSeveralTokensAreTakenAtOnce(t *testing.T) {
	r, now := Rate{10, time.Second}, time.Unix(1, 0)
	var b Bucket
	b.Take(r, now, 7)
	for n, want := range map[int]time.Duration{1: -2 * time.Second, 3: 0, 4: time.Second, 10: 7 * time.Second} {
		if got := b.Wait(r, now, n); got != want {
			t.Errorf("%d tokens are there in %v, want %v", n, got, want)
		}
	}
}
