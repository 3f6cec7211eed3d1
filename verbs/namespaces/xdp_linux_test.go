package namespaces_test

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet/links"
	"github.com/gorxe/gorxe/verbs"
)

func TestXDPSaysWhichPathMTUItOffers(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{MTU: 9000, Left: []string{"198.18.57.1/24"}})
	var log bytes.Buffer
	testnet.In(t, hosts.Left, func() error {
		dev, err := verbs.Open(verbs.Config{Device: "198.18.57.1", Link: "xdp",
			Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			return err
		}
		defer dev.Close()
		g, want := dev.GIDs()[0], verbs.MTU(4096)
		if strings.Contains(g.Detail, "frames of at most") {
			want = 2048
		}
		if p := dev.PortAttr(); p.ActiveMTU != want || g.Detail == "" {
			t.Errorf("active MTU %d, want %d with %q", p.ActiveMTU, want, g.Detail)
		}
		return nil
	})
	if s := log.String(); strings.Count(s, "\n") != 1 || !strings.Contains(s, "link=xdp path_mtu=") ||
		!strings.Contains(s, `detail="native mode`) {
		t.Errorf("the log says %s", s)
	}
}

func TestAutoSaysWhyItIsNoOtherKind(t *testing.T) {
	hosts := testnet.Connect(t, followCable)
	addr := netip.MustParseAddr("198.18.57.1")
	for _, follow := range []bool{false, true} {
		var log bytes.Buffer
		testnet.In(t, hosts.Left, func() error {
			dev, err := verbs.Open(verbs.Config{Device: addr.String(), Link: links.Auto, Follow: follow,
				Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				return err
			}
			defer dev.Close()
			if got := dev.GIDs()[0].Link; got != "raw" {
				t.Errorf("a link of kind %q, want raw on a veth pair", got)
			}
			choices := dev.LinkChoices(addr)
			if len(choices) != 3 || choices[0].Kind != "xdp" || choices[0].Err == nil || choices[1].Err != nil ||
				choices[2].Err == nil {
				t.Errorf("choices: %v", choices)
			}
			if c := dev.LinkChoices(netip.MustParseAddr("198.18.57.9")); c != nil {
				t.Errorf("choices of a strange address: %v", c)
			}
			return nil
		})
		for _, want := range []string{"link opened", "link=raw", "not_xdp=", "not_udp="} {
			if line, _, _ := strings.Cut(log.String(), "\n"); !strings.Contains(line, want) {
				t.Errorf("the first line of the log lacks %q: %s", want, line)
			}
		}
	}
}
