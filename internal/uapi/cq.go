package uapi

// This file defines completion channels, completion queues and work completions.

// CreateCompChannel is the request of CREATE_COMP_CHANNEL (struct ib_uverbs_create_comp_channel).
type CreateCompChannel struct {
	Response uint64 `c:"response"`
}

// CreateCompChannelResp is the response to CREATE_COMP_CHANNEL (struct
// ib_uverbs_create_comp_channel_resp).
type CreateCompChannelResp struct {
	FD uint32 `c:"fd"`
}

// CreateCQ is the request of CREATE_CQ (struct ib_uverbs_create_cq). CompChannel is a file
// descriptor, -1 for none.
type CreateCQ struct {
	Response    uint64 `c:"response"`
	UserHandle  uint64 `c:"user_handle"`
	CQE         uint32 `c:"cqe"`
	CompVector  uint32 `c:"comp_vector"`
	CompChannel int32  `c:"comp_channel"`
	Reserved    uint32 `c:"reserved"`
}

// CreateCQResp is the response to CREATE_CQ (struct ib_uverbs_create_cq_resp).
type CreateCQResp struct {
	CQHandle uint32 `c:"cq_handle"`
	CQE      uint32 `c:"cqe"`
}

// ExCreateCQ is the request of the extended CREATE_CQ (struct ib_uverbs_ex_create_cq). Flags holds
// CQFlags.
type ExCreateCQ struct {
	UserHandle  uint64 `c:"user_handle"`
	CQE         uint32 `c:"cqe"`
	CompVector  uint32 `c:"comp_vector"`
	CompChannel int32  `c:"comp_channel"`
	CompMask    uint32 `c:"comp_mask"`
	Flags       uint32 `c:"flags"`
	Reserved    uint32 `c:"reserved"`
}

// ExCreateCQResp is the response to the extended CREATE_CQ (struct ib_uverbs_ex_create_cq_resp).
type ExCreateCQResp struct {
	Base           CreateCQResp `c:"base"`
	CompMask       uint32       `c:"comp_mask"`
	ResponseLength uint32       `c:"response_length"`
}

// ResizeCQ is the request of RESIZE_CQ (struct ib_uverbs_resize_cq).
type ResizeCQ struct {
	Response uint64 `c:"response"`
	CQHandle uint32 `c:"cq_handle"`
	CQE      uint32 `c:"cqe"`
}

// ResizeCQResp is the response to RESIZE_CQ (struct ib_uverbs_resize_cq_resp).
type ResizeCQResp struct {
	CQE      uint32 `c:"cqe"`
	Reserved uint32 `c:"reserved"`
}

// ReqNotifyCQ is the request of REQ_NOTIFY_CQ (struct ib_uverbs_req_notify_cq).
type ReqNotifyCQ struct {
	CQHandle      uint32 `c:"cq_handle"`
	SolicitedOnly uint32 `c:"solicited_only"`
}

// DestroyCQ is the request of DESTROY_CQ (struct ib_uverbs_destroy_cq).
type DestroyCQ struct {
	Response uint64 `c:"response"`
	CQHandle uint32 `c:"cq_handle"`
	Reserved uint32 `c:"reserved"`
}

// DestroyCQResp is the response to the legacy command and to the ioctl method DESTROY_CQ: the
// numbers of events that the program has read (struct ib_uverbs_destroy_cq_resp).
type DestroyCQResp struct {
	CompEventsReported  uint32 `c:"comp_events_reported"`
	AsyncEventsReported uint32 `c:"async_events_reported"`
}

// WC is a work completion, which is also the element of the completion queues that rxe shares with
// programs (struct ib_uverbs_wc). Ex is immediate data in network byte order with WCWithImm, or the
// invalidated R_Key in native byte order with WCWithInv.
type WC struct {
	WRID         uint64  `c:"wr_id"`
	Status       uint32  `c:"status"`
	Opcode       uint32  `c:"opcode"`
	VendorErr    uint32  `c:"vendor_err"`
	ByteLen      uint32  `c:"byte_len"`
	Ex           [4]byte `c:"ex"`
	QPNum        uint32  `c:"qp_num"`
	SrcQP        uint32  `c:"src_qp"`
	WCFlags      uint32  `c:"wc_flags"`
	PKeyIndex    uint16  `c:"pkey_index"`
	SLID         uint16  `c:"slid"`
	SL           uint8   `c:"sl"`
	DLIDPathBits uint8   `c:"dlid_path_bits"`
	PortNum      uint8   `c:"port_num"`
	Reserved     uint8   `c:"reserved"`
}

var cqStructs = []Struct{
	{"ib_uverbs_create_comp_channel", headerVerbs, CreateCompChannel{}},
	{"ib_uverbs_create_comp_channel_resp", headerVerbs, CreateCompChannelResp{}},
	{"ib_uverbs_create_cq", headerVerbs, CreateCQ{}},
	{"ib_uverbs_create_cq_resp", headerVerbs, CreateCQResp{}},
	{"ib_uverbs_ex_create_cq", headerVerbs, ExCreateCQ{}},
	{"ib_uverbs_ex_create_cq_resp", headerVerbs, ExCreateCQResp{}},
	{"ib_uverbs_resize_cq", headerVerbs, ResizeCQ{}},
	{"ib_uverbs_resize_cq_resp", headerVerbs, ResizeCQResp{}},
	{"ib_uverbs_req_notify_cq", headerVerbs, ReqNotifyCQ{}},
	{"ib_uverbs_destroy_cq", headerVerbs, DestroyCQ{}},
	{"ib_uverbs_destroy_cq_resp", headerVerbs, DestroyCQResp{}},
	{"ib_uverbs_wc", headerVerbs, WC{}},
}

// CQFlags are the flags of a new completion queue (enum ib_uverbs_ex_create_cq_flags).
type CQFlags uint32

const (
	CQTimestampCompletion CQFlags = 1 << 0
	CQIgnoreOverrun       CQFlags = 1 << 1
)

var cqFlags = names[CQFlags]{headerVerbs, []name[CQFlags]{
	{"IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION", CQTimestampCompletion},
	{"IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN", CQIgnoreOverrun},
}}

// String returns the kernel's names of the bits set, separated by "|".
func (c CQFlags) String() string { return cqFlags.flags(c) }

// WCStatus is the status of a work completion (enum ib_wc_status).
type WCStatus uint32

const (
	WCSuccess        WCStatus = 0
	WCLocLenErr      WCStatus = 1
	WCLocQPOpErr     WCStatus = 2
	WCLocEECOpErr    WCStatus = 3
	WCLocProtErr     WCStatus = 4
	WCWRFlushErr     WCStatus = 5
	WCMWBindErr      WCStatus = 6
	WCBadRespErr     WCStatus = 7
	WCLocAccessErr   WCStatus = 8
	WCRemInvReqErr   WCStatus = 9
	WCRemAccessErr   WCStatus = 10
	WCRemOpErr       WCStatus = 11
	WCRetryExcErr    WCStatus = 12
	WCRNRRetryExcErr WCStatus = 13
	WCLocRDDViolErr  WCStatus = 14
	WCRemInvRDReqErr WCStatus = 15
	WCRemAbortErr    WCStatus = 16
	WCInvEECNErr     WCStatus = 17
	WCInvEECStateErr WCStatus = 18
	WCFatalErr       WCStatus = 19
	WCRespTimeoutErr WCStatus = 20
	WCGeneralErr     WCStatus = 21
)

var wcStatuses = names[WCStatus]{headerLibibverbs, []name[WCStatus]{
	{"IBV_WC_SUCCESS", WCSuccess},
	{"IBV_WC_LOC_LEN_ERR", WCLocLenErr},
	{"IBV_WC_LOC_QP_OP_ERR", WCLocQPOpErr},
	{"IBV_WC_LOC_EEC_OP_ERR", WCLocEECOpErr},
	{"IBV_WC_LOC_PROT_ERR", WCLocProtErr},
	{"IBV_WC_WR_FLUSH_ERR", WCWRFlushErr},
	{"IBV_WC_MW_BIND_ERR", WCMWBindErr},
	{"IBV_WC_BAD_RESP_ERR", WCBadRespErr},
	{"IBV_WC_LOC_ACCESS_ERR", WCLocAccessErr},
	{"IBV_WC_REM_INV_REQ_ERR", WCRemInvReqErr},
	{"IBV_WC_REM_ACCESS_ERR", WCRemAccessErr},
	{"IBV_WC_REM_OP_ERR", WCRemOpErr},
	{"IBV_WC_RETRY_EXC_ERR", WCRetryExcErr},
	{"IBV_WC_RNR_RETRY_EXC_ERR", WCRNRRetryExcErr},
	{"IBV_WC_LOC_RDD_VIOL_ERR", WCLocRDDViolErr},
	{"IBV_WC_REM_INV_RD_REQ_ERR", WCRemInvRDReqErr},
	{"IBV_WC_REM_ABORT_ERR", WCRemAbortErr},
	{"IBV_WC_INV_EECN_ERR", WCInvEECNErr},
	{"IBV_WC_INV_EEC_STATE_ERR", WCInvEECStateErr},
	{"IBV_WC_FATAL_ERR", WCFatalErr},
	{"IBV_WC_RESP_TIMEOUT_ERR", WCRespTimeoutErr},
	{"IBV_WC_GENERAL_ERR", WCGeneralErr},
}}

// String returns rdma-core's name of the value.
func (w WCStatus) String() string { return wcStatuses.one(w) }

// WCOpcode is the opcode of a work completion (enum ib_uverbs_wc_opcode; only libibverbs has the
// receive opcodes).
type WCOpcode uint32

const (
	WCSend            WCOpcode = 0
	WCRDMAWrite       WCOpcode = 1
	WCRDMARead        WCOpcode = 2
	WCCompSwap        WCOpcode = 3
	WCFetchAdd        WCOpcode = 4
	WCBindMW          WCOpcode = 5
	WCLocalInv        WCOpcode = 6
	WCFlush           WCOpcode = 8 // Linux 6.2
	WCAtomicWrite     WCOpcode = 9 // Linux 6.2
	WCRecv            WCOpcode = 128
	WCRecvRDMAWithImm WCOpcode = 129
)

var wcOpcodes = names[WCOpcode]{headerLibibverbs, []name[WCOpcode]{
	{"IBV_WC_SEND", WCSend},
	{"IBV_WC_RDMA_WRITE", WCRDMAWrite},
	{"IBV_WC_RDMA_READ", WCRDMARead},
	{"IBV_WC_COMP_SWAP", WCCompSwap},
	{"IBV_WC_FETCH_ADD", WCFetchAdd},
	{"IBV_WC_BIND_MW", WCBindMW},
	{"IBV_WC_LOCAL_INV", WCLocalInv},
	{"IBV_WC_FLUSH", WCFlush},
	{"IBV_WC_ATOMIC_WRITE", WCAtomicWrite},
	{"IBV_WC_RECV", WCRecv},
	{"IBV_WC_RECV_RDMA_WITH_IMM", WCRecvRDMAWithImm},
}}

// String returns rdma-core's name of the value.
func (w WCOpcode) String() string { return wcOpcodes.one(w) }

// WCFlags are the flags of a work completion (enum ib_wc_flags).
type WCFlags uint32

const (
	WCGRH      WCFlags = 1 << 0
	WCWithImm  WCFlags = 1 << 1
	WCIPCsumOK WCFlags = 1 << 2
	WCWithInv  WCFlags = 1 << 3
)

var wcFlags = names[WCFlags]{headerLibibverbs, []name[WCFlags]{
	{"IBV_WC_GRH", WCGRH},
	{"IBV_WC_WITH_IMM", WCWithImm},
	{"IBV_WC_IP_CSUM_OK", WCIPCsumOK},
	{"IBV_WC_WITH_INV", WCWithInv},
}}

// String returns rdma-core's names of the bits set, separated by "|".
func (w WCFlags) String() string { return wcFlags.flags(w) }
