package packet_test

import (
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/linktest"
)

func faultless(l packet.Link) packet.Link {
	return fault.NewBoth(l, fault.Config{Seed: 1}, fault.Config{Seed: 2})
}

func TestTap(t *testing.T) {
	linktest.Run(t, linktest.Wrapped(linktest.Pipes("192.0.2.1", "192.0.2.2", nil), linktest.IgnoringTap))
}

func TestTapOverFault(t *testing.T) {
	linktest.Run(t, linktest.Wrapped(linktest.Wrapped(linktest.Pipes("192.0.2.1", "192.0.2.2", nil), faultless),
		linktest.IgnoringTap))
}
