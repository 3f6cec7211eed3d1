//go:build linux && (amd64 || arm64)

package runcmd

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/app"
)

func TestAnInterfaceHasOneDaemonWhicheverOfItsAddressesNamesIt(t *testing.T) {
	eth0 := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("fe80::1%eth0")}
	a := &app.App{Addrs: func(name string) ([]netip.Addr, int, string, error) {
		switch name {
		case "eth0":
			return eth0, 1500, "eth0", nil
		case "192.0.2.1":
			return eth0[:1], 1500, "eth0", nil
		case "fe80::1", "fe80::1%eth0":
			return eth0[1:], 1500, "eth0", nil
		case "lo":
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, 65536, "lo", nil
		case "127.0.0.1", "127.0.0.2": // both are addresses of this host, one is that of the interface
			return []netip.Addr{netip.MustParseAddr(name)}, 65536, "lo", nil
		}
		return nil, 0, "", errors.New("no such device")
	}}
	for name, want := range map[string]string{
		"eth0": "eth0", "192.0.2.1": "eth0", "fe80::1": "eth0", "fe80::1%eth0": "eth0",
		"lo": "lo", "127.0.0.1": "lo", "127.0.0.2": "127.0.0.2",
	} {
		if got, err := interfaceOf(a, name); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := interfaceOf(a, "eth1"); err == nil {
		t.Error("an interface that is not there is no error")
	}
}
