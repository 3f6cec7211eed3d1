package machine

import "testing"

func TestListenersAreFoundInWhatRdmaPrints(t *testing.T) {
	const out = `link rxe2/- cm-idn 28 state LISTEN ps TCP pid 514 comm ib_write_bw src-addr 0.0.0.0:20010 
link rxe2/1 cm-idn 0 state LISTEN ps TCP pid 133 comm rping src-addr 198.18.2.1:20001 dst-addr 0.0.0.0:0 
link rxe2/1 cm-idn 3 state LISTEN ps TCP pid 156 comm rping src-addr fd00:18:0:2::1:20003 dst-addr :::0 
link rxe2/1 cm-idn 9 state LISTEN ps UDP pid 156 comm udaddy src-addr 198.18.2.1:7174 dst-addr 0.0.0.0:0 
link rxe2/1 lqpn 17 qp-type RC state CONNECT ps TCP pid 156 comm rping src-addr 198.18.2.1:20005 dst-addr 198.18.2.2:1 
`
	l := newLane(nil, 2)
	for port, want := range map[int]bool{20010: true, 20001: true, 20003: true, 2000: false, 20005: false} {
		at := l.listeners(port)
		if port == 20005 || port == 2000 { // without udaddy, which is always included
			at = at[:2]
		}
		if got := listens(out, at); got != want {
			t.Errorf("port %d: %v, want %v", port, got, want)
		}
	}
	if !listens(out, l.listeners(1)) {
		t.Error("udaddy is not found on the port that it always has")
	}
	if other := newLane(nil, 1); listens(out, other.listeners(1)) {
		t.Error("udaddy of another lane is taken for this one's")
	}
}
