package responder

import (
	"fmt"
	"testing"
)

func TestFlip(t *testing.T) {
	for _, x := range []struct {
		bit  int
		want string
	}{{0, "800000"}, {7, "010000"}, {8, "008000"}, {23, "000001"}, {-1, "000001"}, {-24, "800000"}} {
		if got := fmt.Sprintf("%x", flip(x.bit)(make([]byte, 3))); got != x.want {
			t.Errorf("bit %d: %s instead of %s", x.bit, got, x.want)
		}
	}
}
