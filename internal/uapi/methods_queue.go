package uapi

// This file has the methods of completion queues, queue pairs and shared receive queues.

// Attributes of UVERBS_METHOD_CQ_CREATE.
const (
	AttrCreateCQHandle AttrID = AttrID(MethodCQCreate)<<16 + iota
	AttrCreateCQCQE
	AttrCreateCQUserHandle
	AttrCreateCQCompChannel
	AttrCreateCQCompVector
	AttrCreateCQFlags
	AttrCreateCQRespCQE
	AttrCreateCQEventFD
)

// Attributes of UVERBS_METHOD_CQ_DESTROY.
const (
	AttrDestroyCQHandle AttrID = AttrID(MethodCQDestroy)<<16 + iota
	AttrDestroyCQResp
)

// Attributes of UVERBS_METHOD_QP_CREATE.
const (
	AttrCreateQPHandle AttrID = AttrID(MethodQPCreate)<<16 + iota
	AttrCreateQPXRCDHandle
	AttrCreateQPPDHandle
	AttrCreateQPSRQHandle
	AttrCreateQPSendCQHandle
	AttrCreateQPRecvCQHandle
	AttrCreateQPIndTableHandle
	AttrCreateQPUserHandle
	AttrCreateQPCap
	AttrCreateQPType
	AttrCreateQPFlags
	AttrCreateQPSourceQPN
	AttrCreateQPEventFD
	AttrCreateQPRespCap
	AttrCreateQPRespQPNum
)

// Attributes of UVERBS_METHOD_QP_DESTROY.
const (
	AttrDestroyQPHandle AttrID = AttrID(MethodQPDestroy)<<16 + iota
	AttrDestroyQPResp
)

// Attributes of UVERBS_METHOD_SRQ_CREATE.
const (
	AttrCreateSRQHandle AttrID = AttrID(MethodSRQCreate)<<16 + iota
	AttrCreateSRQPDHandle
	AttrCreateSRQXRCDHandle
	AttrCreateSRQCQHandle
	AttrCreateSRQUserHandle
	AttrCreateSRQMaxWR
	AttrCreateSRQMaxSGE
	AttrCreateSRQLimit
	AttrCreateSRQMaxNumTags
	AttrCreateSRQType
	AttrCreateSRQEventFD
	AttrCreateSRQRespMaxWR
	AttrCreateSRQRespMaxSGE
	AttrCreateSRQRespSRQNum
)

// Attributes of UVERBS_METHOD_SRQ_DESTROY.
const (
	AttrDestroySRQHandle AttrID = AttrID(MethodSRQDestroy)<<16 + iota
	AttrDestroySRQResp
)

// queueMethods has the rules of drivers/infiniband/core/uverbs_std_types_cq.c,
// uverbs_std_types_qp.c and uverbs_std_types_srq.c.
var queueMethods = []MethodSpec{
	{MethodCQCreate, "UVERBS_METHOD_CQ_CREATE", uhw(MethodCQCreate,
		object(AttrCreateCQHandle, "UVERBS_ATTR_CREATE_CQ_HANDLE", NewIDR, ObjectCQ, must),
		in(AttrCreateCQCQE, "UVERBS_ATTR_CREATE_CQ_CQE", 4, must),
		in(AttrCreateCQUserHandle, "UVERBS_ATTR_CREATE_CQ_USER_HANDLE", 8, must),
		object(AttrCreateCQCompChannel, "UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL", FD, ObjectCompChannel, optional),
		in(AttrCreateCQCompVector, "UVERBS_ATTR_CREATE_CQ_COMP_VECTOR", 4, must),
		flagsIn(AttrCreateCQFlags, "UVERBS_ATTR_CREATE_CQ_FLAGS", optional),
		out(AttrCreateCQRespCQE, "UVERBS_ATTR_CREATE_CQ_RESP_CQE", 4, must),
		object(AttrCreateCQEventFD, "UVERBS_ATTR_CREATE_CQ_EVENT_FD", FD, ObjectAsyncEvent, optional),
	)},
	{MethodCQDestroy, "UVERBS_METHOD_CQ_DESTROY", []AttrSpec{
		object(AttrDestroyCQHandle, "UVERBS_ATTR_DESTROY_CQ_HANDLE", DestroyIDR, ObjectCQ, must),
		out(AttrDestroyCQResp, "UVERBS_ATTR_DESTROY_CQ_RESP", 8, must),
	}},
	{MethodQPCreate, "UVERBS_METHOD_QP_CREATE", uhw(MethodQPCreate,
		object(AttrCreateQPHandle, "UVERBS_ATTR_CREATE_QP_HANDLE", NewIDR, ObjectQP, must),
		object(AttrCreateQPXRCDHandle, "UVERBS_ATTR_CREATE_QP_XRCD_HANDLE", IDR, ObjectXRCD, optional),
		object(AttrCreateQPPDHandle, "UVERBS_ATTR_CREATE_QP_PD_HANDLE", IDR, ObjectPD, optional),
		object(AttrCreateQPSRQHandle, "UVERBS_ATTR_CREATE_QP_SRQ_HANDLE", IDR, ObjectSRQ, optional),
		object(AttrCreateQPSendCQHandle, "UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE", IDR, ObjectCQ, optional),
		object(AttrCreateQPRecvCQHandle, "UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE", IDR, ObjectCQ, optional),
		object(AttrCreateQPIndTableHandle, "UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE", IDR, ObjectRWQIndTbl, optional),
		in(AttrCreateQPUserHandle, "UVERBS_ATTR_CREATE_QP_USER_HANDLE", 8, must),
		extensible(in(AttrCreateQPCap, "UVERBS_ATTR_CREATE_QP_CAP", 20, must)),
		constIn(AttrCreateQPType, "UVERBS_ATTR_CREATE_QP_TYPE", must),
		flagsIn(AttrCreateQPFlags, "UVERBS_ATTR_CREATE_QP_FLAGS", optional),
		in(AttrCreateQPSourceQPN, "UVERBS_ATTR_CREATE_QP_SOURCE_QPN", 4, optional),
		object(AttrCreateQPEventFD, "UVERBS_ATTR_CREATE_QP_EVENT_FD", FD, ObjectAsyncEvent, optional),
		extensible(out(AttrCreateQPRespCap, "UVERBS_ATTR_CREATE_QP_RESP_CAP", 20, must)),
		out(AttrCreateQPRespQPNum, "UVERBS_ATTR_CREATE_QP_RESP_QP_NUM", 4, must),
	)},
	{MethodQPDestroy, "UVERBS_METHOD_QP_DESTROY", []AttrSpec{
		object(AttrDestroyQPHandle, "UVERBS_ATTR_DESTROY_QP_HANDLE", DestroyIDR, ObjectQP, must),
		out(AttrDestroyQPResp, "UVERBS_ATTR_DESTROY_QP_RESP", 4, must),
	}},
	{MethodSRQCreate, "UVERBS_METHOD_SRQ_CREATE", uhw(MethodSRQCreate,
		object(AttrCreateSRQHandle, "UVERBS_ATTR_CREATE_SRQ_HANDLE", NewIDR, ObjectSRQ, must),
		object(AttrCreateSRQPDHandle, "UVERBS_ATTR_CREATE_SRQ_PD_HANDLE", IDR, ObjectPD, must),
		object(AttrCreateSRQXRCDHandle, "UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE", IDR, ObjectXRCD, optional),
		object(AttrCreateSRQCQHandle, "UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE", IDR, ObjectCQ, optional),
		in(AttrCreateSRQUserHandle, "UVERBS_ATTR_CREATE_SRQ_USER_HANDLE", 8, must),
		in(AttrCreateSRQMaxWR, "UVERBS_ATTR_CREATE_SRQ_MAX_WR", 4, must),
		in(AttrCreateSRQMaxSGE, "UVERBS_ATTR_CREATE_SRQ_MAX_SGE", 4, must),
		in(AttrCreateSRQLimit, "UVERBS_ATTR_CREATE_SRQ_LIMIT", 4, must),
		in(AttrCreateSRQMaxNumTags, "UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS", 4, optional),
		constIn(AttrCreateSRQType, "UVERBS_ATTR_CREATE_SRQ_TYPE", must),
		object(AttrCreateSRQEventFD, "UVERBS_ATTR_CREATE_SRQ_EVENT_FD", FD, ObjectAsyncEvent, optional),
		out(AttrCreateSRQRespMaxWR, "UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR", 4, must),
		out(AttrCreateSRQRespMaxSGE, "UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE", 4, must),
		out(AttrCreateSRQRespSRQNum, "UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM", 4, optional),
	)},
	{MethodSRQDestroy, "UVERBS_METHOD_SRQ_DESTROY", []AttrSpec{
		object(AttrDestroySRQHandle, "UVERBS_ATTR_DESTROY_SRQ_HANDLE", DestroyIDR, ObjectSRQ, must),
		out(AttrDestroySRQResp, "UVERBS_ATTR_DESTROY_SRQ_RESP", 4, must),
	}},
}
