package app

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/links"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

func TestChoiceTextIsOneLine(t *testing.T) {
	linkChoices := []links.Choice{
		{Kind: "xdp", Err: errors.New("packet: xdp 192.0.2.1: eth0: another\nprogram")}, {Kind: "raw"},
		{Kind: "udp", Err: errors.New("raw is faster")},
	}
	want := "xdp: not chosen: xdp 192.0.2.1: eth0: another; program; raw: chosen; udp: not chosen: raw is faster"
	if got := choiceText(linkChoices); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The index of a GID counts the addresses of the interface on the route to the peer.
func TestAGIDIndexChoosesAmongTheInterfacesAddresses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for indexed, want := range map[bool]string{true: "eth7", false: "127.0.0.1"} {
		opened := ""
		a := &App{
			Addrs: func(string) ([]netip.Addr, int, string, error) { return nil, 0, "eth7", nil },
			Open: func(cfg verbs.Config) (*verbs.Device, error) {
				opened = cfg.Device
				return nil, errTest
			},
		}
		if _, err := a.OpenAt(&DeviceFlags{}, conn, indexed); !errors.Is(err, errTest) || opened != want {
			t.Errorf("with an index %v: opened %q, %v", indexed, opened, err)
		}
	}
}

// rdma_cm makes the connections of perf -R on the device that the same flags describe.
func TestManagedFlagsDescribeTheSameDevice(t *testing.T) {
	f := DeviceFlags{ibPort: 1, Link: "raw", Spin: 1, shards: 3, Faults: "drop=1%", faultsIn: "drop=2%", Trace: "file"}
	if got := *f.Managed().flags(); got != f {
		t.Errorf("got %+v, want %+v", got, f)
	}
	f.Interface = "eth7"
	if got := f.Managed().Interface; got != "eth7" {
		t.Errorf("the device is on %q", got)
	}
}

func TestADeviceIsOpenedWhereTheConnectionIs(t *testing.T) {
	pipes := pipe.NewNet()
	a := &App{Open: func(cfg verbs.Config) (*verbs.Device, error) {
		l, err := pipes.Open(netip.MustParseAddr(cfg.Device), 1500)
		if err != nil {
			return nil, err
		}
		cfg.Device, cfg.Links = "", []packet.Link{l}
		return verbs.Open(cfg)
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	dev, err := a.OpenAt(&DeviceFlags{}, conn, false)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	if got := dev.GIDs()[0].Addr; got != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("opened at %v", got)
	}
	if _, err := a.OpenAt(&DeviceFlags{}, conn, false); err == nil ||
		!strings.HasSuffix(err.Error(), "name another address or interface with -d") {
		t.Errorf("a second device there: %v", err)
	}
	p1, p2 := net.Pipe()
	defer p1.Close()
	defer p2.Close()
	if _, err := a.OpenAt(&DeviceFlags{}, p1, false); err == nil || !strings.Contains(err.Error(), "name one with -d") {
		t.Errorf("on a connection without address: %v", err)
	}
}
