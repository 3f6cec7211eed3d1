package live

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// vlanTag is the outermost VLAN tag of a frame, which the kernel or the NIC removes from its bytes.
type vlanTag struct {
	present           bool
	protocol, control uint16 // TPID and TCI
}

var ne = binary.NativeEndian

// Offsets in struct tpacket_auxdata of linux/if_packet.h.
const (
	auxTCI  = 16
	auxTPID = 18
	auxLen  = 20

	typeVLAN = 0x8100 // if the kernel does not tell the TPID
)

// readControl reads the control messages of a frame: the kernel's receive time, or the current time
// if there is none, and the VLAN tag.
func readControl(oob []byte) (at time.Time, tag vlanTag) {
	for len(oob) > 0 {
		h, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		if err != nil {
			break
		}
		oob = rest
		switch {
		case h.Level == unix.SOL_SOCKET && h.Type == unix.SCM_TIMESTAMPNS:
			switch len(data) { // struct timespec, two machine words
			case 16:
				at = time.Unix(int64(ne.Uint64(data)), int64(ne.Uint64(data[8:])))
			case 8:
				at = time.Unix(int64(int32(ne.Uint32(data))), int64(int32(ne.Uint32(data[4:]))))
			}
		case h.Level == unix.SOL_PACKET && h.Type == unix.PACKET_AUXDATA && len(data) >= auxLen:
			status := ne.Uint32(data)
			if status&unix.TP_STATUS_VLAN_VALID == 0 {
				continue
			}
			tag = vlanTag{true, typeVLAN, ne.Uint16(data[auxTCI:])}
			if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
				tag.protocol = ne.Uint16(data[auxTPID:])
			}
		}
	}
	if at.IsZero() {
		at = time.Now()
	}
	return at, tag
}
