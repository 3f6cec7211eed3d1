package fault_test

import (
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/linktest"
)

func TestFaultWithoutFaults(t *testing.T) {
	linktest.Run(t, linktest.Wrapped(linktest.Pipes("192.0.2.1", "192.0.2.2", nil), func(l packet.Link) packet.Link {
		return fault.NewBoth(l, fault.Config{Seed: 1}, fault.Config{Seed: 2})
	}))
}
