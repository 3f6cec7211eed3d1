package verbs_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

func TestListenAfterTheDeviceIsClosedIsRefused(t *testing.T) {
	for _, test := range []struct {
		name  string
		ran   bool // whether the connection manager runs
		local netip.AddrPort
	}{
		{"the connection manager ran", true, netip.AddrPort{}},
		{"the connection manager ran, an address is given", true, netip.MustParseAddrPort("192.0.2.1:7")},
		{"the connection manager never ran", false, netip.AddrPort{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := verbstest.PipeLinks(t)[0]
			cfg.ConnManager = test.ran
			dev, err := verbs.Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := dev.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := dev.Listen(verbs.PortSpaceTCP, test.local, 1); !errors.Is(err, verbs.ErrClosed) {
				t.Errorf("Listen: %v, want %v", err, verbs.ErrClosed)
			}
		})
	}
}

func TestAddressHandlesAreRefusedOnceClosed(t *testing.T) {
	for _, test := range []struct {
		name  string
		close func(*client) error
	}{
		{"context", func(c *client) error { return c.ctx.Close() }},
		{"device", func(c *client) error { return c.ctx.Device().Close() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			dev := verbstest.Open(t, verbstest.PipeLinks(t)[0], 64).Device
			c := newClient(t, dev, verbs.ContextLimits{})
			to := verbs.AddressVector{DGID: c.info.GID}
			if _, err := c.pd.CreateAH(to); err != nil {
				t.Fatal(err)
			}
			if err := test.close(c); err != nil {
				t.Fatal(err)
			}
			if _, err := c.pd.CreateAH(to); !errors.Is(err, verbs.ErrClosed) {
				t.Errorf("CreateAH: %v, want %v", err, verbs.ErrClosed)
			}
			soon, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := c.pd.DialUD(soon, netip.MustParseAddrPort("192.0.2.2:7"), nil); !errors.Is(err,
				verbs.ErrClosed) {
				t.Errorf("DialUD: %v, want %v", err, verbs.ErrClosed)
			}
		})
	}
}
