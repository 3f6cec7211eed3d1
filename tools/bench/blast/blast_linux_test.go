package blast

import (
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

func TestALeadingDatagramLeavesWholeBeforeItsTrain(t *testing.T) {
	to, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	c := Config{Segment: 4112, Lead: 4128}
	addr := to.LocalAddr().(*net.UDPAddr).AddrPort()
	fd, err := c.dial(addr.Addr().Unmap(), addr.Port())
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	msgs := c.messages()
	if len(msgs) != 2*leads {
		t.Fatalf("%d messages in a call, want %d", len(msgs), 2*leads)
	}
	// More would not find room in every socket's buffer.
	if err := send(fd, msgs[len(msgs)-2:]); err != nil {
		t.Fatal(err)
	}
	to.SetReadDeadline(time.Now().Add(limit))
	room := make([]byte, 1<<16)
	for i := range 1 + c.train() {
		want := c.Segment
		if i == 0 {
			want = c.Lead
		}
		if n, err := to.Read(room); n != want || err != nil {
			t.Fatalf("datagram %d: %d bytes, %v; want %d", i, n, err, want)
		}
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
