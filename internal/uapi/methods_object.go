package uapi

// This file has the methods of objects without a queue.

// Attributes of UVERBS_METHOD_PD_DESTROY.
const (
	AttrDestroyPDHandle AttrID = AttrID(MethodPDDestroy)<<16 + iota
)

// Attributes of UVERBS_METHOD_AH_DESTROY.
const (
	AttrDestroyAHHandle AttrID = AttrID(MethodAHDestroy)<<16 + iota
)

// Attributes of UVERBS_METHOD_MW_DESTROY.
const (
	AttrDestroyMWHandle AttrID = AttrID(MethodMWDestroy)<<16 + iota
)

// Attributes of UVERBS_METHOD_XRCD_DESTROY.
const (
	AttrDestroyXRCDHandle AttrID = AttrID(MethodXRCDDestroy)<<16 + iota
)

// Attributes of UVERBS_METHOD_MR_DESTROY.
const (
	AttrDestroyMRHandle AttrID = AttrID(MethodMRDestroy)<<16 + iota
)

// Attributes of UVERBS_METHOD_ADVISE_MR.
const (
	AttrAdviseMRPDHandle AttrID = AttrID(MethodAdviseMR)<<16 + iota
	AttrAdviseMRAdvice
	AttrAdviseMRFlags
	AttrAdviseMRSGEList
)

// Attributes of UVERBS_METHOD_QUERY_MR.
const (
	AttrQueryMRHandle AttrID = AttrID(MethodQueryMR)<<16 + iota
	AttrQueryMRRespLKey
	AttrQueryMRRespRKey
	AttrQueryMRRespLength
	AttrQueryMRRespIOVA
)

// Attributes of UVERBS_METHOD_REG_DMABUF_MR.
const (
	AttrRegDMABufMRHandle AttrID = AttrID(MethodRegDMABufMR)<<16 + iota
	AttrRegDMABufMRPDHandle
	AttrRegDMABufMROffset
	AttrRegDMABufMRLength
	AttrRegDMABufMRIOVA
	AttrRegDMABufMRFD
	AttrRegDMABufMRAccessFlags
	AttrRegDMABufMRRespLKey
	AttrRegDMABufMRRespRKey
)

// Attributes of UVERBS_METHOD_ASYNC_EVENT_ALLOC.
const (
	AttrAsyncEventAllocFDHandle AttrID = AttrID(MethodAsyncEventAlloc)<<16 + iota
)

// objectMethods has the rules of drivers/infiniband/core/uverbs_std_types.c,
// uverbs_std_types_mr.c and uverbs_std_types_async_fd.c.
var objectMethods = []MethodSpec{
	{MethodPDDestroy, "UVERBS_METHOD_PD_DESTROY", []AttrSpec{
		object(AttrDestroyPDHandle, "UVERBS_ATTR_DESTROY_PD_HANDLE", DestroyIDR, ObjectPD, must),
	}},
	{MethodAHDestroy, "UVERBS_METHOD_AH_DESTROY", []AttrSpec{
		object(AttrDestroyAHHandle, "UVERBS_ATTR_DESTROY_AH_HANDLE", DestroyIDR, ObjectAH, must),
	}},
	{MethodMWDestroy, "UVERBS_METHOD_MW_DESTROY", []AttrSpec{
		object(AttrDestroyMWHandle, "UVERBS_ATTR_DESTROY_MW_HANDLE", DestroyIDR, ObjectMW, must),
	}},
	{MethodXRCDDestroy, "UVERBS_METHOD_XRCD_DESTROY", []AttrSpec{
		object(AttrDestroyXRCDHandle, "UVERBS_ATTR_DESTROY_XRCD_HANDLE", DestroyIDR, ObjectXRCD, must),
	}},
	{MethodMRDestroy, "UVERBS_METHOD_MR_DESTROY", []AttrSpec{
		object(AttrDestroyMRHandle, "UVERBS_ATTR_DESTROY_MR_HANDLE", DestroyIDR, ObjectMR, must),
	}},
	{MethodAdviseMR, "UVERBS_METHOD_ADVISE_MR", []AttrSpec{
		object(AttrAdviseMRPDHandle, "UVERBS_ATTR_ADVISE_MR_PD_HANDLE", IDR, ObjectPD, must),
		constIn(AttrAdviseMRAdvice, "UVERBS_ATTR_ADVISE_MR_ADVICE", must),
		flagsIn(AttrAdviseMRFlags, "UVERBS_ATTR_ADVISE_MR_FLAGS", must),
		inAtLeast(AttrAdviseMRSGEList, "UVERBS_ATTR_ADVISE_MR_SGE_LIST", 16, must),
	}},
	{MethodQueryMR, "UVERBS_METHOD_QUERY_MR", []AttrSpec{
		object(AttrQueryMRHandle, "UVERBS_ATTR_QUERY_MR_HANDLE", IDR, ObjectMR, must),
		out(AttrQueryMRRespLKey, "UVERBS_ATTR_QUERY_MR_RESP_LKEY", 4, must),
		out(AttrQueryMRRespRKey, "UVERBS_ATTR_QUERY_MR_RESP_RKEY", 4, must),
		out(AttrQueryMRRespLength, "UVERBS_ATTR_QUERY_MR_RESP_LENGTH", 8, must),
		out(AttrQueryMRRespIOVA, "UVERBS_ATTR_QUERY_MR_RESP_IOVA", 8, optional),
	}},
	{MethodRegDMABufMR, "UVERBS_METHOD_REG_DMABUF_MR", []AttrSpec{
		object(AttrRegDMABufMRHandle, "UVERBS_ATTR_REG_DMABUF_MR_HANDLE", NewIDR, ObjectMR, must),
		object(AttrRegDMABufMRPDHandle, "UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE", IDR, ObjectPD, must),
		in(AttrRegDMABufMROffset, "UVERBS_ATTR_REG_DMABUF_MR_OFFSET", 8, must),
		in(AttrRegDMABufMRLength, "UVERBS_ATTR_REG_DMABUF_MR_LENGTH", 8, must),
		in(AttrRegDMABufMRIOVA, "UVERBS_ATTR_REG_DMABUF_MR_IOVA", 8, must),
		in(AttrRegDMABufMRFD, "UVERBS_ATTR_REG_DMABUF_MR_FD", 4, must),
		flagsIn(AttrRegDMABufMRAccessFlags, "UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS", optional),
		out(AttrRegDMABufMRRespLKey, "UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY", 4, must),
		out(AttrRegDMABufMRRespRKey, "UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY", 4, must),
	}},
	{MethodAsyncEventAlloc, "UVERBS_METHOD_ASYNC_EVENT_ALLOC", []AttrSpec{
		object(AttrAsyncEventAllocFDHandle, "UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE", NewFD, ObjectAsyncEvent, must),
	}},
}
