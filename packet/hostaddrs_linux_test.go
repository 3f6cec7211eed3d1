package packet_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/vishvananda/netlink"
)

func TestHostAddrsInTheOrderOfAGIDTable(t *testing.T) {
	hosts := linktest.NewNet(t, 4200, 0)
	testnet.In(t, hosts.Left, func() error {
		addrs, mtu, ifname, err := packet.HostAddrs("veth0")
		if err != nil {
			return err
		}
		// The kernel may have added a link-local address of its own.
		if diff := cmp.Diff([]netip.Addr{netip.MustParseAddr(linktest.LeftIPv4),
			netip.MustParseAddr(linktest.LeftIPv6)}, addrs[len(addrs)-2:], byText); diff != "" {
			t.Error(diff)
		}
		for _, a := range addrs[:len(addrs)-2] {
			if !a.IsLinkLocalUnicast() || a.Zone() != "veth0" {
				t.Errorf("%v stands in front of %s", a, linktest.LeftIPv4)
			}
		}
		if mtu != 4200 || ifname != "veth0" {
			t.Errorf("MTU %d, interface %s", mtu, ifname)
		}
		for _, text := range []string{linktest.LeftLocal, "fe80::44:1"} {
			addrs, _, _, err := packet.HostAddrs(text)
			if diff := cmp.Diff([]netip.Addr{netip.MustParseAddr(linktest.LeftLocal)}, addrs,
				byText); err != nil || diff != "" {
				t.Errorf("%s: %v\n%s", text, err, diff)
			}
		}
		return nil
	})
}

func TestHostAddrsOfAnInterfaceOutOfUse(t *testing.T) {
	hosts := linktest.NewNet(t, 1500, 0)
	testnet.In(t, hosts.Left, func() error {
		link, err := netlink.LinkByName("veth0")
		if err != nil {
			return err
		}
		addrs, err := netlink.AddrList(link, netlink.FAMILY_ALL)
		if err != nil {
			return err
		}
		for _, a := range addrs {
			if err := netlink.AddrDel(link, &a); err != nil {
				return err
			}
		}
		if _, _, _, err := packet.HostAddrs("veth0"); err == nil || !strings.Contains(err.Error(), "no IP address") {
			t.Errorf("without addresses: %v", err)
		}
		if err := netlink.LinkSetDown(link); err != nil {
			return err
		}
		if _, _, _, err := packet.HostAddrs("veth0"); err == nil || !strings.Contains(err.Error(), "down") {
			t.Errorf("down: %v", err)
		}
		return nil
	})
}
