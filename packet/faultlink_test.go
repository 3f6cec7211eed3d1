package packet_test

import (
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
)

func TestFaultWithoutFaults(t *testing.T) {
	linktest.Run(t, linktest.Wrapped(linktest.Pipes("192.0.2.1", "192.0.2.2", nil), func(l packet.Link) packet.Link {
		return packet.FaultBoth(l, packet.FaultConfig{Seed: 1}, packet.FaultConfig{Seed: 2})
	}))
}
