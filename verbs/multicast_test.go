package verbs_test

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// On one host each device gets a copy, and so does each of its queue pairs except the sender.
func TestMulticastOverUDPOnOneHost(t *testing.T) {
	cfg := verbstest.UDPDevices(t)
	a, b := verbstest.OpenDatagram(t, cfg[0], 8192), verbstest.OpenDatagram(t, cfg[1], 8192)
	group := verbstest.MustMulticastGID(t, "239.55.4.1")
	a.Join(group, 4096)
	b.Join(group, 0)
	other := *a
	other.QP = a.NewDatagramQP(verbstest.QKey)
	other.Join(group, 6000)
	copy(a.Buf, "to all")
	a.Fence()
	if err := a.QP.PostSend(a.GroupSend(group, 6)); err != nil {
		t.Fatal(err)
	}
	b.WaitDatagram(a, 6)
	wc := make([]verbs.WC, 1)
	for sent, received := false, false; !sent || !received; {
		a.Wait(1, wc)
		switch wc[0].QPN {
		case other.QP.QPN():
			received = true
		case a.QP.QPN():
			if sent = true; wc[0].Opcode != verbs.WCSend {
				t.Fatalf("the sender received its own: %+v", wc[0])
			}
		}
	}
	if n := a.Device.Counters()["drop_own_multicast"]; n != 1 {
		t.Errorf("%d copies were kept from the sender, want 1", n)
	}
	b.Recv(0, 1000)
	if err := b.QP.DetachMulticast(group); err != nil {
		t.Fatal(err)
	}
	for _, wr := range []*verbs.SendWR{a.GroupSend(group, 6), a.Datagram(b, 3)} {
		if err := a.QP.PostSend(wr); err != nil {
			t.Fatal(err)
		}
	}
	b.WaitDatagram(a, 3)
}

// The GIDs of groups of rdma_cm on RoCEv2 (cma_iboe_set_mgid in Linux).
func TestMulticastGID(t *testing.T) {
	for addr, want := range map[string]string{"239.1.2.3": "::ffff:239.1.2.3", "::ffff:239.1.2.3": "::ffff:239.1.2.3",
		"ff0e::7": "ff0e::7"} {
		if got := verbstest.MustMulticastGID(t, addr).String(); got != want {
			t.Errorf("the GID of %s is %s, want %s", addr, got, want)
		}
	}
	_, err := verbs.MulticastGID(netip.MustParseAddr("192.0.2.1"))
	verbstest.MustMention(t, err, "192.0.2.1", "224.0.0.0/4", "ff00::/8")
}
