package uapi

// This file defines ports and their GIDs: QUERY_PORT, QUERY_GID_TABLE and QUERY_GID_ENTRY.

// QueryPort is the request of the legacy QUERY_PORT (struct ib_uverbs_query_port).
type QueryPort struct {
	Response uint64   `c:"response"`
	PortNum  uint8    `c:"port_num"`
	Reserved [7]uint8 `c:"reserved"`
}

// QueryPortResp is the response to the legacy QUERY_PORT (struct ib_uverbs_query_port_resp).
// SubnetTimeout is the exponent n of 4.096 µs x 2^n.
type QueryPortResp struct {
	PortCapFlags  uint32 `c:"port_cap_flags"`
	MaxMsgSz      uint32 `c:"max_msg_sz"`
	BadPKeyCntr   uint32 `c:"bad_pkey_cntr"`
	QKeyViolCntr  uint32 `c:"qkey_viol_cntr"`
	GIDTblLen     uint32 `c:"gid_tbl_len"`
	PKeyTblLen    uint16 `c:"pkey_tbl_len"`
	LID           uint16 `c:"lid"`
	SMLID         uint16 `c:"sm_lid"`
	State         uint8  `c:"state"`
	MaxMTU        uint8  `c:"max_mtu"`
	ActiveMTU     uint8  `c:"active_mtu"`
	LMC           uint8  `c:"lmc"`
	MaxVLNum      uint8  `c:"max_vl_num"`
	SMSL          uint8  `c:"sm_sl"`
	SubnetTimeout uint8  `c:"subnet_timeout"`
	InitTypeReply uint8  `c:"init_type_reply"`
	ActiveWidth   uint8  `c:"active_width"`
	ActiveSpeed   uint8  `c:"active_speed"`
	PhysState     uint8  `c:"phys_state"`
	LinkLayer     uint8  `c:"link_layer"`
	Flags         uint8  `c:"flags"`
	Reserved      uint8  `c:"reserved"`
}

// QueryPortRespEx is the response to the ioctl method QUERY_PORT (struct
// ib_uverbs_query_port_resp_ex). Headers newer than Linux 6.1 call the last four bytes of Reserved
// active_speed_ex.
type QueryPortRespEx struct {
	LegacyResp    QueryPortResp `c:"legacy_resp"`
	PortCapFlags2 uint16        `c:"port_cap_flags2"`
	Reserved      [6]uint8      `c:"reserved"`
}

// GIDEntry is an entry of the GID table (struct ib_uverbs_gid_entry). NetdevIfindex is 0 if there
// is no network interface.
type GIDEntry struct {
	GID           [16]byte `c:"gid"`
	GIDIndex      uint32   `c:"gid_index"`
	PortNum       uint32   `c:"port_num"`
	GIDType       uint32   `c:"gid_type"`
	NetdevIfindex uint32   `c:"netdev_ifindex"`
}

var portStructs = []Struct{
	{"ib_uverbs_query_port", headerVerbs, QueryPort{}},
	{"ib_uverbs_query_port_resp", headerVerbs, QueryPortResp{}},
	{"ib_uverbs_query_port_resp_ex", headerIoctlVerbs, QueryPortRespEx{}},
	{"ib_uverbs_gid_entry", headerIoctlVerbs, GIDEntry{}},
}

// PortState is the logical state of a port (enum ib_port_state).
type PortState uint8

const (
	PortNop         PortState = 0
	PortDown        PortState = 1
	PortInit        PortState = 2
	PortArmed       PortState = 3
	PortActive      PortState = 4
	PortActiveDefer PortState = 5
)

var portStates = names[PortState]{headerLibibverbs, []name[PortState]{
	{"IBV_PORT_NOP", PortNop},
	{"IBV_PORT_DOWN", PortDown},
	{"IBV_PORT_INIT", PortInit},
	{"IBV_PORT_ARMED", PortArmed},
	{"IBV_PORT_ACTIVE", PortActive},
	{"IBV_PORT_ACTIVE_DEFER", PortActiveDefer},
}}

// String returns rdma-core's name of the value.
func (p PortState) String() string { return portStates.one(p) }

// Physical states of a port, QueryPortResp.PhysState (enum ib_port_phys_state of the kernel's
// ib_verbs.h; no user-space header has them).
const (
	PortPhysStateSleep         = 1
	PortPhysStatePolling       = 2
	PortPhysStateDisabled      = 3
	PortPhysStateTraining      = 4
	PortPhysStateLinkUp        = 5
	PortPhysStateErrorRecovery = 6
	PortPhysStateTest          = 7
)

// Widths and speeds of a link, QueryPortResp.ActiveWidth and ActiveSpeed (enum ib_port_width and
// ib_port_speed of the kernel's ib_verbs.h; no user-space header has them).
const (
	Width1X  = 1
	Width4X  = 2
	Width8X  = 4
	Width12X = 8
	Width2X  = 16

	SpeedSDR   = 1
	SpeedDDR   = 2
	SpeedQDR   = 4
	SpeedFDR10 = 8
	SpeedFDR   = 16
	SpeedEDR   = 32
	SpeedHDR   = 64
)

// LinkLayer is the link layer of a port (enum rdma_link_layer).
type LinkLayer uint8

const (
	LinkLayerUnspecified LinkLayer = 0
	LinkLayerInfiniBand  LinkLayer = 1
	LinkLayerEthernet    LinkLayer = 2
)

var linkLayers = names[LinkLayer]{headerLibibverbs, []name[LinkLayer]{
	{"IBV_LINK_LAYER_UNSPECIFIED", LinkLayerUnspecified},
	{"IBV_LINK_LAYER_INFINIBAND", LinkLayerInfiniBand},
	{"IBV_LINK_LAYER_ETHERNET", LinkLayerEthernet},
}}

// String returns rdma-core's name of the value.
func (l LinkLayer) String() string { return linkLayers.one(l) }

// MTU is a path MTU in the encoding of the ABI (enum ib_mtu); see MTU.Bytes.
type MTU uint8

const (
	MTU256  MTU = 1
	MTU512  MTU = 2
	MTU1024 MTU = 3
	MTU2048 MTU = 4
	MTU4096 MTU = 5
)

var mtus = names[MTU]{headerLibibverbs, []name[MTU]{
	{"IBV_MTU_256", MTU256},
	{"IBV_MTU_512", MTU512},
	{"IBV_MTU_1024", MTU1024},
	{"IBV_MTU_2048", MTU2048},
	{"IBV_MTU_4096", MTU4096},
}}

// String returns rdma-core's name of the value.
func (m MTU) String() string { return mtus.one(m) }

// Bytes returns the MTU in bytes, 256 to 4096, or 0 for an unknown number.
func (m MTU) Bytes() int {
	if m < MTU256 || m > MTU4096 {
		return 0
	}
	return 128 << m
}

// GIDType is the type of a GID (enum ib_uverbs_gid_type).
type GIDType uint32

const (
	GIDTypeIB     GIDType = 0
	GIDTypeRoCEv1 GIDType = 1
	GIDTypeRoCEv2 GIDType = 2
)

var gidTypes = names[GIDType]{headerIoctlVerbs, []name[GIDType]{
	{"IB_UVERBS_GID_TYPE_IB", GIDTypeIB},
	{"IB_UVERBS_GID_TYPE_ROCE_V1", GIDTypeRoCEv1},
	{"IB_UVERBS_GID_TYPE_ROCE_V2", GIDTypeRoCEv2},
}}

// String returns the kernel's name of the value.
func (g GIDType) String() string { return gidTypes.one(g) }

// PortCap is a bit of QueryPortResp.PortCapFlags (enum ib_uverbs_query_port_cap_flags).
type PortCap uint32

const (
	PortCapSM           PortCap = 1 << 1
	PortCapNotice       PortCap = 1 << 2
	PortCapTrap         PortCap = 1 << 3
	PortCapSysImageGUID PortCap = 1 << 11
	PortCapCM           PortCap = 1 << 16
	PortCapReinit       PortCap = 1 << 18
	PortCapDeviceMgmt   PortCap = 1 << 19
	PortCapVendorClass  PortCap = 1 << 20
	PortCapIPBasedGIDs  PortCap = 1 << 26
)

var portCaps = names[PortCap]{headerIoctlVerbs, []name[PortCap]{
	{"IB_UVERBS_PCF_SM", PortCapSM},
	{"IB_UVERBS_PCF_NOTICE_SUP", PortCapNotice},
	{"IB_UVERBS_PCF_TRAP_SUP", PortCapTrap},
	{"IB_UVERBS_PCF_SYS_IMAGE_GUID_SUP", PortCapSysImageGUID},
	{"IB_UVERBS_PCF_CM_SUP", PortCapCM},
	{"IB_UVERBS_PCF_REINIT_SUP", PortCapReinit},
	{"IB_UVERBS_PCF_DEVICE_MGMT_SUP", PortCapDeviceMgmt},
	{"IB_UVERBS_PCF_VENDOR_CLASS_SUP", PortCapVendorClass},
	{"IB_UVERBS_PCF_IP_BASED_GIDS", PortCapIPBasedGIDs},
}}

// String returns the kernel's names of the bits set, separated by "|".
func (p PortCap) String() string { return portCaps.flags(p) }

// PortFlag is a bit of QueryPortResp.Flags (enum ib_uverbs_query_port_flags).
type PortFlag uint8

const (
	PortGRHRequired PortFlag = 1 << 0
)

var portFlags = names[PortFlag]{headerIoctlVerbs, []name[PortFlag]{
	{"IB_UVERBS_QPF_GRH_REQUIRED", PortGRHRequired},
}}

// String returns the kernel's names of the bits set, separated by "|".
func (p PortFlag) String() string { return portFlags.flags(p) }
