package verbstest

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/verbs"
)

// QKey is the Q_Key of the datagram queue pairs of nodes.
const QKey = 0x0badcafe &^ (1 << 31)

// OpenDatagram opens a device with a queue pair for datagrams.
func OpenDatagram(t testing.TB, cfg verbs.Config, size int) *Node {
	t.Helper()
	n := Open(t, cfg, size)
	n.QP = n.NewDatagramQP(QKey)
	return n
}

// NewDatagramQP returns another UD queue pair of n in RTS, whose first PSN is 5.
func (n *Node) NewDatagramQP(qkey uint32) *verbs.QP {
	n.Helper()
	q, err := n.PD.CreateQP(verbs.QPInitAttr{Type: verbs.UD, SendCQ: n.CQ, Cap: Cap})
	if err != nil {
		n.Fatal(err)
	}
	if err := q.StartDatagrams(qkey, 5); err != nil {
		n.Fatal(err)
	}
	return q
}

// Datagram returns a signaled send of the first size bytes of n's buffer to peer's queue pair.
func (n *Node) Datagram(peer *Node, size int) *verbs.SendWR {
	n.Helper()
	gid, err := peer.Device.GID(0)
	if err != nil {
		n.Fatal(err)
	}
	ah, err := n.PD.CreateAH(verbs.AddressVector{DGID: gid.GID})
	if err != nil {
		n.Fatal(err)
	}
	return &verbs.SendWR{
		Opcode: verbs.WRSend, Flags: verbs.Signaled, SGList: []verbs.SGE{n.MR.SGE(0, size)},
		AH: ah, RemoteQPN: peer.QP.QPN(), RemoteQKey: QKey,
	}
}

// Recv posts a receive of size bytes at offset off of n's buffer; its ID is off.
func (n *Node) Recv(off, size int) {
	n.Helper()
	if err := n.QP.PostRecv(&verbs.RecvWR{ID: uint64(off), SGList: []verbs.SGE{n.MR.SGE(off, size)}}); err != nil {
		n.Fatal(err)
	}
}

// GroupSend returns a send of the first size bytes of n's buffer to a group.
func (n *Node) GroupSend(group verbs.GID, size int) *verbs.SendWR {
	n.Helper()
	ah, err := n.PD.CreateAH(verbs.AddressVector{DGID: group})
	if err != nil {
		n.Fatal(err)
	}
	return &verbs.SendWR{
		Opcode: verbs.WRSend, Flags: verbs.Signaled, SGList: []verbs.SGE{n.MR.SGE(0, size)},
		AH: ah, RemoteQPN: verbs.MulticastQPN, RemoteQKey: QKey,
	}
}

// Join attaches n's queue pair to a group and posts one receive at offset off.
func (n *Node) Join(group verbs.GID, off int) {
	n.Helper()
	if err := n.QP.AttachMulticast(group); err != nil {
		n.Fatal(err)
	}
	n.Recv(off, 1000)
}

// WaitDatagram waits for one datagram, which must contain the first size bytes of the buffer of
// from and come from the queue pair of from.
func (n *Node) WaitDatagram(from *Node, size int) {
	n.Helper()
	var wc [1]verbs.WC
	n.Wait(1, wc[:])
	n.Fence()
	if wc[0].SrcQP != from.QP.QPN() || int(wc[0].ByteLen) != verbs.GRHLen+size {
		n.Errorf("received %+v, want %d bytes from QP %#x", wc[0], verbs.GRHLen+size, from.QP.QPN())
	}
	off := wc[0].WRID
	if got := string(n.Buf[off+verbs.GRHLen:][:size]); got != string(from.Buf[:size]) {
		n.Errorf("received %q", got)
	}
}

// MustMulticastGID returns the GID of a multicast address.
func MustMulticastGID(t testing.TB, group string) verbs.GID {
	t.Helper()
	gid, err := verbs.MulticastGID(netip.MustParseAddr(group))
	if err != nil {
		t.Fatal(err)
	}
	return gid
}
