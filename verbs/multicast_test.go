package verbs_test

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/verbs"
)

// groupSend is a send of the first size bytes of n's buffer to a group.
func (n *testNode) groupSend(group verbs.GID, size int) *verbs.SendWR {
	n.Helper()
	ah, err := n.pd.CreateAH(verbs.AddressVector{DGID: group})
	if err != nil {
		n.Fatal(err)
	}
	return &verbs.SendWR{
		Opcode: verbs.WRSend, Flags: verbs.Signaled, SGList: []verbs.SGE{n.mr.SGE(0, size)},
		AH: ah, RemoteQPN: verbs.MulticastQPN, RemoteQKey: udQKey,
	}
}

// join makes n's queue pair a member with one receive at offset off.
func (n *testNode) join(group verbs.GID, off int) {
	n.Helper()
	if err := n.qp.AttachMulticast(group); err != nil {
		n.Fatal(err)
	}
	n.recv(off, 1000)
}

// heard waits for one datagram, which must be of size bytes from the other's queue pair.
func (n *testNode) heard(from *testNode, size int) {
	n.Helper()
	var wc [1]verbs.WC
	n.wait(1, wc[:])
	n.fence()
	if wc[0].SrcQP != from.qp.QPN() || int(wc[0].ByteLen) != verbs.GRHLen+size {
		n.Errorf("received %+v, want %d bytes from QP %#x", wc[0], verbs.GRHLen+size, from.qp.QPN())
	}
	off := wc[0].WRID
	if got := string(n.buf[off+verbs.GRHLen:][:size]); got != string(from.buf[:size]) {
		n.Errorf("received %q", got)
	}
}

func mustMulticastGID(t testing.TB, group string) verbs.GID {
	t.Helper()
	gid, err := verbs.MulticastGID(netip.MustParseAddr(group))
	if err != nil {
		t.Fatal(err)
	}
	return gid
}

// On one host each device gets a copy, and every queue pair of it but the sender.
func TestMulticastOverUDPOnOneHost(t *testing.T) {
	cfg := udpDevices(t)
	a, b := datagramNode(t, cfg[0], 8192), datagramNode(t, cfg[1], 8192)
	group := mustMulticastGID(t, "239.55.4.1")
	a.join(group, 4096)
	b.join(group, 0)
	other := *a
	other.qp = a.newDatagramQP(udQKey)
	other.join(group, 6000)
	copy(a.buf, "to all")
	a.fence()
	if err := a.qp.PostSend(a.groupSend(group, 6)); err != nil {
		t.Fatal(err)
	}
	b.heard(a, 6)
	wc := make([]verbs.WC, 1)
	for sent, received := false, false; !sent || !received; {
		a.wait(1, wc)
		switch wc[0].QPN {
		case other.qp.QPN():
			received = true
		case a.qp.QPN():
			if sent = true; wc[0].Opcode != verbs.WCSend {
				t.Fatalf("the sender received its own: %+v", wc[0])
			}
		}
	}
	if n := a.dev.Counters()["drop_own_multicast"]; n != 1 {
		t.Errorf("%d copies were kept from the sender, want 1", n)
	}
	b.recv(0, 1000)
	if err := b.qp.DetachMulticast(group); err != nil {
		t.Fatal(err)
	}
	for _, wr := range []*verbs.SendWR{a.groupSend(group, 6), a.datagram(b, 3)} {
		if err := a.qp.PostSend(wr); err != nil {
			t.Fatal(err)
		}
	}
	b.heard(a, 3)
}

// rdma_cm's names of groups on RoCEv2 (cma_iboe_set_mgid in Linux).
func TestMulticastGID(t *testing.T) {
	for addr, want := range map[string]string{"239.1.2.3": "::ffff:239.1.2.3", "::ffff:239.1.2.3": "::ffff:239.1.2.3", "ff0e::7": "ff0e::7"} {
		if got := mustMulticastGID(t, addr).String(); got != want {
			t.Errorf("the GID of %s is %s, want %s", addr, got, want)
		}
	}
	_, err := verbs.MulticastGID(netip.MustParseAddr("192.0.2.1"))
	says(t, err, "192.0.2.1", "224.0.0.0/4", "ff00::/8")
}
