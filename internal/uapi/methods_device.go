package uapi

// This file has the methods of the device.

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

// deviceMethods has the rules of drivers/infiniband/core/uverbs_std_types_device.c.
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
