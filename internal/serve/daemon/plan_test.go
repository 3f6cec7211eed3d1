package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/internal/serve/daemon/config"
)

// testHost returns a host with eth0 and eth1. A device can also be one of their addresses.
func testHost() Host {
	addrs := map[string][]netip.Addr{
		"eth0": {netip.MustParseAddr("fe80::1%eth0"), netip.MustParseAddr("192.0.2.1"),
			netip.MustParseAddr("2001:db8::1")},
		"eth1": {netip.MustParseAddr("198.51.100.1")},
	}
	return Host{
		Suggest: func() []string { return []string{"eth0"} },
		Addrs: func(device string) ([]netip.Addr, int, string, error) {
			if a, err := netip.ParseAddr(device); err == nil {
				for name, all := range addrs {
					if slices.Contains(all, a) {
						return []netip.Addr{a}, 1500, name, nil
					}
				}
			}
			if all := addrs[device]; all != nil {
				return all, 9000, device, nil
			}
			return nil, 0, "", errors.New("packet: no network interface " + device)
		},
		GroupID: func(name string) (int, error) {
			if name == "rdma" {
				return 77, nil
			}
			return 0, errors.New("group: unknown group " + name)
		},
	}
}

func planOf(t testing.TB, text string) (*Plan, error) {
	t.Helper()
	c, err := config.Parse("g.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return MakePlan(context.Background(), c, testHost())
}

func TestThePlanIsToldToPeople(t *testing.T) {
	for name, text := range map[string]string{
		"plan_default": `control.socket = "/run/gorxe/control.sock"`,
		"plan": `
			drain = "0s"
			log = { level = "warn", format = "json" }
			control = { socket = "/tmp/s", mode = "0660", group = "rdma" }
			metrics.listen = "127.0.0.1:9481"
			[[device]]
			name = "roce"
			interface = "eth0"
			gids = ["v4"]
			mtu = 1024
			max_qp = 5
			peers = ["192.0.2.0/24", "2001:db8::/32"]
			[[device]]
			address = "198.51.100.1"
			max_mr = 6
			[[device]]
			interface = "eth7"
			[[device]]
			interface = "eth1"
			gids = ["v6"]`,
	} {
		p, err := planOf(t, text)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		p.Print(&out)
		golden.Check(t, name+".golden", out.String())
	}
}

func TestAPlanTellsAllThatIsWrong(t *testing.T) {
	_, err := planOf(t, `
		control.group = "wheel"
		service.perftest.memory = "1KiB"
		[[device]]
		interface = "eth0"
		[[device]]
		[[device]]
		address = "192.0.2.1"`)
	want := []string{
		"g.toml:3: service perftest: memory is 1KiB: it must be 64KiB to 1GiB",
		"g.toml:6: device gorxe1: it needs an interface or an address",
		"g.toml:7: device gorxe2: address 192.0.2.1 is that of the device on eth0: UDP port 4791 of an address is for one device",
		"g.toml:2: control.group: group: unknown group wheel",
	}
	if diff := cmp.Diff(want, config.Lines(err)); diff != "" {
		t.Error(diff)
	}
}

func TestThePayloadOfPerftestIsReadWithThePlan(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.txt")
	for _, c := range []struct{ text, payload, tells string }{
		{"0x01020304,0x05060708\n", "\x04\x03\x02\x01\x08\x07\x06\x05",
			"service perftest: port 18515\n  clients must write and send the payload of " + file +
				", which has 8 bytes\n"},
		{"0x01020304, 0x05060708", "", "g.toml:1: service perftest: payload: " + file +
			`:1:12: " 0x05060708" is not 0x and eight hex digits: write 0x01020304,0x05060708 without spaces`},
		{"0x00000001,0x00000002,0x00000003", "",
			"g.toml:1: service perftest: payload: " + file + ": the payload has 12 bytes: give it 4, 8, 16, 32 or 64"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := planOf(t, fmt.Sprintf("service.perftest.payload = %q", file))
		var out bytes.Buffer
		if err != nil {
			out.WriteString(err.Error())
		} else {
			p.Print(&out)
		}
		if !strings.Contains(out.String(), c.tells) || (err == nil) != (c.payload != "") || err == nil &&
			string(p.Bytes) != c.payload {
			t.Errorf("%q: %v\nwant %s", c.text, &out, c.tells)
		}
	}
	if _, err := planOf(t, `service.perftest.payload = "/nothing"`); err == nil ||
		!strings.HasPrefix(err.Error(), "g.toml:1: service perftest: payload: open /nothing: ") {
		t.Errorf("of no file: %v", err)
	}
}

func TestAGroupMayBeANumber(t *testing.T) {
	if n, err := groupID("4711"); err != nil || n != 4711 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := groupID("no such group"); err == nil {
		t.Error("a group that is not there is found")
	}
}

func TestTheDefaultDeviceIsOnTheDefaultRoute(t *testing.T) {
	for _, c := range []struct{ usable, routes, want string }{
		{"docker0 eth0 eth1", "wg0 eth1 eth0", "eth1"},
		{"eth0 eth1", "", "eth0 eth1"},
		{"eth0", "wg0", "eth0"},
		{"", "eth0", "127.0.0.1"},
	} {
		if got := strings.Join(choose(strings.Fields(c.usable), strings.Fields(c.routes)), " "); got != c.want {
			t.Errorf("usable %s, default routes %s: %s, want %s", c.usable, c.routes, got, c.want)
		}
	}
}

// Every host has a default device, and its plan is valid.
func TestThisHostHasADefaultDevice(t *testing.T) {
	p, err := MakePlan(t.Context(), config.Default(), ThisHost())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Devices) == 0 || len(p.Places[0].Addrs) == 0 || p.Devices[0].Name != p.Devices[0].Interface {
		t.Errorf("%+v, %+v", p.Devices, p.Places)
	}
}
