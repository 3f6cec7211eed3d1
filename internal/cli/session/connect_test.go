package session

import (
	"errors"
	"testing"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

func TestExchangeErrorsSayWhatThePeerShouldBe(t *testing.T) {
	errTest := errors.New("test")
	for _, tt := range []struct{ err, want error }{
		{&exchange.ItemError{Item: "x", Op: "decode", Err: errTest},
			errors.New("decode x: test; is the peer ib_foo, with the same parameters?")},
		{&exchange.ItemError{Item: "x", Op: "receive", Err: exchange.ErrPeerClosed},
			errors.New("receive x: peer closed the connection; look at the peer's own output: it must be ib_foo with the same parameters")},
		{errTest, errTest},
	} {
		if got := ExplainExchange(tt.err, "ib_foo"); got.Error() != tt.want.Error() {
			t.Errorf("got  %v\nwant %v", got, tt.want)
		}
	}
}
