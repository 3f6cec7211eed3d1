package blast

import (
	"net"
	"strings"
	"testing"
	"time"
)

// connect is a connection over loopback, as the sender's and the receiver's.
func connect(t *testing.T) (net.Conn, net.Listener) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, l
}

func TestBothEndsKnowWhatArrived(t *testing.T) {
	for _, c := range []Config{{Segment: 1}, {Segment: 96}, {Segment: 4112}, {Segment: MaxSegment}, {Segment: 4112, Lead: 4128}} {
		c.Time = 20 * time.Millisecond
		conn, l := connect(t)
		type outcome struct {
			Result
			err error
		}
		received := make(chan outcome)
		go func() {
			r, err := Receive(l)
			received <- outcome{r, err}
		}()
		sent, err := Send(conn, c)
		got := <-received
		if err != nil || got.err != nil {
			t.Fatalf("%+v: sender: %v, receiver: %v", c, err, got.err)
		}
		if sent != got.Result {
			t.Errorf("%+v: the sender was told %+v, the receiver counted %+v", c, sent, got.Result)
		}
		longer := got.Bytes - got.Segments*uint64(c.Segment)
		if c.Lead > 0 {
			longer %= uint64(c.Lead - c.Segment)
		}
		if got.Segments == 0 || longer != 0 || got.Seconds < 0.02 {
			t.Errorf("%+v: %+v", c, got.Result)
		}
	}
}

func TestALeadingDatagramIsNotCut(t *testing.T) {
	c := Config{Segment: 4112, Lead: 4128, Time: 20 * time.Millisecond}
	conn, l := connect(t)
	received := make(chan Result, 1)
	go func() {
		r, _ := Receive(l)
		received <- r
	}()
	if _, err := Send(conn, c); err != nil {
		t.Fatal(err)
	}
	got := <-received
	// Between the first and the last that count, a datagram stands before each train of 15.
	leads := int(got.Bytes-got.Segments*4112) / 16
	if each := int(got.Segments) / (1 + c.train()); leads < each-1 || leads > each+1 {
		t.Errorf("%d datagrams of %d bytes among %+v, want one in %d", leads, c.Lead, got, 1+c.train())
	}
}

func TestAReceiverRefusesWhatCannotBeSent(t *testing.T) {
	for _, c := range []Config{{Segment: 0, Time: 1}, {Segment: MaxSegment + 1, Time: 1}, {Segment: 1}, {Segment: 1, Time: 1, Warm: -1}, {Segment: 1, Lead: -1, Time: 1}, {Segment: 1, Lead: MaxSegment + 1, Time: 1}} {
		if err := c.check(); err == nil {
			t.Errorf("%+v is taken", c)
		}
		conn, _ := connect(t)
		if _, err := Send(conn, c); err == nil {
			t.Errorf("%+v is sent", c)
		}
	}
}

func TestAPeerThatSpeaksNonsenseIsAnError(t *testing.T) {
	for _, words := range []string{"", "hello\n", `{"port":0}` + "\n", `{"port":99999}` + "\n"} {
		conn, l := connect(t)
		go func() {
			peer, err := l.Accept()
			if err == nil {
				peer.Write([]byte(words))
				peer.Close()
			}
		}()
		if _, err := Send(conn, Config{Segment: 96, Time: time.Millisecond}); err == nil {
			t.Errorf("%q is taken for a receiver's", words)
		}
	}
	conn, l := connect(t)
	go func() {
		conn.Write([]byte("{\"segment\":0}\n"))
	}()
	if _, err := Receive(l); err == nil || !strings.Contains(err.Error(), "0 bytes") {
		t.Errorf("a sender of nothing: %v", err)
	}
}
