package verbs_test

import (
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// The REQ has the acknowledgement timeout of the end that accepts too, as in Linux's cm.
func TestTheEndThatAcceptsUsesTheTimeoutOfTheEndThatDials(t *testing.T) {
	for _, c := range []struct{ dials, accepts, want uint8 }{{20, 17, 20}, {9, 17, 9}, {0, 17, 17}} {
		cfg := verbstest.PipeLinks(t)
		a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
		l := b.ListenAt(verbs.PortSpaceTCP, 7174)
		p := verbs.DefaultConnParam()
		p.Timeout = c.dials
		out := a.Dial(t.Context(), b.At(7174), p)
		r := b.Next(l)
		if got := r.Peer().Timeout; got != c.dials {
			t.Errorf("the request has the timeout %d, want %d", got, c.dials)
		}
		p.Timeout = c.accepts
		conn, err := r.Accept(t.Context(), b.QP, p)
		if err != nil {
			t.Fatal(err)
		}
		if d := <-out; d.Err != nil {
			t.Fatal(d.Err)
		}
		for _, x := range []struct {
			n    *verbstest.Node
			want uint8
		}{{a, c.dials}, {b, c.want}} {
			if got, _ := x.n.QP.Query(); got.Timeout != x.want {
				t.Errorf("an end dials with %d and one accepts with %d: one has %d, want %d", c.dials, c.accepts,
					got.Timeout, x.want)
			}
		}
		if got := conn.Attr().Timeout; got != c.want {
			t.Errorf("the end that accepts says %d, want %d", got, c.want)
		}
	}
}
