package verbs

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/nic"
	"github.com/gorxe/gorxe/qp"
)

// MulticastQPN is SendWR.RemoteQPN of a datagram to a multicast group.
const MulticastQPN = bth.MulticastQPN

const maxGroups = nic.MaxGroups

// MulticastGID returns the GID of the multicast group at an IP address: of an IPv6 one the
// address itself, of IPv4 a.b.c.d ::ffff:a.b.c.d, as rdma_cm names it on RoCEv2.
// (ff0e::ffff:a.b.c.d, its name on RoCEv1, is an IPv6 group here, as it is to Linux.)
func MulticastGID(group netip.Addr) (GID, error) {
	if !group.Unmap().IsMulticast() {
		return GID{}, fmt.Errorf("%v is not the address of a multicast group: those are 224.0.0.0/4 and ff00::/8", group)
	}
	return qp.GIDFromAddr(group), nil
}

// AttachMulticast makes a queue pair of type UD receive what is sent to a multicast group,
// as ibv_attach_mcast, and more: the host joins the group on the network too, so that
// switches bring what other hosts send. That takes no privilege. To send to a group nobody
// needs to be attached: a request names its AH, made from its GID, and [MulticastQPN].
//
// Each attached queue pair gets one copy, if the datagram has its Q_Key; so do those of
// other devices on the same host. A queue pair does not get what it sends itself, the others
// of its device do. A group is joined at the first address of the device that is of its
// family, and again at another when that one goes; device and caller must be in one network namespace. A device joins up to 8192
// groups, and 56 queue pairs can be attached to each, as on rxe.
func (q *QP) AttachMulticast(group GID) error { return q.qp.AttachMulticast(group) }

// DetachMulticast ends it, as ibv_detach_mcast. So does closing the queue pair.
func (q *QP) DetachMulticast(group GID) error { return q.qp.DetachMulticast(group) }
