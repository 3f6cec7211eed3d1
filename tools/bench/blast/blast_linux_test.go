package blast

import (
	"bytes"
	"math"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/tools/bench/packets"
	"golang.org/x/sys/unix"
)

// connect returns both ends of a connection over loopback.
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
	for _, c := range []Config{{Segment: 1}, {Segment: 96}, {Segment: 4112}, {Segment: MaxSegment},
		{Segment: 4112, Lead: 4128}, {Segment: 4112, ICRC: true},
		{Segment: 17, ICRC: true}, {Segment: MaxSegment, ICRC: true}, {Segment: 4112, ICRC: true, Copied: true},
		{Segment: 17, ICRC: true, Requests: true}, {Segment: 4112, ICRC: true, Copied: true, Requests: true},
		{Segment: 4112, ICRC: true, Reliable: true}, {Segment: 4112, ICRC: true, Lose: 0.01},
		{Segment: MaxSegment, ICRC: true, Lose: 0.2},
		{Segment: 96, ICRC: true}, {Segment: 4112, ICRC: true, Regions: 1000},
		{Segment: 4112, ICRC: true, AsLink: true}, {Segment: MaxSegment, ICRC: true, AsLink: true}} {
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
		each := c.Segment
		if c.ICRC {
			each = c.payload()
		}
		longer := got.Bytes - got.Segments*uint64(each)
		if c.Lead > 0 {
			longer %= uint64(c.Lead - c.Segment)
		}
		if got.Segments == 0 || longer != 0 || got.Wrong != 0 || got.Seconds < 0.02 {
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
	// More would not fit into every socket's buffer.
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
	for _, c := range []Config{{Segment: 0, Time: 1}, {Segment: MaxSegment + 1, Time: 1}, {Segment: 1},
		{Segment: 1, Time: 1, Warm: -1}, {Segment: 1, Lead: -1, Time: 1}, {Segment: 1, Lead: MaxSegment + 1, Time: 1},
		{Segment: packets.Overhead, ICRC: true, Time: 1}, {Segment: 4112, Lead: 4128, ICRC: true, Time: 1},
		{Segment: 4112, Copied: true, Time: 1},
		{Segment: 4112, Requests: true, Time: 1}, {Segment: 4112, Lose: 0.1, Time: 1},
		{Segment: 4112, Reliable: true, Time: 1},
		{Segment: 4112, ICRC: true, Lose: 1, Time: 1}, {Segment: 4112, ICRC: true, Lose: -0.1, Time: 1},
		{Segment: 4112, ICRC: true, Lose: math.NaN(), Time: 1},
		{Segment: 4112, ICRC: true, Copied: true, Lose: 0.1, Time: 1},
		{Segment: 4112, ICRC: true, Requests: true, Lose: 0.1, Time: 1},
		{Segment: 4112, Regions: 2, Time: 1}, {Segment: 4112, AsLink: true, Time: 1},
		{Segment: 4112, ICRC: true, Regions: -1, Time: 1},
		{Segment: 4112, ICRC: true, Regions: maxRegions + 1, Time: 1},
		{Segment: 4112, ICRC: true, AsLink: true, Requests: true, Time: 1},
		{Segment: 4112, ICRC: true, AsLink: true, Lose: 0.1, Time: 1}} {
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

// A datagram of a socket that is used as a link's goes to the peer, cut into segments, although the
// socket is not connected and has no segment length of its own.
func TestTheSocketOfALinkSendsTrains(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		r, err := listen(netip.MustParseAddr(host))
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		c := Config{Segment: 4112, ICRC: true, AsLink: true, Time: 1}
		fd, err := c.dial(netip.MustParseAddr(host), uint16(r.port))
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		_, peer := sockaddr(netip.MustParseAddr(host), uint16(r.port))
		u, err := c.asLink(fd, peer)
		if err != nil {
			t.Fatal(err)
		}
		defer u.close()
		s := newBursts(c)
		s.msgs = s.msgs[:1]
		u.address(s.msgs)
		s.fill()
		if err := s.send(fd); err != nil {
			t.Fatal(err)
		}
		k := newChecker(c)
		for k.good < uint64(s.count()) {
			n, err := k.receive(r.fd)
			if err != nil || n == 0 || k.wrong > 0 {
				t.Fatalf("%s: %d right packets, %d wrong ones, then %v", host, k.good, k.wrong, err)
			}
			k.take(n)
		}
		events := make([]unix.EpollEvent, 1)
		if n, err := unix.EpollWait(u.epoll, events, 0); n != 1 || events[0].Events&unix.EPOLLOUT == 0 {
			t.Errorf("%s: epoll reports %d events, %v", host, n, err)
		}
	}
}

// Packets go through all regions in turn.
func TestRegionsAreUsedInTurn(t *testing.T) {
	c := Config{Segment: 4112, ICRC: true, Regions: 3, Time: 1}
	region := c.region()
	if len(region) != 3*regionBytes {
		t.Fatalf("%d bytes for 3 regions of %d", len(region), regionBytes)
	}
	for psn, place := range map[bth.PSN]int{0: 0, 16: 1, 47: 2, 48: 0} {
		at := &c.place(region, psn)[0]
		if want := &region[place*regionBytes+int(psn)%16*4096]; at != want {
			t.Errorf("PSN %d is not in region %d", psn, place)
		}
	}
}

// A train arrives as packets with correct ICRCs, whose payload is copied to its place.
func TestPacketsAreGatheredCheckedAndCopied(t *testing.T) {
	for _, copied := range []bool{false, true} {
		gatheredCheckedAndCopied(t, Config{Segment: 4112, ICRC: true, Copied: copied, Time: 1})
	}
}

func gatheredCheckedAndCopied(t *testing.T, c Config) {
	r, err := listen(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	fd, err := c.dial(netip.MustParseAddr("127.0.0.1"), uint16(r.port))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	s := newBursts(c)
	s.msgs = s.msgs[:1] // more would not fit into every socket's buffer
	s.fill()
	s.edges[2*edge] ^= 1 // the third packet has a wrong ICRC
	if err := s.send(fd); err != nil {
		t.Fatal(err)
	}
	if err := r.answerFirst(); err != nil {
		t.Fatal(err)
	}
	k := newChecker(c)
	for k.good+k.wrong < uint64(s.count()) {
		n, err := k.receive(r.fd)
		if err != nil || n == 0 {
			t.Fatalf("%d packets, then %v", k.good+k.wrong, err)
		}
		k.take(n)
	}
	if k.good != uint64(s.count()-1) || k.wrong != 1 || k.next != s.next {
		t.Errorf("%d right packets and %d wrong ones before PSN %d", k.good, k.wrong, k.next)
	}
	for psn := range bth.PSN(s.count()) {
		if got := bytes.Equal(c.place(k.region, psn), c.place(s.region, psn)); got != (psn != 2) {
			t.Errorf("packet %d is copied: %v", psn, got)
		}
	}
	if err := k.answer(r.fd); err != nil {
		t.Fatal(err)
	}
	if err := s.await(fd); err != nil || s.settled != s.next {
		t.Errorf("acknowledged up to %d of %d: %v", s.settled, s.next, err)
	}
}

func TestAReceiveBufferHasItsPayloadAtAMultipleOf16(t *testing.T) {
	for range 10 {
		if at := uintptr(unsafe.Pointer(&aligned(trainRoom)[bth.BTHLen])); at%16 != 0 {
			t.Fatalf("payload at %#x", at)
		}
	}
}
