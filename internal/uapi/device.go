package uapi

// This file defines the attributes of a device: QUERY_DEVICE in its legacy and extended form, and
// the structs of the legacy GET_CONTEXT.

// GetContext is the request of the legacy GET_CONTEXT (struct ib_uverbs_get_context).
type GetContext struct {
	Response uint64 `c:"response"`
}

// GetContextResp is the response to the legacy GET_CONTEXT (struct ib_uverbs_get_context_resp).
// AsyncFD is the asynchronous event file.
type GetContextResp struct {
	AsyncFD        uint32 `c:"async_fd"`
	NumCompVectors uint32 `c:"num_comp_vectors"`
}

// QueryDevice is the request of QUERY_DEVICE (struct ib_uverbs_query_device).
type QueryDevice struct {
	Response uint64 `c:"response"`
}

// QueryDeviceResp is the response to QUERY_DEVICE (struct ib_uverbs_query_device_resp). NodeGUID
// and SysImageGUID are big-endian. MaxMRSize is in bytes. LocalCAAckDelay is the exponent n of
// 4.096 µs x 2^n.
type QueryDeviceResp struct {
	FWVer                 uint64   `c:"fw_ver"`
	NodeGUID              [8]byte  `c:"node_guid"`
	SysImageGUID          [8]byte  `c:"sys_image_guid"`
	MaxMRSize             uint64   `c:"max_mr_size"`
	PageSizeCap           uint64   `c:"page_size_cap"`
	VendorID              uint32   `c:"vendor_id"`
	VendorPartID          uint32   `c:"vendor_part_id"`
	HWVer                 uint32   `c:"hw_ver"`
	MaxQP                 uint32   `c:"max_qp"`
	MaxQPWR               uint32   `c:"max_qp_wr"`
	DeviceCapFlags        uint32   `c:"device_cap_flags"`
	MaxSGE                uint32   `c:"max_sge"`
	MaxSGERd              uint32   `c:"max_sge_rd"`
	MaxCQ                 uint32   `c:"max_cq"`
	MaxCQE                uint32   `c:"max_cqe"`
	MaxMR                 uint32   `c:"max_mr"`
	MaxPD                 uint32   `c:"max_pd"`
	MaxQPRdAtom           uint32   `c:"max_qp_rd_atom"`
	MaxEERdAtom           uint32   `c:"max_ee_rd_atom"`
	MaxResRdAtom          uint32   `c:"max_res_rd_atom"`
	MaxQPInitRdAtom       uint32   `c:"max_qp_init_rd_atom"`
	MaxEEInitRdAtom       uint32   `c:"max_ee_init_rd_atom"`
	AtomicCap             uint32   `c:"atomic_cap"`
	MaxEE                 uint32   `c:"max_ee"`
	MaxRDD                uint32   `c:"max_rdd"`
	MaxMW                 uint32   `c:"max_mw"`
	MaxRawIpv6QP          uint32   `c:"max_raw_ipv6_qp"`
	MaxRawEthyQP          uint32   `c:"max_raw_ethy_qp"`
	MaxMcastGrp           uint32   `c:"max_mcast_grp"`
	MaxMcastQPAttach      uint32   `c:"max_mcast_qp_attach"`
	MaxTotalMcastQPAttach uint32   `c:"max_total_mcast_qp_attach"`
	MaxAH                 uint32   `c:"max_ah"`
	MaxFmr                uint32   `c:"max_fmr"`
	MaxMapPerFmr          uint32   `c:"max_map_per_fmr"`
	MaxSRQ                uint32   `c:"max_srq"`
	MaxSRQWR              uint32   `c:"max_srq_wr"`
	MaxSRQSGE             uint32   `c:"max_srq_sge"`
	MaxPKeys              uint16   `c:"max_pkeys"`
	LocalCAAckDelay       uint8    `c:"local_ca_ack_delay"`
	PhysPortCnt           uint8    `c:"phys_port_cnt"`
	Reserved              [4]uint8 `c:"reserved"`
}

// ExQueryDevice is the request of the extended QUERY_DEVICE (struct ib_uverbs_ex_query_device). The
// kernel rejects a CompMask or Reserved other than 0.
type ExQueryDevice struct {
	CompMask uint32 `c:"comp_mask"`
	Reserved uint32 `c:"reserved"`
}

// ODPCaps holds the on-demand paging capabilities of a device (struct ib_uverbs_odp_caps).
type ODPCaps struct {
	GeneralCaps uint64 `c:"general_caps"`
	RCODPCaps   uint32 `c:"per_transport_caps.rc_odp_caps"`
	UCODPCaps   uint32 `c:"per_transport_caps.uc_odp_caps"`
	UDODPCaps   uint32 `c:"per_transport_caps.ud_odp_caps"`
	Reserved    uint32 `c:"reserved"`
}

// RSSCaps holds the receive-side scaling capabilities of a device (struct ib_uverbs_rss_caps).
type RSSCaps struct {
	SupportedQPTs              uint32 `c:"supported_qpts"`
	MaxRWQIndirectionTables    uint32 `c:"max_rwq_indirection_tables"`
	MaxRWQIndirectionTableSize uint32 `c:"max_rwq_indirection_table_size"`
	Reserved                   uint32 `c:"reserved"`
}

// TMCaps holds the tag matching capabilities of a device (struct ib_uverbs_tm_caps).
type TMCaps struct {
	MaxRndvHdrSize uint32 `c:"max_rndv_hdr_size"`
	MaxNumTags     uint32 `c:"max_num_tags"`
	Flags          uint32 `c:"flags"`
	MaxOps         uint32 `c:"max_ops"`
	MaxSGE         uint32 `c:"max_sge"`
	Reserved       uint32 `c:"reserved"`
}

// CQModerationCaps holds the limits of completion moderation (struct ib_uverbs_cq_moderation_caps).
// The period is in µs.
type CQModerationCaps struct {
	MaxCQModerationCount  uint16 `c:"max_cq_moderation_count"`
	MaxCQModerationPeriod uint16 `c:"max_cq_moderation_period"`
	Reserved              uint32 `c:"reserved"`
}

// ExQueryDeviceResp is the response to the extended QUERY_DEVICE (struct
// ib_uverbs_ex_query_device_resp). ResponseLength is the number of bytes returned, up to 304.
// HCACoreClock is in kHz.
type ExQueryDeviceResp struct {
	Base             QueryDeviceResp  `c:"base"`
	CompMask         uint32           `c:"comp_mask"`
	ResponseLength   uint32           `c:"response_length"`
	ODPCaps          ODPCaps          `c:"odp_caps"`
	TimestampMask    uint64           `c:"timestamp_mask"`
	HCACoreClock     uint64           `c:"hca_core_clock"`
	DeviceCapFlagsEx uint64           `c:"device_cap_flags_ex"`
	RSSCaps          RSSCaps          `c:"rss_caps"`
	MaxWQTypeRQ      uint32           `c:"max_wq_type_rq"`
	RawPacketCaps    uint32           `c:"raw_packet_caps"`
	TMCaps           TMCaps           `c:"tm_caps"`
	CQModerationCaps CQModerationCaps `c:"cq_moderation_caps"`
	MaxDMSize        uint64           `c:"max_dm_size"`
	XRCODPCaps       uint32           `c:"xrc_odp_caps"`
	Reserved         uint32           `c:"reserved"`
}

var deviceStructs = []Struct{
	{"ib_uverbs_get_context", headerVerbs, GetContext{}},
	{"ib_uverbs_get_context_resp", headerVerbs, GetContextResp{}},
	{"ib_uverbs_query_device", headerVerbs, QueryDevice{}},
	{"ib_uverbs_query_device_resp", headerVerbs, QueryDeviceResp{}},
	{"ib_uverbs_ex_query_device", headerVerbs, ExQueryDevice{}},
	{"ib_uverbs_odp_caps", headerVerbs, ODPCaps{}},
	{"ib_uverbs_rss_caps", headerVerbs, RSSCaps{}},
	{"ib_uverbs_tm_caps", headerVerbs, TMCaps{}},
	{"ib_uverbs_cq_moderation_caps", headerVerbs, CQModerationCaps{}},
	{"ib_uverbs_ex_query_device_resp", headerVerbs, ExQueryDeviceResp{}},
}

// DeviceCap is a bit of QueryDeviceResp.DeviceCapFlags and ExQueryDeviceResp.DeviceCapFlagsEx
// (enum ib_uverbs_device_cap_flags).
type DeviceCap uint64

const (
	DeviceResizeMaxWR      DeviceCap = 1 << 0
	DeviceBadPKeyCntr      DeviceCap = 1 << 1
	DeviceBadQKeyCntr      DeviceCap = 1 << 2
	DeviceRawMulti         DeviceCap = 1 << 3
	DeviceAutoPathMig      DeviceCap = 1 << 4
	DeviceChangePhyPort    DeviceCap = 1 << 5
	DeviceUDAVPortEnforce  DeviceCap = 1 << 6
	DeviceCurrQPStateMod   DeviceCap = 1 << 7
	DeviceShutdownPort     DeviceCap = 1 << 8
	DevicePortActiveEvent  DeviceCap = 1 << 10
	DeviceSysImageGUID     DeviceCap = 1 << 11
	DeviceRCRNRNAKGen      DeviceCap = 1 << 12
	DeviceSRQResize        DeviceCap = 1 << 13
	DeviceNNotifyCQ        DeviceCap = 1 << 14
	DeviceMemWindow        DeviceCap = 1 << 17
	DeviceXRC              DeviceCap = 1 << 20
	DeviceMemMgtExtensions DeviceCap = 1 << 21
	DeviceMemWindowType2A  DeviceCap = 1 << 23
	DeviceMemWindowType2B  DeviceCap = 1 << 24
	DeviceFlushGlobal      DeviceCap = 1 << 38 // Linux 6.2
	DeviceFlushPersistent  DeviceCap = 1 << 39 // Linux 6.2
	DeviceAtomicWrite      DeviceCap = 1 << 40 // Linux 6.2
)

var deviceCaps = names[DeviceCap]{headerVerbs, []name[DeviceCap]{
	{"IB_UVERBS_DEVICE_RESIZE_MAX_WR", DeviceResizeMaxWR},
	{"IB_UVERBS_DEVICE_BAD_PKEY_CNTR", DeviceBadPKeyCntr},
	{"IB_UVERBS_DEVICE_BAD_QKEY_CNTR", DeviceBadQKeyCntr},
	{"IB_UVERBS_DEVICE_RAW_MULTI", DeviceRawMulti},
	{"IB_UVERBS_DEVICE_AUTO_PATH_MIG", DeviceAutoPathMig},
	{"IB_UVERBS_DEVICE_CHANGE_PHY_PORT", DeviceChangePhyPort},
	{"IB_UVERBS_DEVICE_UD_AV_PORT_ENFORCE", DeviceUDAVPortEnforce},
	{"IB_UVERBS_DEVICE_CURR_QP_STATE_MOD", DeviceCurrQPStateMod},
	{"IB_UVERBS_DEVICE_SHUTDOWN_PORT", DeviceShutdownPort},
	{"IB_UVERBS_DEVICE_PORT_ACTIVE_EVENT", DevicePortActiveEvent},
	{"IB_UVERBS_DEVICE_SYS_IMAGE_GUID", DeviceSysImageGUID},
	{"IB_UVERBS_DEVICE_RC_RNR_NAK_GEN", DeviceRCRNRNAKGen},
	{"IB_UVERBS_DEVICE_SRQ_RESIZE", DeviceSRQResize},
	{"IB_UVERBS_DEVICE_N_NOTIFY_CQ", DeviceNNotifyCQ},
	{"IB_UVERBS_DEVICE_MEM_WINDOW", DeviceMemWindow},
	{"IB_UVERBS_DEVICE_XRC", DeviceXRC},
	{"IB_UVERBS_DEVICE_MEM_MGT_EXTENSIONS", DeviceMemMgtExtensions},
	{"IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2A", DeviceMemWindowType2A},
	{"IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B", DeviceMemWindowType2B},
	{"IB_UVERBS_DEVICE_FLUSH_GLOBAL", DeviceFlushGlobal},
	{"IB_UVERBS_DEVICE_FLUSH_PERSISTENT", DeviceFlushPersistent},
	{"IB_UVERBS_DEVICE_ATOMIC_WRITE", DeviceAtomicWrite},
}}

// String returns the kernel's names of the bits set, separated by "|".
func (d DeviceCap) String() string { return deviceCaps.flags(d) }

// AtomicCap is the scope of atomic operations, QueryDeviceResp.AtomicCap (enum ib_atomic_cap).
type AtomicCap uint32

const (
	AtomicNone AtomicCap = 0
	AtomicHCA  AtomicCap = 1
	AtomicGlob AtomicCap = 2
)

var atomicCaps = names[AtomicCap]{headerLibibverbs, []name[AtomicCap]{
	{"IBV_ATOMIC_NONE", AtomicNone},
	{"IBV_ATOMIC_HCA", AtomicHCA},
	{"IBV_ATOMIC_GLOB", AtomicGlob},
}}

// String returns rdma-core's name of the value.
func (a AtomicCap) String() string { return atomicCaps.one(a) }

// NodeType is the type of a device, the number in node_type of sysfs (enum rdma_node_type).
type NodeType uint32

const (
	NodeCA     NodeType = 1
	NodeSwitch NodeType = 2
	NodeRouter NodeType = 3
	NodeRNIC   NodeType = 4
)

var nodeTypes = names[NodeType]{headerLibibverbs, []name[NodeType]{
	{"IBV_NODE_CA", NodeCA},
	{"IBV_NODE_SWITCH", NodeSwitch},
	{"IBV_NODE_ROUTER", NodeRouter},
	{"IBV_NODE_RNIC", NodeRNIC},
}}

// String returns rdma-core's name of the value.
func (n NodeType) String() string { return nodeTypes.one(n) }

// DriverID is the driver of a device, IoctlHdr.DriverID (enum rdma_driver_id).
type DriverID uint32

const (
	DriverUnknown DriverID = 0
	DriverRXE     DriverID = 14
	DriverSIW     DriverID = 18
)

var driverIDs = names[DriverID]{headerIoctlVerbs, []name[DriverID]{
	{"RDMA_DRIVER_UNKNOWN", DriverUnknown},
	{"RDMA_DRIVER_RXE", DriverRXE},
	{"RDMA_DRIVER_SIW", DriverSIW},
}}

// String returns the kernel's name of the value.
func (d DriverID) String() string { return driverIDs.one(d) }

// CoreSupport is a set of features of the RDMA core, which GET_CONTEXT returns (enum
// ib_uverbs_core_support).
type CoreSupport uint64

const (
	CoreSupportOptionalMRAccess CoreSupport = 1 << 0
)

var coreSupports = names[CoreSupport]{headerIoctlVerbs, []name[CoreSupport]{
	{"IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS", CoreSupportOptionalMRAccess},
}}

// String returns the kernel's names of the bits set, separated by "|".
func (c CoreSupport) String() string { return coreSupports.flags(c) }
