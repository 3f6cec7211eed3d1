package verbs_test

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// Linux answers a REQ to a host without a NIC with ICMP, on the loopback interface too.
func TestAHostWithoutANICIsNotWaitedFor(t *testing.T) {
	host := netip.MustParseAddr("127.55.4.22")
	a := verbstest.Open(t, verbs.Config{Device: "127.55.4.21"}, 64)
	_, err := a.Device.Dial(t.Context(), netip.AddrPortFrom(host, 7), a.QP, verbs.DefaultConnParam())
	const want = "dial 127.55.4.22:7: no socket on UDP port 4791 at 127.55.4.22"
	if err == nil || err.Error() != want {
		t.Errorf("Dial = %v, want %s", err, want)
	}
	if !errors.Is(err, verbs.ErrUnreachable) || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v is neither unreachable nor refused", err)
	}
	_, err = a.PD.DialUD(t.Context(), netip.AddrPortFrom(host, 7), nil)
	var none *verbs.NotListeningError
	if !errors.As(err, &none) || none.Host != host {
		t.Errorf("DialUD = %v", err)
	}
	if a.QP.State() != verbs.ERR {
		t.Errorf("the queue pair is in %v", a.QP.State())
	}
	for info := range a.Device.CMs() {
		t.Errorf("left over: %+v", info)
	}
}

// If the port is open but nothing answers, Dial keeps waiting.
func TestAHostThatIsSilentIsWaitedFor(t *testing.T) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 55, 4, 24), Port: 4791})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a := verbstest.Open(t, verbs.Config{Device: "127.55.4.23"}, 64)
	dialed := a.Dial(t.Context(), netip.MustParseAddrPort("127.55.4.24:7"), verbs.DefaultConnParam())
	// The REQ, and the probe after it.
	b := make([]byte, 2048)
	for port := 4791; port == 4791; {
		n, from, err := c.ReadFromUDP(b)
		if err != nil {
			t.Fatal(err)
		}
		if n != 280 {
			t.Errorf("a datagram of %d bytes", n)
		}
		port = from.Port
	}
	select {
	case d := <-dialed:
		t.Errorf("Dial = %v", d.Err)
	default:
	}
}
