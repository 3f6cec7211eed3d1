package bounce

import (
	"encoding/binary"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"
)

// peer is a server that a test plays.
type peer struct {
	t    *testing.T
	tcp  net.Conn
	udp  *net.UDPConn
	at   net.Addr // of the client's socket, once it has sent something
	plan plan
}

// startPeer starts a client and connects to it.
func startPeer(t *testing.T, way Way, messages string) (*peer, *process) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client := start(t, append([]string{asClient, l.Addr().String(), string(way), messages}, self(t, asProgram)...)...)
	p := &peer{t: t}
	if p.tcp, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.tcp.Close() })
	if p.udp, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.udp.Close() })
	p.say(hello{p.udp.LocalAddr().(*net.UDPAddr).Port})
	if err := json.NewDecoder(p.tcp).Decode(&p.plan); err != nil {
		t.Fatal(err)
	}
	return p, client
}

func (p *peer) say(what any) {
	p.t.Helper()
	if err := json.NewEncoder(p.tcp).Encode(what); err != nil {
		p.t.Fatal(err)
	}
}

// hear returns the next datagram of the client; ok is false when it sends no more.
func (p *peer) hear() (word uint64, ok bool) {
	var b [16]byte
	p.udp.SetReadDeadline(time.Now().Add(limit))
	n, at, err := p.udp.ReadFrom(b[:])
	p.at = at
	return binary.BigEndian.Uint64(b[:]), err == nil && n == 8
}

func (p *peer) send(word uint64) {
	p.t.Helper()
	if _, err := p.udp.WriteTo(binary.BigEndian.AppendUint64(nil, word), p.at); err != nil {
		p.t.Fatal(err)
	}
}

// The peer answers the last messages only when they are retransmitted, and loses acknowledgements
// of them.
func TestAClientRepairsLosses(t *testing.T) {
	for _, way := range Ways() {
		t.Run(string(way), func(t *testing.T) {
			const last = 5 + 2 // including the warm-up
			p, client := startPeer(t, way, "2")
			if p.plan.Way != way {
				t.Errorf("the plan is %+v", p.plan)
			}
			p.say(report{})
			asked := map[uint64]int{}
			for answered := uint64(0); answered < last; {
				word, ok := p.hear()
				if !ok {
					client.Wait()
					needFilter(t, client.log.String())
					t.Fatalf("the client has stopped after message %d: %s", answered, &client.log)
				}
				n := word >> 1
				if word&ackBit != 0 {
					continue
				}
				if asked[n]++; n > last-2 && asked[n] < 2 {
					continue
				}
				if way == Events && n <= last-2 {
					p.send(ackWord(n))
				}
				p.send(messageWord(n))
				answered = max(answered, n)
			}
			var r Result
			if err := json.Unmarshal([]byte(client.line(t)), &r); err != nil {
				t.Fatal(err)
			}
			if r.Resent < 2 || r.Average < float64(recvTimeout.Microseconds())/2 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestAClientSaysWhatItsServerDid(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(*peer)
		want string
	}{
		"fails at once": {func(p *peer) { p.say(report{"no room"}) }, "the server: no room"},
		"fails later": {func(p *peer) {
			p.say(report{})
			p.hear()
			p.say(report{"no room"})
		}, "the server: no room"},
		"ends at once": {func(p *peer) { p.tcp.Close() }, "the server has ended"},
		"ends later": {func(p *peer) {
			p.say(report{})
			p.hear()
			p.tcp.Close()
		}, "the server has ended"},
		"is done early": {func(p *peer) {
			p.say(report{})
			p.hear()
			p.say(report{})
		}, "before its client is"},
	} {
		t.Run(name, func(t *testing.T) {
			p, client := startPeer(t, Process, "9")
			tt.do(p)
			client.fails(t, tt.want)
		})
	}
}

// If the client's first line is not a plan, the error says so.
func TestAServerRefusesWhatIsNoPlan(t *testing.T) {
	for text, want := range map[string]string{
		`{"way":"bird","port":1}`:     `way "bird"`,
		`{"way":"trap","port":0}`:     "UDP port is 0",
		`{"way":"trap","port":99999}`: "UDP port is 99999",
		`trap`:                        "the client's plan",
	} {
		server := start(t, append([]string{asServer}, self(t, asProgram)...)...)
		conn, err := net.Dial("tcp", server.line(t))
		if err != nil {
			t.Fatal(err)
		}
		in := json.NewDecoder(conn)
		var h hello
		if err := in.Decode(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(text + "\n")); err != nil {
			t.Fatal(err)
		}
		var r report
		if err := in.Decode(&r); err != nil || !strings.Contains(r.Error, want) {
			t.Errorf("%s: the client is told %+v, %v; want %s", text, r, err, want)
		}
		server.fails(t, want)
		conn.Close()
	}
}
