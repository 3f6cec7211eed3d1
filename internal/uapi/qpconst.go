package uapi

// This file defines the constants of queue pairs: types, states, attribute masks, opcodes.

// QPType is the transport service of a queue pair (enum ib_uverbs_qp_type).
type QPType uint8

const (
	QPTypeRC        QPType = 2
	QPTypeUC        QPType = 3
	QPTypeUD        QPType = 4
	QPTypeRawPacket QPType = 8
	QPTypeXRCIni    QPType = 9
	QPTypeXRCTgt    QPType = 10
	QPTypeDriver    QPType = 0xff
)

var qpTypes = names[QPType]{headerIoctlVerbs, []name[QPType]{
	{"IB_UVERBS_QPT_RC", QPTypeRC},
	{"IB_UVERBS_QPT_UC", QPTypeUC},
	{"IB_UVERBS_QPT_UD", QPTypeUD},
	{"IB_UVERBS_QPT_RAW_PACKET", QPTypeRawPacket},
	{"IB_UVERBS_QPT_XRC_INI", QPTypeXRCIni},
	{"IB_UVERBS_QPT_XRC_TGT", QPTypeXRCTgt},
	{"IB_UVERBS_QPT_DRIVER", QPTypeDriver},
}}

// String returns the kernel's name of the value.
func (q QPType) String() string { return qpTypes.one(q) }

// QPState is the state of a queue pair (enum ib_qp_state).
type QPState uint32

const (
	QPSReset QPState = 0
	QPSInit  QPState = 1
	QPSRTR   QPState = 2
	QPSRTS   QPState = 3
	QPSSQD   QPState = 4
	QPSSQE   QPState = 5
	QPSErr   QPState = 6
)

var qpStates = names[QPState]{headerLibibverbs, []name[QPState]{
	{"IBV_QPS_RESET", QPSReset},
	{"IBV_QPS_INIT", QPSInit},
	{"IBV_QPS_RTR", QPSRTR},
	{"IBV_QPS_RTS", QPSRTS},
	{"IBV_QPS_SQD", QPSSQD},
	{"IBV_QPS_SQE", QPSSQE},
	{"IBV_QPS_ERR", QPSErr},
}}

// String returns rdma-core's name of the value.
func (q QPState) String() string { return qpStates.one(q) }

// QPMask selects attributes of a queue pair (enum ib_qp_attr_mask).
type QPMask uint32

const (
	QPMaskState            QPMask = 1 << 0
	QPMaskCurState         QPMask = 1 << 1
	QPMaskEnSQDAsyncNotify QPMask = 1 << 2
	QPMaskAccessFlags      QPMask = 1 << 3
	QPMaskPKeyIndex        QPMask = 1 << 4
	QPMaskPort             QPMask = 1 << 5
	QPMaskQKey             QPMask = 1 << 6
	QPMaskAV               QPMask = 1 << 7
	QPMaskPathMTU          QPMask = 1 << 8
	QPMaskTimeout          QPMask = 1 << 9
	QPMaskRetryCnt         QPMask = 1 << 10
	QPMaskRNRRetry         QPMask = 1 << 11
	QPMaskRQPSN            QPMask = 1 << 12
	QPMaskMaxQPRdAtomic    QPMask = 1 << 13
	QPMaskAltPath          QPMask = 1 << 14
	QPMaskMinRNRTimer      QPMask = 1 << 15
	QPMaskSQPSN            QPMask = 1 << 16
	QPMaskMaxDestRdAtomic  QPMask = 1 << 17
	QPMaskPathMigState     QPMask = 1 << 18
	QPMaskCap              QPMask = 1 << 19
	QPMaskDestQPN          QPMask = 1 << 20
	QPMaskRateLimit        QPMask = 1 << 25
)

var qpMasks = names[QPMask]{headerLibibverbs, []name[QPMask]{
	{"IBV_QP_STATE", QPMaskState},
	{"IBV_QP_CUR_STATE", QPMaskCurState},
	{"IBV_QP_EN_SQD_ASYNC_NOTIFY", QPMaskEnSQDAsyncNotify},
	{"IBV_QP_ACCESS_FLAGS", QPMaskAccessFlags},
	{"IBV_QP_PKEY_INDEX", QPMaskPKeyIndex},
	{"IBV_QP_PORT", QPMaskPort},
	{"IBV_QP_QKEY", QPMaskQKey},
	{"IBV_QP_AV", QPMaskAV},
	{"IBV_QP_PATH_MTU", QPMaskPathMTU},
	{"IBV_QP_TIMEOUT", QPMaskTimeout},
	{"IBV_QP_RETRY_CNT", QPMaskRetryCnt},
	{"IBV_QP_RNR_RETRY", QPMaskRNRRetry},
	{"IBV_QP_RQ_PSN", QPMaskRQPSN},
	{"IBV_QP_MAX_QP_RD_ATOMIC", QPMaskMaxQPRdAtomic},
	{"IBV_QP_ALT_PATH", QPMaskAltPath},
	{"IBV_QP_MIN_RNR_TIMER", QPMaskMinRNRTimer},
	{"IBV_QP_SQ_PSN", QPMaskSQPSN},
	{"IBV_QP_MAX_DEST_RD_ATOMIC", QPMaskMaxDestRdAtomic},
	{"IBV_QP_PATH_MIG_STATE", QPMaskPathMigState},
	{"IBV_QP_CAP", QPMaskCap},
	{"IBV_QP_DEST_QPN", QPMaskDestQPN},
	{"IBV_QP_RATE_LIMIT", QPMaskRateLimit},
}}

// String returns rdma-core's names of the bits set, separated by "|".
func (q QPMask) String() string { return qpMasks.flags(q) }

// QPMaskLegacy is the mask of the bits that MODIFY_QP accepts; the extended form also accepts
// QPMaskRateLimit (drivers/infiniband/core/uverbs_cmd.c).
const QPMaskLegacy = QPMaskDestQPN<<1 - 1

// MigState is the path migration state of a queue pair (enum ib_mig_state).
type MigState uint8

const (
	MigMigrated MigState = 0
	MigRearm    MigState = 1
	MigArmed    MigState = 2
)

var migStates = names[MigState]{headerLibibverbs, []name[MigState]{
	{"IBV_MIG_MIGRATED", MigMigrated},
	{"IBV_MIG_REARM", MigRearm},
	{"IBV_MIG_ARMED", MigArmed},
}}

// String returns rdma-core's name of the value.
func (m MigState) String() string { return migStates.one(m) }

// QPCreateFlags are the flags of the ioctl method QP_CREATE (enum ib_uverbs_qp_create_flags).
type QPCreateFlags uint32

const (
	QPCreateBlockMulticastLoopback QPCreateFlags = 1 << 1
	QPCreateScatterFCS             QPCreateFlags = 1 << 8
	QPCreateCVLANStripping         QPCreateFlags = 1 << 9
	QPCreatePCIWriteEndPadding     QPCreateFlags = 1 << 11
	QPCreateSQSigAll               QPCreateFlags = 1 << 12
)

var qpCreateFlags = names[QPCreateFlags]{headerIoctlVerbs, []name[QPCreateFlags]{
	{"IB_UVERBS_QP_CREATE_BLOCK_MULTICAST_LOOPBACK", QPCreateBlockMulticastLoopback},
	{"IB_UVERBS_QP_CREATE_SCATTER_FCS", QPCreateScatterFCS},
	{"IB_UVERBS_QP_CREATE_CVLAN_STRIPPING", QPCreateCVLANStripping},
	{"IB_UVERBS_QP_CREATE_PCI_WRITE_END_PADDING", QPCreatePCIWriteEndPadding},
	{"IB_UVERBS_QP_CREATE_SQ_SIG_ALL", QPCreateSQSigAll},
}}

// String returns the kernel's names of the bits set, separated by "|".
func (q QPCreateFlags) String() string { return qpCreateFlags.flags(q) }

// WROpcode is the opcode of a send work request (enum ib_uverbs_wr_opcode).
type WROpcode uint32

const (
	WRRDMAWrite         WROpcode = 0
	WRRDMAWriteWithImm  WROpcode = 1
	WRSend              WROpcode = 2
	WRSendWithImm       WROpcode = 3
	WRRDMARead          WROpcode = 4
	WRAtomicCmpAndSwp   WROpcode = 5
	WRAtomicFetchAndAdd WROpcode = 6
	WRLocalInv          WROpcode = 7
	WRBindMW            WROpcode = 8
	WRSendWithInv       WROpcode = 9
	WRTSO               WROpcode = 10
	WRRDMAReadWithInv   WROpcode = 11
	WRFlush             WROpcode = 14 // Linux 6.2
	WRAtomicWrite       WROpcode = 15 // Linux 6.2
)

var wrOpcodes = names[WROpcode]{headerVerbs, []name[WROpcode]{
	{"IB_UVERBS_WR_RDMA_WRITE", WRRDMAWrite},
	{"IB_UVERBS_WR_RDMA_WRITE_WITH_IMM", WRRDMAWriteWithImm},
	{"IB_UVERBS_WR_SEND", WRSend},
	{"IB_UVERBS_WR_SEND_WITH_IMM", WRSendWithImm},
	{"IB_UVERBS_WR_RDMA_READ", WRRDMARead},
	{"IB_UVERBS_WR_ATOMIC_CMP_AND_SWP", WRAtomicCmpAndSwp},
	{"IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD", WRAtomicFetchAndAdd},
	{"IB_UVERBS_WR_LOCAL_INV", WRLocalInv},
	{"IB_UVERBS_WR_BIND_MW", WRBindMW},
	{"IB_UVERBS_WR_SEND_WITH_INV", WRSendWithInv},
	{"IB_UVERBS_WR_TSO", WRTSO},
	{"IB_UVERBS_WR_RDMA_READ_WITH_INV", WRRDMAReadWithInv},
	{"IB_UVERBS_WR_FLUSH", WRFlush},
	{"IB_UVERBS_WR_ATOMIC_WRITE", WRAtomicWrite},
}}

// String returns the kernel's name of the value.
func (w WROpcode) String() string { return wrOpcodes.one(w) }

// SendFlags are the flags of a send work request (enum ib_send_flags).
type SendFlags uint32

const (
	SendFence     SendFlags = 1 << 0
	SendSignaled  SendFlags = 1 << 1
	SendSolicited SendFlags = 1 << 2
	SendInline    SendFlags = 1 << 3
	SendIPCsum    SendFlags = 1 << 4
)

var sendFlags = names[SendFlags]{headerLibibverbs, []name[SendFlags]{
	{"IBV_SEND_FENCE", SendFence},
	{"IBV_SEND_SIGNALED", SendSignaled},
	{"IBV_SEND_SOLICITED", SendSolicited},
	{"IBV_SEND_INLINE", SendInline},
	{"IBV_SEND_IP_CSUM", SendIPCsum},
}}

// String returns rdma-core's names of the bits set, separated by "|".
func (s SendFlags) String() string { return sendFlags.flags(s) }
