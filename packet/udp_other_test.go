//go:build !linux

package packet_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/packet"
)

func TestUDPElsewhereIsAnHonestError(t *testing.T) {
	if _, err := packet.ListenUDP(netip.MustParseAddr("127.0.0.1"), packet.UDPOptions{}); err == nil || !strings.Contains(err.Error(), "Linux") {
		t.Errorf("ListenUDP: %v", err)
	}
}
