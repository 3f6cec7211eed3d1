package verbs

import (
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// Limits of a device. They are those of rxe if rxe has the limit.
const (
	MaxQP     = 1<<20 - 16 // queue pairs at a time
	MaxQPWR   = 1 << 16    // work requests of a send or receive queue
	MaxInline = 512        // bytes of an inline send
)

// Limits that only [DeviceAttr] reports.
const (
	maxSGE    = 32
	maxCQ     = 1 << 20
	maxCQE    = qp.MaxDepth
	maxPD     = 1 << 20
	maxSRQ    = 1<<20 - 1
	maxSRQWR  = qp.MaxDepth
	maxSRQSGE = 27
	maxAH     = 32767 // as rxe reports; gorxe has no limit
	rxeVendor = 0xffffff
	ackDelay  = 15 // local_ca_ack_delay: 4.096 µs × 2^15 = 134 ms
)

// DeviceAttr describes a device, as ibv_device_attr. Fields that gorxe does not support are 0.
type DeviceAttr struct {
	FWVer           string
	NodeGUID        uint64
	SysImageGUID    uint64
	MaxMRSize       uint64
	PageSizeCap     uint64
	VendorID        uint32
	VendorPartID    uint32
	HWVer           uint32
	MaxQP           int
	MaxQPWR         int
	DeviceCapFlags  uint32 // bits of ibv_device_cap_flags
	MaxSGE          int
	MaxSGERd        int
	MaxInline       int // of a queue pair; ibv_device_attr has no such field
	MaxCQ           int
	MaxCQE          int
	MaxMR           int
	MaxPD           int
	MaxQPRdAtom     int
	MaxEERdAtom     int
	MaxResRdAtom    int
	MaxQPInitRdAtom int
	AtomicCap       int // 0: IBV_ATOMIC_NONE, 1: IBV_ATOMIC_HCA
	MaxMW           int
	MaxAH           int
	MaxSRQ          int
	MaxSRQWR        int
	MaxSRQSGE       int
	MaxMcastGrp     int
	// MaxMcastQPAttach is the maximum number of queue pairs attached to one multicast group.
	MaxMcastQPAttach int
	MaxPkeys         int
	LocalCAAckDelay  int
	PhysPortCnt      int

	// DeviceCapFlagsEx is device_cap_flags_ex of ibv_device_attr_ex: DeviceCapFlags and, above
	// them, those bits of ib_uverbs_device_cap_flags that do not fit there.
	DeviceCapFlagsEx uint64
}

// Attr returns the device's attributes and limits.
func (d *Device) Attr() DeviceAttr {
	guid := d.nic.GUID()
	return DeviceAttr{
		NodeGUID: guid, SysImageGUID: guid,
		MaxMRSize: 1<<64 - 1, PageSizeCap: 0xfffff000, VendorID: rxeVendor,
		MaxQP: d.maxQP, MaxQPWR: MaxQPWR, MaxSGE: maxSGE, MaxSGERd: maxSGE, MaxInline: MaxInline,
		MaxCQ: maxCQ, MaxCQE: maxCQE, MaxMR: d.maxMR, MaxMW: mr.MaxWindows, MaxPD: maxPD,
		MaxQPRdAtom: qp.MaxRdAtomic, MaxQPInitRdAtom: qp.MaxRdAtomic,
		MaxResRdAtom: qp.MaxRdAtomic * d.maxQP, AtomicCap: atomicHCA,
		DeviceCapFlags: deviceCaps, DeviceCapFlagsEx: deviceCaps | deviceCapsEx,
		MaxSRQ: maxSRQ, MaxSRQWR: maxSRQWR, MaxSRQSGE: maxSRQSGE,
		MaxMcastGrp: maxGroups, MaxMcastQPAttach: maxAttached, MaxAH: maxAH, MaxPkeys: 1, LocalCAAckDelay: ackDelay,
		PhysPortCnt: 1,
	}
}

// deviceCaps are the supported bits of ibv_device_cap_flags: IBV_DEVICE_CURR_QP_STATE_MOD,
// PORT_ACTIVE_EVENT, SYS_IMAGE_GUID, RC_RNR_NAK_GEN, SRQ_RESIZE, MEM_WINDOW, MEM_MGT_EXTENSIONS
// and MEM_WINDOW_TYPE_2B. Of the bits of rxe, those missing are the counters of bad P_Keys and
// Q_Keys, path migration, and features of devices with several ports.
const deviceCaps = 1<<7 | 1<<10 | 1<<11 | 1<<12 | 1<<13 | 1<<17 | 1<<21 | 1<<24

// deviceCapsEx are IB_UVERBS_DEVICE_FLUSH_GLOBAL, FLUSH_PERSISTENT and ATOMIC_WRITE. As with rxe,
// FLUSH_PERSISTENT has an effect only on persistent memory (see [mr.Flusher]).
const deviceCapsEx = 1<<38 | 1<<39 | 1<<40

// atomicHCA is IBV_ATOMIC_HCA: atomics are atomic among all queue pairs of the device.
const atomicHCA = 1

// PortAttr describes port 1, as ibv_port_attr.
type PortAttr struct {
	State       string // "PORT_ACTIVE", or "PORT_DOWN" while the network interface is down
	MaxMTU      MTU
	ActiveMTU   MTU    // maximum that every link of the device supports
	GIDTableLen int    // one more than the maximum index that an address has or had
	MaxMsgSize  uint64 // bytes
	PkeyTblLen  int
	LID         uint16 // 0: RoCE has none
	PhysState   string // "LINK_UP" or "DISABLED"
	LinkLayer   string // "Ethernet"
}

// PortAttr returns the attributes of the device's port. On Linux, its state is that of the network
// interface if Config.Device opened the device, otherwise that of the links that report it (see
// [packet.StateWatcher]). Without an address the port is down. [EventPortErr] and [EventPortActive]
// report changes.
func (d *Device) PortAttr() PortAttr {
	gids := d.nic.GIDs()
	active := qp.MaxMTU
	for _, g := range gids {
		active = min(active, g.MTU)
	}
	state, phys := "PORT_ACTIVE", "LINK_UP"
	if !d.nic.PortActive() {
		state, phys = "PORT_DOWN", "DISABLED"
	}
	return PortAttr{
		State: state, PhysState: phys, LinkLayer: "Ethernet",
		MaxMTU: qp.MaxMTU, ActiveMTU: active, GIDTableLen: d.nic.GIDTableLen(),
		MaxMsgSize: qp.MaxMessage, PkeyTblLen: 1,
	}
}
