package links_test

import (
	"errors"
	"net/netip"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe/packet/links"
)

func TestLinksAreOpenedByKind(t *testing.T) {
	addr := netip.MustParseAddr("127.48.0.7")
	for _, kind := range append(links.Kinds(), "") {
		l, err := links.Listen(kind, addr)
		if errors.Is(err, syscall.EPERM) || runtime.GOOS != "linux" {
			continue
		}
		if kind == "xdp" && err != nil && strings.Contains(err.Error(), "not an Ethernet interface") {
			continue
		}
		if err != nil {
			t.Fatalf("%q: %v", kind, err)
		}
		if got := l.Caps().Name; got != kind && !(kind == "" && got == "udp") && kind != links.Auto {
			t.Errorf("%q opened a link of kind %q", kind, got)
		}
		l.Close()
	}
	_, err := links.Listen("carrier pigeon", addr)
	if err == nil || !strings.Contains(err.Error(), "choose udp, raw, xdp or auto") {
		t.Errorf("no such kind: %v", err)
	}
}
