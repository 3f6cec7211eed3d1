package verbs_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// The connection manager rejects a host that is not a peer of the device, without a reason, and
// connecting to it fails.
func TestConnectionsOfHostsThatAreNoPeersAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := verbstest.PipeLinks(t)
		cfg[1].Peers = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
		a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
		if a.Device.Admits(netip.MustParseAddr("198.51.100.1")) != true ||
			b.Device.Admits(netip.MustParseAddr("192.0.2.1")) {
			t.Error("Admits does not tell what Peers says")
		}
		at := netip.MustParseAddrPort("192.0.2.2:7174")
		l, err := b.Device.Listen(verbs.PortSpaceTCP, at, 1)
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Device.Dial(t.Context(), at, a.QP, verbs.DefaultConnParam())
		var refused *verbs.RejectError
		if !errors.As(err, &refused) || len(strings.Trim(string(refused.PrivateData), "\x00")) > 0 {
			t.Errorf("dialing: %v", err)
		}
		synctest.Wait()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if r, err := l.Next(over); err == nil {
			t.Errorf("the program was asked by %v", r.Remote())
		}
		if n := b.Device.Counters()["cm_verdict_not_allowed"]; n != 1 {
			t.Errorf("%d refusals are counted, want 1", n)
		}
		if err := b.QP.Connect(b.Info, a.Info, verbs.DefaultConnAttr()); err == nil ||
			!strings.Contains(err.Error(), "192.0.2.1 is not among the peers that the device admits") {
			t.Errorf("connecting to it: %v", err)
		}
	})
}
