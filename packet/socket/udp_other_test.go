//go:build !linux

package socket_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/packet/socket"
)

func TestUDPElsewhereIsAnHonestError(t *testing.T) {
	if _, err := socket.ListenUDP(netip.MustParseAddr("127.0.0.1"), socket.UDPOptions{}); err == nil ||
		!strings.Contains(err.Error(), "Linux") {
		t.Errorf("ListenUDP: %v", err)
	}
}
