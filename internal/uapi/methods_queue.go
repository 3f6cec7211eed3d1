package uapi

// This file defines the methods of completion queues, queue pairs and shared receive queues.

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

// queueMethods holds the rules of drivers/infiniband/core/uverbs_std_types_cq.c,
// uverbs_std_types_qp.c and uverbs_std_types_srq.c.
var queueMethods = []MethodSpec{
	{MethodCQCreate, "UVERBS_METHOD_CQ_CREATE", uhw(MethodCQCreate,
		object(AttrCreateCQHandle, "CREATE_CQ_HANDLE", NewIDR, ObjectCQ, must),
		in(AttrCreateCQCQE, "CREATE_CQ_CQE", 4, must),
		in(AttrCreateCQUserHandle, "CREATE_CQ_USER_HANDLE", 8, must),
		object(AttrCreateCQCompChannel, "CREATE_CQ_COMP_CHANNEL", FD, ObjectCompChannel, optional),
		in(AttrCreateCQCompVector, "CREATE_CQ_COMP_VECTOR", 4, must),
		flagsIn(AttrCreateCQFlags, "CREATE_CQ_FLAGS", optional),
		out(AttrCreateCQRespCQE, "CREATE_CQ_RESP_CQE", 4, must),
		object(AttrCreateCQEventFD, "CREATE_CQ_EVENT_FD", FD, ObjectAsyncEvent, optional),
	)},
	{MethodCQDestroy, "UVERBS_METHOD_CQ_DESTROY", []AttrSpec{
		object(AttrDestroyCQHandle, "DESTROY_CQ_HANDLE", DestroyIDR, ObjectCQ, must),
		out(AttrDestroyCQResp, "DESTROY_CQ_RESP", 8, must),
	}},
	{MethodQPCreate, "UVERBS_METHOD_QP_CREATE", uhw(MethodQPCreate,
		object(AttrCreateQPHandle, "CREATE_QP_HANDLE", NewIDR, ObjectQP, must),
		object(AttrCreateQPXRCDHandle, "CREATE_QP_XRCD_HANDLE", IDR, ObjectXRCD, optional),
		object(AttrCreateQPPDHandle, "CREATE_QP_PD_HANDLE", IDR, ObjectPD, optional),
		object(AttrCreateQPSRQHandle, "CREATE_QP_SRQ_HANDLE", IDR, ObjectSRQ, optional),
		object(AttrCreateQPSendCQHandle, "CREATE_QP_SEND_CQ_HANDLE", IDR, ObjectCQ, optional),
		object(AttrCreateQPRecvCQHandle, "CREATE_QP_RECV_CQ_HANDLE", IDR, ObjectCQ, optional),
		object(AttrCreateQPIndTableHandle, "CREATE_QP_IND_TABLE_HANDLE", IDR, ObjectRWQIndTbl, optional),
		in(AttrCreateQPUserHandle, "CREATE_QP_USER_HANDLE", 8, must),
		extensible(in(AttrCreateQPCap, "CREATE_QP_CAP", 20, must)),
		constIn(AttrCreateQPType, "CREATE_QP_TYPE", must),
		flagsIn(AttrCreateQPFlags, "CREATE_QP_FLAGS", optional),
		in(AttrCreateQPSourceQPN, "CREATE_QP_SOURCE_QPN", 4, optional),
		object(AttrCreateQPEventFD, "CREATE_QP_EVENT_FD", FD, ObjectAsyncEvent, optional),
		extensible(out(AttrCreateQPRespCap, "CREATE_QP_RESP_CAP", 20, must)),
		out(AttrCreateQPRespQPNum, "CREATE_QP_RESP_QP_NUM", 4, must),
	)},
	{MethodQPDestroy, "UVERBS_METHOD_QP_DESTROY", []AttrSpec{
		object(AttrDestroyQPHandle, "DESTROY_QP_HANDLE", DestroyIDR, ObjectQP, must),
		out(AttrDestroyQPResp, "DESTROY_QP_RESP", 4, must),
	}},
	{MethodSRQCreate, "UVERBS_METHOD_SRQ_CREATE", uhw(MethodSRQCreate,
		object(AttrCreateSRQHandle, "CREATE_SRQ_HANDLE", NewIDR, ObjectSRQ, must),
		object(AttrCreateSRQPDHandle, "CREATE_SRQ_PD_HANDLE", IDR, ObjectPD, must),
		object(AttrCreateSRQXRCDHandle, "CREATE_SRQ_XRCD_HANDLE", IDR, ObjectXRCD, optional),
		object(AttrCreateSRQCQHandle, "CREATE_SRQ_CQ_HANDLE", IDR, ObjectCQ, optional),
		in(AttrCreateSRQUserHandle, "CREATE_SRQ_USER_HANDLE", 8, must),
		in(AttrCreateSRQMaxWR, "CREATE_SRQ_MAX_WR", 4, must),
		in(AttrCreateSRQMaxSGE, "CREATE_SRQ_MAX_SGE", 4, must),
		in(AttrCreateSRQLimit, "CREATE_SRQ_LIMIT", 4, must),
		in(AttrCreateSRQMaxNumTags, "CREATE_SRQ_MAX_NUM_TAGS", 4, optional),
		constIn(AttrCreateSRQType, "CREATE_SRQ_TYPE", must),
		object(AttrCreateSRQEventFD, "CREATE_SRQ_EVENT_FD", FD, ObjectAsyncEvent, optional),
		out(AttrCreateSRQRespMaxWR, "CREATE_SRQ_RESP_MAX_WR", 4, must),
		out(AttrCreateSRQRespMaxSGE, "CREATE_SRQ_RESP_MAX_SGE", 4, must),
		out(AttrCreateSRQRespSRQNum, "CREATE_SRQ_RESP_SRQ_NUM", 4, optional),
	)},
	{MethodSRQDestroy, "UVERBS_METHOD_SRQ_DESTROY", []AttrSpec{
		object(AttrDestroySRQHandle, "DESTROY_SRQ_HANDLE", DestroyIDR, ObjectSRQ, must),
		out(AttrDestroySRQResp, "DESTROY_SRQ_RESP", 4, must),
	}},
}
