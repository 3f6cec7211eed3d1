package ulp

import "strings"

// Protocol is an upper-layer protocol.
type Protocol uint8

const (
	None      Protocol = iota
	NVMe               // NVMe over Fabrics, RDMA transport
	ISER               // iSCSI extensions for RDMA
	SMBDirect          // SMB2 and SMB3 over RDMA
	NFS                // RPC-over-RDMA version 1; its RPC program is nearly always NFS

	numProtocols
)

// protocols has the names of each protocol: as text, and as value of the filter field ulp.
var protocols = [numProtocols]struct{ text, name string }{
	NVMe: {"NVMe-oF", "nvme-of"}, ISER: {"iSER", "iser"}, SMBDirect: {"SMB Direct", "smb-direct"},
	NFS: {"NFS/RDMA", "nfs-rdma"},
}

// String returns the name as text, such as "NVMe-oF"; "" for None.
func (p Protocol) String() string { return protocols[min(p, numProtocols-1)].text }

// Name returns the name in lower case and without spaces, such as "nvme-of"; "" for None.
func (p Protocol) Name() string { return protocols[min(p, numProtocols-1)].name }

// Names returns the results of [Protocol.Name] for all protocols.
func Names() []string {
	var all []string
	for p := None + 1; p < numProtocols; p++ {
		all = append(all, p.Name())
	}
	return all
}

// ByName returns the protocol with the given name, ignoring case, or None.
func ByName(name string) Protocol {
	for p := None + 1; p < numProtocols; p++ {
		if strings.EqualFold(p.Name(), name) {
			return p
		}
	}
	return None
}

// ByPort returns the protocol that is registered for a port in the port space TCP of rdma_cm, or
// None. The ports are those of the IANA registry: 4420 nvme, 8009 nvme-disc, 3260 iscsi-target, 445
// microsoft-ds, 5445 smbdirect, 20049 nfsrdma.
func ByPort(port uint16) Protocol {
	switch port {
	case 4420, 8009:
		return NVMe
	case 3260:
		return ISER
	case 445, 5445:
		return SMBDirect
	case 20049:
		return NFS
	}
	return None
}

// Context is what a parser must know about the connection.
type Context struct {
	// Client reports whether the side that requested the connection sent the SEND: NVMe host, iSCSI
	// initiator, SMB or NFS client.
	Client bool
	// Queue is the NVMe queue ID: 0 for the admin queue, -1 if unknown.
	Queue int
	// Continued reports whether the SEND continues an SMB2 message of the SEND before it.
	Continued bool
}
