package uapi

// This file defines the methods of the device and of objects without a queue.

// Attributes of UVERBS_METHOD_INVOKE_WRITE.
const (
	AttrCoreIn AttrID = AttrID(MethodInvokeWrite)<<16 + iota
	AttrCoreOut
	AttrWriteCmd
)

// Attributes of UVERBS_METHOD_INFO_HANDLES.
const (
	AttrInfoObjectID AttrID = AttrID(MethodInfoHandles)<<16 + iota
	AttrInfoTotalHandles
	AttrInfoHandlesList
)

// Attributes of UVERBS_METHOD_QUERY_PORT.
const (
	AttrQueryPortPortNum AttrID = AttrID(MethodQueryPort)<<16 + iota
	AttrQueryPortResp
)

// Attributes of UVERBS_METHOD_GET_CONTEXT.
const (
	AttrGetContextNumCompVectors AttrID = AttrID(MethodGetContext)<<16 + iota
	AttrGetContextCoreSupport
)

// Attributes of UVERBS_METHOD_QUERY_CONTEXT.
const (
	AttrQueryContextNumCompVectors AttrID = AttrID(MethodQueryContext)<<16 + iota
	AttrQueryContextCoreSupport
)

// Attributes of UVERBS_METHOD_QUERY_GID_TABLE.
const (
	AttrQueryGIDTableEntrySize AttrID = AttrID(MethodQueryGIDTable)<<16 + iota
	AttrQueryGIDTableFlags
	AttrQueryGIDTableRespEntries
	AttrQueryGIDTableRespNumEntries
)

// Attributes of UVERBS_METHOD_QUERY_GID_ENTRY.
const (
	AttrQueryGIDEntryPort AttrID = AttrID(MethodQueryGIDEntry)<<16 + iota
	AttrQueryGIDEntryGIDIndex
	AttrQueryGIDEntryFlags
	AttrQueryGIDEntryRespEntry
)

// deviceMethods holds the rules of drivers/infiniband/core/uverbs_std_types_device.c.
var deviceMethods = []MethodSpec{
	{MethodInvokeWrite, "UVERBS_METHOD_INVOKE_WRITE", uhw(MethodInvokeWrite,
		inAtLeast(AttrCoreIn, "CORE_IN", 4, optional),
		outAtLeast(AttrCoreOut, "CORE_OUT", 0, optional),
		constIn(AttrWriteCmd, "WRITE_CMD", must),
	)},
	{MethodInfoHandles, "UVERBS_METHOD_INFO_HANDLES", []AttrSpec{
		constIn(AttrInfoObjectID, "INFO_OBJECT_ID", must),
		out(AttrInfoTotalHandles, "INFO_TOTAL_HANDLES", 4, optional),
		outAtLeast(AttrInfoHandlesList, "INFO_HANDLES_LIST", 4, optional),
	}},
	{MethodQueryPort, "UVERBS_METHOD_QUERY_PORT", []AttrSpec{
		constIn(AttrQueryPortPortNum, "QUERY_PORT_PORT_NUM", must),
		extensible(out(AttrQueryPortResp, "QUERY_PORT_RESP", 48, must)),
	}},
	{MethodGetContext, "UVERBS_METHOD_GET_CONTEXT", uhw(MethodGetContext,
		out(AttrGetContextNumCompVectors, "GET_CONTEXT_NUM_COMP_VECTORS", 4, optional),
		out(AttrGetContextCoreSupport, "GET_CONTEXT_CORE_SUPPORT", 8, optional),
	)},
	{MethodQueryContext, "UVERBS_METHOD_QUERY_CONTEXT", []AttrSpec{
		out(AttrQueryContextNumCompVectors, "QUERY_CONTEXT_NUM_COMP_VECTORS", 4, optional),
		out(AttrQueryContextCoreSupport, "QUERY_CONTEXT_CORE_SUPPORT", 8, optional),
	}},
	{MethodQueryGIDTable, "UVERBS_METHOD_QUERY_GID_TABLE", []AttrSpec{
		constIn(AttrQueryGIDTableEntrySize, "QUERY_GID_TABLE_ENTRY_SIZE", must),
		flagsIn(AttrQueryGIDTableFlags, "QUERY_GID_TABLE_FLAGS", optional),
		outAtLeast(AttrQueryGIDTableRespEntries, "QUERY_GID_TABLE_RESP_ENTRIES", 0, must),
		out(AttrQueryGIDTableRespNumEntries, "QUERY_GID_TABLE_RESP_NUM_ENTRIES", 8, must),
	}},
	{MethodQueryGIDEntry, "UVERBS_METHOD_QUERY_GID_ENTRY", []AttrSpec{
		constIn(AttrQueryGIDEntryPort, "QUERY_GID_ENTRY_PORT", must),
		constIn(AttrQueryGIDEntryGIDIndex, "QUERY_GID_ENTRY_GID_INDEX", must),
		flagsIn(AttrQueryGIDEntryFlags, "QUERY_GID_ENTRY_FLAGS", must),
		extensible(out(AttrQueryGIDEntryRespEntry, "QUERY_GID_ENTRY_RESP_ENTRY", 32, must)),
	}},
}

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

// objectMethods holds the rules of drivers/infiniband/core/uverbs_std_types.c,
// uverbs_std_types_mr.c and uverbs_std_types_async_fd.c.
var objectMethods = []MethodSpec{
	{MethodPDDestroy, "UVERBS_METHOD_PD_DESTROY", []AttrSpec{
		object(AttrDestroyPDHandle, "DESTROY_PD_HANDLE", DestroyIDR, ObjectPD, must),
	}},
	{MethodAHDestroy, "UVERBS_METHOD_AH_DESTROY", []AttrSpec{
		object(AttrDestroyAHHandle, "DESTROY_AH_HANDLE", DestroyIDR, ObjectAH, must),
	}},
	{MethodMWDestroy, "UVERBS_METHOD_MW_DESTROY", []AttrSpec{
		object(AttrDestroyMWHandle, "DESTROY_MW_HANDLE", DestroyIDR, ObjectMW, must),
	}},
	{MethodXRCDDestroy, "UVERBS_METHOD_XRCD_DESTROY", []AttrSpec{
		object(AttrDestroyXRCDHandle, "DESTROY_XRCD_HANDLE", DestroyIDR, ObjectXRCD, must),
	}},
	{MethodMRDestroy, "UVERBS_METHOD_MR_DESTROY", []AttrSpec{
		object(AttrDestroyMRHandle, "DESTROY_MR_HANDLE", DestroyIDR, ObjectMR, must),
	}},
	{MethodAdviseMR, "UVERBS_METHOD_ADVISE_MR", []AttrSpec{
		object(AttrAdviseMRPDHandle, "ADVISE_MR_PD_HANDLE", IDR, ObjectPD, must),
		constIn(AttrAdviseMRAdvice, "ADVISE_MR_ADVICE", must),
		flagsIn(AttrAdviseMRFlags, "ADVISE_MR_FLAGS", must),
		inAtLeast(AttrAdviseMRSGEList, "ADVISE_MR_SGE_LIST", 16, must),
	}},
	{MethodQueryMR, "UVERBS_METHOD_QUERY_MR", []AttrSpec{
		object(AttrQueryMRHandle, "QUERY_MR_HANDLE", IDR, ObjectMR, must),
		out(AttrQueryMRRespLKey, "QUERY_MR_RESP_LKEY", 4, must),
		out(AttrQueryMRRespRKey, "QUERY_MR_RESP_RKEY", 4, must),
		out(AttrQueryMRRespLength, "QUERY_MR_RESP_LENGTH", 8, must),
		out(AttrQueryMRRespIOVA, "QUERY_MR_RESP_IOVA", 8, optional),
	}},
	{MethodRegDMABufMR, "UVERBS_METHOD_REG_DMABUF_MR", []AttrSpec{
		object(AttrRegDMABufMRHandle, "REG_DMABUF_MR_HANDLE", NewIDR, ObjectMR, must),
		object(AttrRegDMABufMRPDHandle, "REG_DMABUF_MR_PD_HANDLE", IDR, ObjectPD, must),
		in(AttrRegDMABufMROffset, "REG_DMABUF_MR_OFFSET", 8, must),
		in(AttrRegDMABufMRLength, "REG_DMABUF_MR_LENGTH", 8, must),
		in(AttrRegDMABufMRIOVA, "REG_DMABUF_MR_IOVA", 8, must),
		in(AttrRegDMABufMRFD, "REG_DMABUF_MR_FD", 4, must),
		flagsIn(AttrRegDMABufMRAccessFlags, "REG_DMABUF_MR_ACCESS_FLAGS", optional),
		out(AttrRegDMABufMRRespLKey, "REG_DMABUF_MR_RESP_LKEY", 4, must),
		out(AttrRegDMABufMRRespRKey, "REG_DMABUF_MR_RESP_RKEY", 4, must),
	}},
	{MethodAsyncEventAlloc, "UVERBS_METHOD_ASYNC_EVENT_ALLOC", []AttrSpec{
		object(AttrAsyncEventAllocFDHandle, "ASYNC_EVENT_ALLOC_FD_HANDLE", NewFD, ObjectAsyncEvent, must),
	}},
}
