package uapi

// This file defines the requests and responses of queue pairs.

// QPCap holds the capacities of a queue pair, attributes CAP and RESP_CAP of the ioctl method
// QP_CREATE (struct ib_uverbs_qp_cap).
type QPCap struct {
	MaxSendWR     uint32 `c:"max_send_wr"`
	MaxRecvWR     uint32 `c:"max_recv_wr"`
	MaxSendSGE    uint32 `c:"max_send_sge"`
	MaxRecvSGE    uint32 `c:"max_recv_sge"`
	MaxInlineData uint32 `c:"max_inline_data"`
}

// CreateQP is the request of CREATE_QP (struct ib_uverbs_create_qp).
type CreateQP struct {
	Response      uint64 `c:"response"`
	UserHandle    uint64 `c:"user_handle"`
	PDHandle      uint32 `c:"pd_handle"`
	SendCQHandle  uint32 `c:"send_cq_handle"`
	RecvCQHandle  uint32 `c:"recv_cq_handle"`
	SRQHandle     uint32 `c:"srq_handle"`
	MaxSendWR     uint32 `c:"max_send_wr"`
	MaxRecvWR     uint32 `c:"max_recv_wr"`
	MaxSendSGE    uint32 `c:"max_send_sge"`
	MaxRecvSGE    uint32 `c:"max_recv_sge"`
	MaxInlineData uint32 `c:"max_inline_data"`
	SQSigAll      uint8  `c:"sq_sig_all"`
	QPType        uint8  `c:"qp_type"`
	IsSRQ         uint8  `c:"is_srq"`
	Reserved      uint8  `c:"reserved"`
}

// CreateQPResp is the response to CREATE_QP (struct ib_uverbs_create_qp_resp).
type CreateQPResp struct {
	QPHandle      uint32 `c:"qp_handle"`
	QPN           uint32 `c:"qpn"`
	MaxSendWR     uint32 `c:"max_send_wr"`
	MaxRecvWR     uint32 `c:"max_recv_wr"`
	MaxSendSGE    uint32 `c:"max_send_sge"`
	MaxRecvSGE    uint32 `c:"max_recv_sge"`
	MaxInlineData uint32 `c:"max_inline_data"`
	Reserved      uint32 `c:"reserved"`
}

// ExCreateQP is the request of the extended CREATE_QP (struct ib_uverbs_ex_create_qp).
type ExCreateQP struct {
	UserHandle      uint64 `c:"user_handle"`
	PDHandle        uint32 `c:"pd_handle"`
	SendCQHandle    uint32 `c:"send_cq_handle"`
	RecvCQHandle    uint32 `c:"recv_cq_handle"`
	SRQHandle       uint32 `c:"srq_handle"`
	MaxSendWR       uint32 `c:"max_send_wr"`
	MaxRecvWR       uint32 `c:"max_recv_wr"`
	MaxSendSGE      uint32 `c:"max_send_sge"`
	MaxRecvSGE      uint32 `c:"max_recv_sge"`
	MaxInlineData   uint32 `c:"max_inline_data"`
	SQSigAll        uint8  `c:"sq_sig_all"`
	QPType          uint8  `c:"qp_type"`
	IsSRQ           uint8  `c:"is_srq"`
	Reserved        uint8  `c:"reserved"`
	CompMask        uint32 `c:"comp_mask"`
	CreateFlags     uint32 `c:"create_flags"`
	RWQIndTblHandle uint32 `c:"rwq_ind_tbl_handle"`
	SourceQPN       uint32 `c:"source_qpn"`
}

// ExCreateQPResp is the response to the extended CREATE_QP (struct ib_uverbs_ex_create_qp_resp).
type ExCreateQPResp struct {
	Base           CreateQPResp `c:"base"`
	CompMask       uint32       `c:"comp_mask"`
	ResponseLength uint32       `c:"response_length"`
}

// QueryQP is the request of QUERY_QP (struct ib_uverbs_query_qp). AttrMask holds QPMask bits.
type QueryQP struct {
	Response uint64 `c:"response"`
	QPHandle uint32 `c:"qp_handle"`
	AttrMask uint32 `c:"attr_mask"`
}

// QueryQPResp is the response to QUERY_QP (struct ib_uverbs_query_qp_resp).
type QueryQPResp struct {
	Dest            QPDest   `c:"dest"`
	AltDest         QPDest   `c:"alt_dest"`
	MaxSendWR       uint32   `c:"max_send_wr"`
	MaxRecvWR       uint32   `c:"max_recv_wr"`
	MaxSendSGE      uint32   `c:"max_send_sge"`
	MaxRecvSGE      uint32   `c:"max_recv_sge"`
	MaxInlineData   uint32   `c:"max_inline_data"`
	QKey            uint32   `c:"qkey"`
	RQPSN           uint32   `c:"rq_psn"`
	SQPSN           uint32   `c:"sq_psn"`
	DestQPNum       uint32   `c:"dest_qp_num"`
	QPAccessFlags   uint32   `c:"qp_access_flags"`
	PKeyIndex       uint16   `c:"pkey_index"`
	AltPKeyIndex    uint16   `c:"alt_pkey_index"`
	QPState         uint8    `c:"qp_state"`
	CurQPState      uint8    `c:"cur_qp_state"`
	PathMTU         uint8    `c:"path_mtu"`
	PathMigState    uint8    `c:"path_mig_state"`
	SQDraining      uint8    `c:"sq_draining"`
	MaxRdAtomic     uint8    `c:"max_rd_atomic"`
	MaxDestRdAtomic uint8    `c:"max_dest_rd_atomic"`
	MinRNRTimer     uint8    `c:"min_rnr_timer"`
	PortNum         uint8    `c:"port_num"`
	Timeout         uint8    `c:"timeout"`
	RetryCnt        uint8    `c:"retry_cnt"`
	RNRRetry        uint8    `c:"rnr_retry"`
	AltPortNum      uint8    `c:"alt_port_num"`
	AltTimeout      uint8    `c:"alt_timeout"`
	SQSigAll        uint8    `c:"sq_sig_all"`
	Reserved        [5]uint8 `c:"reserved"`
}

// ModifyQP is the request of MODIFY_QP (struct ib_uverbs_modify_qp). AttrMask selects the valid
// fields.
type ModifyQP struct {
	Dest             QPDest   `c:"dest"`
	AltDest          QPDest   `c:"alt_dest"`
	QPHandle         uint32   `c:"qp_handle"`
	AttrMask         uint32   `c:"attr_mask"`
	QKey             uint32   `c:"qkey"`
	RQPSN            uint32   `c:"rq_psn"`
	SQPSN            uint32   `c:"sq_psn"`
	DestQPNum        uint32   `c:"dest_qp_num"`
	QPAccessFlags    uint32   `c:"qp_access_flags"`
	PKeyIndex        uint16   `c:"pkey_index"`
	AltPKeyIndex     uint16   `c:"alt_pkey_index"`
	QPState          uint8    `c:"qp_state"`
	CurQPState       uint8    `c:"cur_qp_state"`
	PathMTU          uint8    `c:"path_mtu"`
	PathMigState     uint8    `c:"path_mig_state"`
	EnSQDAsyncNotify uint8    `c:"en_sqd_async_notify"`
	MaxRdAtomic      uint8    `c:"max_rd_atomic"`
	MaxDestRdAtomic  uint8    `c:"max_dest_rd_atomic"`
	MinRNRTimer      uint8    `c:"min_rnr_timer"`
	PortNum          uint8    `c:"port_num"`
	Timeout          uint8    `c:"timeout"`
	RetryCnt         uint8    `c:"retry_cnt"`
	RNRRetry         uint8    `c:"rnr_retry"`
	AltPortNum       uint8    `c:"alt_port_num"`
	AltTimeout       uint8    `c:"alt_timeout"`
	Reserved         [2]uint8 `c:"reserved"`
}

// ExModifyQP is the request of the extended MODIFY_QP (struct ib_uverbs_ex_modify_qp). RateLimit is
// in kbit/s.
type ExModifyQP struct {
	Base      ModifyQP `c:"base"`
	RateLimit uint32   `c:"rate_limit"`
	Reserved  uint32   `c:"reserved"`
}

// ExModifyQPResp is the response to the extended MODIFY_QP (struct ib_uverbs_ex_modify_qp_resp).
type ExModifyQPResp struct {
	CompMask       uint32 `c:"comp_mask"`
	ResponseLength uint32 `c:"response_length"`
}

// DestroyQP is the request of DESTROY_QP (struct ib_uverbs_destroy_qp).
type DestroyQP struct {
	Response uint64 `c:"response"`
	QPHandle uint32 `c:"qp_handle"`
	Reserved uint32 `c:"reserved"`
}

// DestroyQPResp is the response to the legacy command and to the ioctl method DESTROY_QP (struct
// ib_uverbs_destroy_qp_resp).
type DestroyQPResp struct {
	EventsReported uint32 `c:"events_reported"`
}

// QPAttr holds the attributes that INIT_QP_ATTR of rdma_cm returns (struct ib_uverbs_qp_attr).
// QPAttrMask selects the valid attributes.
type QPAttr struct {
	QPAttrMask       uint32   `c:"qp_attr_mask"`
	QPState          uint32   `c:"qp_state"`
	CurQPState       uint32   `c:"cur_qp_state"`
	PathMTU          uint32   `c:"path_mtu"`
	PathMigState     uint32   `c:"path_mig_state"`
	QKey             uint32   `c:"qkey"`
	RQPSN            uint32   `c:"rq_psn"`
	SQPSN            uint32   `c:"sq_psn"`
	DestQPNum        uint32   `c:"dest_qp_num"`
	QPAccessFlags    uint32   `c:"qp_access_flags"`
	AHAttr           AHAttr   `c:"ah_attr"`
	AltAHAttr        AHAttr   `c:"alt_ah_attr"`
	MaxSendWR        uint32   `c:"max_send_wr"`
	MaxRecvWR        uint32   `c:"max_recv_wr"`
	MaxSendSGE       uint32   `c:"max_send_sge"`
	MaxRecvSGE       uint32   `c:"max_recv_sge"`
	MaxInlineData    uint32   `c:"max_inline_data"`
	PKeyIndex        uint16   `c:"pkey_index"`
	AltPKeyIndex     uint16   `c:"alt_pkey_index"`
	EnSQDAsyncNotify uint8    `c:"en_sqd_async_notify"`
	SQDraining       uint8    `c:"sq_draining"`
	MaxRdAtomic      uint8    `c:"max_rd_atomic"`
	MaxDestRdAtomic  uint8    `c:"max_dest_rd_atomic"`
	MinRNRTimer      uint8    `c:"min_rnr_timer"`
	PortNum          uint8    `c:"port_num"`
	Timeout          uint8    `c:"timeout"`
	RetryCnt         uint8    `c:"retry_cnt"`
	RNRRetry         uint8    `c:"rnr_retry"`
	AltPortNum       uint8    `c:"alt_port_num"`
	AltTimeout       uint8    `c:"alt_timeout"`
	Reserved         [5]uint8 `c:"reserved"`
}

// PostSend is the request of POST_SEND. librxe writes it, after a CmdHdr, as the doorbell of a
// send queue (struct ib_uverbs_post_send).
type PostSend struct {
	Response uint64 `c:"response"`
	QPHandle uint32 `c:"qp_handle"`
	WRCount  uint32 `c:"wr_count"`
	SGECount uint32 `c:"sge_count"`
	WQESize  uint32 `c:"wqe_size"`
}

// PostSendResp is the response to POST_SEND (struct ib_uverbs_post_send_resp).
type PostSendResp struct {
	BadWR uint32 `c:"bad_wr"`
}

var qpStructs = []Struct{
	{"ib_uverbs_qp_cap", headerIoctlVerbs, QPCap{}},
	{"ib_uverbs_create_qp", headerVerbs, CreateQP{}},
	{"ib_uverbs_create_qp_resp", headerVerbs, CreateQPResp{}},
	{"ib_uverbs_ex_create_qp", headerVerbs, ExCreateQP{}},
	{"ib_uverbs_ex_create_qp_resp", headerVerbs, ExCreateQPResp{}},
	{"ib_uverbs_query_qp", headerVerbs, QueryQP{}},
	{"ib_uverbs_query_qp_resp", headerVerbs, QueryQPResp{}},
	{"ib_uverbs_modify_qp", headerVerbs, ModifyQP{}},
	{"ib_uverbs_ex_modify_qp", headerVerbs, ExModifyQP{}},
	{"ib_uverbs_ex_modify_qp_resp", headerVerbs, ExModifyQPResp{}},
	{"ib_uverbs_destroy_qp", headerVerbs, DestroyQP{}},
	{"ib_uverbs_destroy_qp_resp", headerVerbs, DestroyQPResp{}},
	{"ib_uverbs_qp_attr", headerVerbs, QPAttr{}},
	{"ib_uverbs_post_send", headerVerbs, PostSend{}},
	{"ib_uverbs_post_send_resp", headerVerbs, PostSendResp{}},
}
