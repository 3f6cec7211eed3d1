package uapi

// This file defines the data of UHW_IN and UHW_OUT between the driver rxe and librxe, and the
// layouts of the queues that both map, as sizes and offsets in bytes (rdma_user_rxe.h). A queue
// is a header followed by elements of 1<<log2_elem_size bytes. An element of a completion queue
// is a WC.

// MMInfo is the location of a queue for mmap of the device file (struct mminfo). Offset and Size
// are in bytes and multiples of the page size.
type MMInfo struct {
	Offset uint64 `c:"offset"`
	Size   uint32 `c:"size"`
	Pad    uint32 `c:"pad"`
}

// RXECreateAHResp is rxe's response to CREATE_AH. librxe resolves the address itself unless AHNum
// is positive (struct rxe_create_ah_resp).
type RXECreateAHResp struct {
	AHNum    uint32 `c:"ah_num"`
	Reserved uint32 `c:"reserved"`
}

// RXECreateCQResp is rxe's response to CREATE_CQ (struct rxe_create_cq_resp).
type RXECreateCQResp struct {
	MI MMInfo `c:"mi"`
}

// RXEResizeCQResp is rxe's response to RESIZE_CQ (struct rxe_resize_cq_resp).
type RXEResizeCQResp struct {
	MI MMInfo `c:"mi"`
}

// RXECreateQPResp is rxe's response to CREATE_QP (struct rxe_create_qp_resp). RQMI is zero with a
// shared receive queue.
type RXECreateQPResp struct {
	RQMI MMInfo `c:"rq_mi"`
	SQMI MMInfo `c:"sq_mi"`
}

// RXECreateSRQResp is rxe's response to CREATE_SRQ (struct rxe_create_srq_resp).
type RXECreateSRQResp struct {
	MI       MMInfo `c:"mi"`
	SRQNum   uint32 `c:"srq_num"`
	Reserved uint32 `c:"reserved"`
}

// RXEModifySRQCmd is rxe's input of MODIFY_SRQ: the address at which to store the MMInfo after a
// resize (struct rxe_modify_srq_cmd).
type RXEModifySRQCmd struct {
	MmapInfoAddr uint64 `c:"mmap_info_addr"`
}

var rxeStructs = []Struct{
	{"mminfo", headerRXE, MMInfo{}},
	{"rxe_create_ah_resp", headerRXE, RXECreateAHResp{}},
	{"rxe_create_cq_resp", headerRXE, RXECreateCQResp{}},
	{"rxe_resize_cq_resp", headerRXE, RXEResizeCQResp{}},
	{"rxe_create_qp_resp", headerRXE, RXECreateQPResp{}},
	{"rxe_create_srq_resp", headerRXE, RXECreateSRQResp{}},
	{"rxe_modify_srq_cmd", headerRXE, RXEModifySRQCmd{}},
}

// Header of a queue (struct rxe_queue_buf).
const (
	RXEQueueLog2ElemSize  = 0   // u32
	RXEQueueIndexMask     = 4   // u32
	RXEQueueProducerIndex = 128 // u32
	RXEQueueConsumerIndex = 256 // u32
	RXEQueueData          = 384 // first element
)

// Send work queue element (struct rxe_send_wqe). Scatter/gather elements, inline data or the
// 8 bytes of an ATOMIC WRITE follow it.
const (
	RXESendWQESize        = 208
	RXESendWQEWR          = 0   // send work request, 144 bytes
	RXESendWQEStatus      = 144 // u32
	RXESendWQEState       = 148 // u32
	RXESendWQEIOVA        = 152 // u64
	RXESendWQEMask        = 160 // u32
	RXESendWQEFirstPSN    = 164 // u32
	RXESendWQELastPSN     = 168 // u32
	RXESendWQEAckLength   = 172 // u32
	RXESendWQESSN         = 176 // u32
	RXESendWQEHasRdAtomic = 180 // u32
	RXESendWQEDMA         = 184 // DMA state, 24 bytes
)

// Receive work queue element (struct rxe_recv_wqe). Scatter/gather elements follow it.
const (
	RXERecvWQESize = 40
	RXERecvWQEWRID = 0  // u64
	RXERecvWQEDMA  = 16 // DMA state, 24 bytes
)

// DMA state of a work queue element (struct rxe_dma_info).
const (
	RXEDMASize      = 24
	RXEDMALength    = 0  // u32, bytes of the message
	RXEDMAResid     = 4  // u32, remaining bytes
	RXEDMACurSGE    = 8  // u32
	RXEDMANumSGE    = 12 // u32
	RXEDMASGEOffset = 16 // u32
	RXEDMAData      = 24 // scatter/gather elements or inline data
)

// Scatter/gather element (struct rxe_sge).
const (
	RXESGESize   = 16
	RXESGEAddr   = 0  // u64
	RXESGELength = 8  // u32
	RXESGELKey   = 12 // u32
)

// Send work request (struct rxe_send_wr). The fields from byte 24 on depend on the opcode.
const (
	RXESendWRSize      = 144
	RXESendWRID        = 0  // u64
	RXESendWROpcode    = 12 // u32, a WROpcode
	RXESendWRSendFlags = 16 // u32, SendFlags
	RXESendWREx        = 20 // immediate data, big-endian, or R_Key to invalidate

	RXERDMARemoteAddr = 24 // u64
	RXERDMARKey       = 32 // u32

	RXEAtomicRemoteAddr = 24 // u64
	RXEAtomicCompareAdd = 32 // u64
	RXEAtomicSwap       = 40 // u64
	RXEAtomicRKey       = 48 // u32

	RXEUDRemoteQPN  = 24 // u32
	RXEUDRemoteQKey = 28 // u32
	RXEUDPKeyIndex  = 32 // u16
	RXEUDAHNum      = 36 // u32, 0 if the address vector follows
	RXEUDAV         = 56 // address vector, 88 bytes

	RXEMWAddr   = 24 // u64
	RXEMWLength = 32 // u64
	RXEMWMRLKey = 40 // u32
	RXEMWMWRKey = 44 // u32
	RXEMWRKey   = 48 // u32
	RXEMWAccess = 52 // u32

	RXEFlushRemoteAddr = 24 // u64, Linux 6.2
	RXEFlushLength     = 32 // u32, Linux 6.2
	RXEFlushRKey       = 36 // u32, Linux 6.2
	RXEFlushType       = 40 // u8, a placement type, Linux 6.2
	RXEFlushLevel      = 41 // u8, a selectivity level, Linux 6.2
)

// Address vector (struct rxe_av).
const (
	RXEAVSize         = 88
	RXEAVPortNum      = 0  // u8
	RXEAVNetworkType  = 1  // u8, RXENetworkTypeIPv4 or RXENetworkTypeIPv6
	RXEAVDMAC         = 2  // 6 bytes
	RXEAVDGID         = 8  // 16 bytes
	RXEAVFlowLabel    = 24 // u32
	RXEAVSGIDIndex    = 28 // u8
	RXEAVHopLimit     = 29 // u8
	RXEAVTrafficClass = 30 // u8
	RXEAVSGIDAddr     = 32 // sockaddr_in or sockaddr_in6
	RXEAVDGIDAddr     = 60 // sockaddr_in or sockaddr_in6
)

// Network types of an address vector.
const (
	RXENetworkTypeIPv4 = 1
	RXENetworkTypeIPv6 = 2
)

var ringLayout = names[uint32]{headerRXE, []name[uint32]{
	{"offsetof(struct rxe_queue_buf, log2_elem_size)", RXEQueueLog2ElemSize},
	{"offsetof(struct rxe_queue_buf, index_mask)", RXEQueueIndexMask},
	{"offsetof(struct rxe_queue_buf, producer_index)", RXEQueueProducerIndex},
	{"offsetof(struct rxe_queue_buf, consumer_index)", RXEQueueConsumerIndex},
	{"offsetof(struct rxe_queue_buf, data)", RXEQueueData},
	{"sizeof(struct rxe_send_wqe)", RXESendWQESize},
	{"offsetof(struct rxe_send_wqe, wr)", RXESendWQEWR},
	{"offsetof(struct rxe_send_wqe, status)", RXESendWQEStatus},
	{"offsetof(struct rxe_send_wqe, state)", RXESendWQEState},
	{"offsetof(struct rxe_send_wqe, iova)", RXESendWQEIOVA},
	{"offsetof(struct rxe_send_wqe, mask)", RXESendWQEMask},
	{"offsetof(struct rxe_send_wqe, first_psn)", RXESendWQEFirstPSN},
	{"offsetof(struct rxe_send_wqe, last_psn)", RXESendWQELastPSN},
	{"offsetof(struct rxe_send_wqe, ack_length)", RXESendWQEAckLength},
	{"offsetof(struct rxe_send_wqe, ssn)", RXESendWQESSN},
	{"offsetof(struct rxe_send_wqe, has_rd_atomic)", RXESendWQEHasRdAtomic},
	{"offsetof(struct rxe_send_wqe, dma)", RXESendWQEDMA},
	{"sizeof(struct rxe_recv_wqe)", RXERecvWQESize},
	{"offsetof(struct rxe_recv_wqe, wr_id)", RXERecvWQEWRID},
	{"offsetof(struct rxe_recv_wqe, dma)", RXERecvWQEDMA},
	{"sizeof(struct rxe_dma_info)", RXEDMASize},
	{"offsetof(struct rxe_dma_info, length)", RXEDMALength},
	{"offsetof(struct rxe_dma_info, resid)", RXEDMAResid},
	{"offsetof(struct rxe_dma_info, cur_sge)", RXEDMACurSGE},
	{"offsetof(struct rxe_dma_info, num_sge)", RXEDMANumSGE},
	{"offsetof(struct rxe_dma_info, sge_offset)", RXEDMASGEOffset},
	{"offsetof(struct rxe_dma_info, sge)", RXEDMAData},
	{"sizeof(struct rxe_sge)", RXESGESize},
	{"offsetof(struct rxe_sge, addr)", RXESGEAddr},
	{"offsetof(struct rxe_sge, length)", RXESGELength},
	{"offsetof(struct rxe_sge, lkey)", RXESGELKey},
	{"sizeof(struct rxe_send_wr)", RXESendWRSize},
	{"offsetof(struct rxe_send_wr, wr_id)", RXESendWRID},
	{"offsetof(struct rxe_send_wr, opcode)", RXESendWROpcode},
	{"offsetof(struct rxe_send_wr, send_flags)", RXESendWRSendFlags},
	{"offsetof(struct rxe_send_wr, ex)", RXESendWREx},
	{"offsetof(struct rxe_send_wr, wr.rdma.remote_addr)", RXERDMARemoteAddr},
	{"offsetof(struct rxe_send_wr, wr.rdma.rkey)", RXERDMARKey},
	{"offsetof(struct rxe_send_wr, wr.atomic.remote_addr)", RXEAtomicRemoteAddr},
	{"offsetof(struct rxe_send_wr, wr.atomic.compare_add)", RXEAtomicCompareAdd},
	{"offsetof(struct rxe_send_wr, wr.atomic.swap)", RXEAtomicSwap},
	{"offsetof(struct rxe_send_wr, wr.atomic.rkey)", RXEAtomicRKey},
	{"offsetof(struct rxe_send_wr, wr.ud.remote_qpn)", RXEUDRemoteQPN},
	{"offsetof(struct rxe_send_wr, wr.ud.remote_qkey)", RXEUDRemoteQKey},
	{"offsetof(struct rxe_send_wr, wr.ud.pkey_index)", RXEUDPKeyIndex},
	{"offsetof(struct rxe_send_wr, wr.ud.ah_num)", RXEUDAHNum},
	{"offsetof(struct rxe_send_wr, wr.ud.av)", RXEUDAV},
	{"offsetof(struct rxe_send_wr, wr.mw.addr)", RXEMWAddr},
	{"offsetof(struct rxe_send_wr, wr.mw.length)", RXEMWLength},
	{"offsetof(struct rxe_send_wr, wr.mw.mr_lkey)", RXEMWMRLKey},
	{"offsetof(struct rxe_send_wr, wr.mw.mw_rkey)", RXEMWMWRKey},
	{"offsetof(struct rxe_send_wr, wr.mw.rkey)", RXEMWRKey},
	{"offsetof(struct rxe_send_wr, wr.mw.access)", RXEMWAccess},
	{"offsetof(struct rxe_send_wr, wr.flush.remote_addr)", RXEFlushRemoteAddr},
	{"offsetof(struct rxe_send_wr, wr.flush.length)", RXEFlushLength},
	{"offsetof(struct rxe_send_wr, wr.flush.rkey)", RXEFlushRKey},
	{"offsetof(struct rxe_send_wr, wr.flush.type)", RXEFlushType},
	{"offsetof(struct rxe_send_wr, wr.flush.level)", RXEFlushLevel},
	{"sizeof(struct rxe_av)", RXEAVSize},
	{"offsetof(struct rxe_av, port_num)", RXEAVPortNum},
	{"offsetof(struct rxe_av, network_type)", RXEAVNetworkType},
	{"offsetof(struct rxe_av, dmac)", RXEAVDMAC},
	{"offsetof(struct rxe_av, grh.dgid)", RXEAVDGID},
	{"offsetof(struct rxe_av, grh.flow_label)", RXEAVFlowLabel},
	{"offsetof(struct rxe_av, grh.sgid_index)", RXEAVSGIDIndex},
	{"offsetof(struct rxe_av, grh.hop_limit)", RXEAVHopLimit},
	{"offsetof(struct rxe_av, grh.traffic_class)", RXEAVTrafficClass},
	{"offsetof(struct rxe_av, sgid_addr)", RXEAVSGIDAddr},
	{"offsetof(struct rxe_av, dgid_addr)", RXEAVDGIDAddr},
	{"RXE_NETWORK_TYPE_IPV4", RXENetworkTypeIPv4},
	{"RXE_NETWORK_TYPE_IPV6", RXENetworkTypeIPv6},
}}
