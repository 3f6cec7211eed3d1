package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/testnet"
)

// rawPair returns raw links of two hosts.
func rawPair(t *testing.T, left, right netip.Addr) (l, r Link) {
	t.Helper()
	return linkPair(t, ListenRaw, ListenRaw, left, right)
}

// linkPair returns links of two hosts.
func linkPair(t *testing.T, openLeft, openRight func(netip.Addr) (Link, error), left, right netip.Addr) (l, r Link) {
	t.Helper()
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.44.1/24", "fd00:44::1/64"},
		Right: []string{"198.18.44.2/24", "fd00:44::2/64"}})
	testnet.In(t, hosts.Left, func() (err error) { l, err = openLeft(left); return err })
	testnet.In(t, hosts.Right, func() (err error) { r, err = openRight(right); return err })
	t.Cleanup(func() { l.Close(); r.Close() })
	return l, r
}

func send(psn bth.PSN) *Packet {
	return &Packet{Packet: bth.Packet{Opcode: bth.RCSendOnly, PSN: psn, DestQP: 17, Payload: []byte("12345678")},
		TOS: 0x68, TTL: 9, SrcPort: 50000}
}

func recv(t *testing.T, l Link) *Received {
	t.Helper()
	r, err := l.Recv(time.Now().Add(5 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// options inserts IPv4 options, one word of them.
func options(ip []byte) []byte {
	ip = append(append(append([]byte(nil), ip[:20]...), 1, 1, 1, 1), ip[20:]...)
	ip[0]++
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	return ip
}

func TestARawLinkSendsAnyPacketToAnotherHost(t *testing.T) {
	for _, pair := range pairs {
		t.Run(pair.name, func(t *testing.T) {
			l, r := rawPair(t, pair.src, pair.dst)
			changes := map[string]func(p *Packet){
				"correct":     func(*Packet) {},
				"no checksum": func(p *Packet) { p.NoChecksum = true },
				"UDP length": func(p *Packet) {
					p.Header = func(ip []byte) []byte { h, _ := ipHeader(ip); ip[h+5]++; return ip }
				},
				"wrong ICRC": func(p *Packet) { p.Damage = func(b []byte) []byte { b[len(b)-1]++; return b } },
				"no address of this host": func(p *Packet) {
					p.Src = pair.src.Next().Next()
				},
			}
			if pair.src.Is4() {
				changes["options"] = func(p *Packet) { p.Header = options }
				changes["total length"] = func(p *Packet) {
					p.Header = func(ip []byte) []byte { ip[3] -= 4; return ip }
				}
				changes["first fragment"] = func(p *Packet) {
					p.Header = func(ip []byte) []byte { ip[6] = 0x20; return FixICRC(ip) }
				}
				changes["header checksum"] = func(p *Packet) {
					p.KeepSum, p.Header = true, func(ip []byte) []byte { ip[10]++; return ip }
				}
			}
			for name, change := range changes {
				p := send(1)
				change(p)
				payload, err := l.Send(pair.dst, p)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got := recv(t, r)
				want := p.IP[:min(len(p.IP), ipTotal(p.IP))]
				if !bytes.Equal(got.IP, want) {
					t.Errorf("%s: sent %x, received %x", name, want, got.IP)
				}
				if name == "correct" && (!bytes.Equal(got.Bytes, payload) || got.ICRC != Right || got.PSN != 1 ||
					got.TTL != 9 || time.Since(got.At).Abs() > time.Hour) {
					t.Errorf("received %+v", got)
				}
			}
		})
	}
}

func TestARawLinkSendsAndReceivesRoCEv1(t *testing.T) {
	for _, pair := range pairs {
		t.Run(pair.name, func(t *testing.T) {
			l, r := rawPair(t, pair.src, pair.dst)
			p := send(5)
			p.V1 = true
			if _, err := l.Send(pair.dst, p); err != nil {
				t.Fatal(err)
			}
			if got := recv(t, r); !got.V1 || got.ICRC != Right || got.PSN != 5 || got.Src.Addr() != pair.src {
				t.Errorf("received %+v", got)
			}
		})
	}
}

// needRaw opens a raw link at an address of this host, or skips the test.
func needRaw(t *testing.T, a netip.Addr) Link {
	t.Helper()
	l, err := ListenRaw(a)
	if errors.Is(err, ErrRaw) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestARawLinkSendsToThisHost(t *testing.T) {
	a, b := netip.MustParseAddr("127.0.0.231"), netip.MustParseAddr("127.0.0.232")
	l, raw := needRaw(t, a), needRaw(t, b)
	l.Send(b, send(3))
	if got := recv(t, raw); got.ICRC != Right || got.PSN != 3 || got.TOS != 0x68 {
		t.Errorf("received %+v", got)
	}
	p := send(4)
	p.Header = options
	if _, err := l.Send(b, p); err != nil {
		t.Fatal(err)
	}
	if got := recv(t, raw); got.IP[0] != 0x46 || got.PSN != 4 {
		t.Errorf("options: received %+v", got)
	}
	p = send(5)
	p.Header = func(ip []byte) []byte { ip[3]++; return ip }
	if _, err := l.Send(b, p); !errors.Is(err, ErrUnsendable) {
		t.Errorf("a wrong total length: %v", err)
	}
	p = send(6)
	p.V1 = true
	if _, err := l.Send(b, p); err != nil {
		t.Fatal(err)
	}
	if got := recv(t, raw); !got.V1 || got.PSN != 6 {
		t.Errorf("RoCEv1: received %+v", got)
	}
}

func TestAUDPLinkGetsWhatARawLinkSends(t *testing.T) {
	a, b := netip.MustParseAddr("127.0.0.233"), netip.MustParseAddr("127.0.0.234")
	l := needRaw(t, a)
	r, err := ListenUDP(b)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := send(3)
	p.NoChecksum = true
	l.Send(b, p)
	if got := recv(t, r); got.ICRC != RightForID || got.PSN != 3 || got.TOS != 0x68 || got.TTL != 9 ||
		got.Src.Port() != 50000 {
		t.Errorf("received %+v", got)
	}
	// A packet to a raw link: its UDP socket keeps the port, so that no ICMP error comes back.
	if _, err := r.Send(a, send(4)); err != nil {
		t.Fatal(err)
	}
	if got := recv(t, l); got.ICRC != Right || got.PSN != 4 || got.TTL != 9 {
		t.Errorf("received %+v", got)
	}
}

// Over IPv6, a socket drops datagrams without a checksum unless it permits them.
func TestAUDPLinkGetsPacketsWithoutAChecksumOverIPv6(t *testing.T) {
	l, r := linkPair(t, ListenRaw, ListenUDP, netip.MustParseAddr("fd00:44::1"), netip.MustParseAddr("fd00:44::2"))
	p := send(3)
	p.NoChecksum = true
	if _, err := l.Send(r.Local(), p); err != nil {
		t.Fatal(err)
	}
	if got := recv(t, r); got.ICRC != Right || got.PSN != 3 {
		t.Errorf("received %+v", got)
	}
}

func TestAUDPLinkSendsFromASecondAddress(t *testing.T) {
	a, b := netip.MustParseAddr("127.0.0.235"), netip.MustParseAddr("127.0.0.236")
	l, err := ListenUDP(a)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := ListenUDP(b)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := send(1)
	if p.Src, err = OtherAddr(l, b); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Send(b, p); err != nil {
		t.Fatal(err)
	}
	if got := recv(t, r); got.Src.Addr() != p.Src || got.ICRC != RightForID {
		t.Errorf("received %+v", got)
	}
	p.Src = netip.MustParseAddr("192.0.2.1")
	if _, err := l.Send(b, p); err == nil {
		t.Error("a packet was sent from an address that this host does not have")
	}
}

func TestRecvEndsAtTheDeadlineAndWithTheLink(t *testing.T) {
	l := needRaw(t, netip.MustParseAddr("127.0.0.237"))
	if _, err := l.Recv(time.Now()); !errors.Is(err, ErrTimeout) {
		t.Errorf("at the deadline: %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := l.Recv(time.Now().Add(time.Minute))
		done <- err
	}()
	l.Close()
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
