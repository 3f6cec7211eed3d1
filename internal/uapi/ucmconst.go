package uapi

// This file defines the constants of rdma_cm's commands.

// PortSpace is the port space of an rdma_cm ID (enum rdma_ucm_port_space).
type PortSpace uint16

const (
	PortSpaceIPoIB PortSpace = 0x0002
	PortSpaceTCP   PortSpace = 0x0106
	PortSpaceUDP   PortSpace = 0x0111
	PortSpaceIB    PortSpace = 0x013f
)

var portSpaces = names[PortSpace]{headerCM, []name[PortSpace]{
	{"RDMA_PS_IPOIB", PortSpaceIPoIB},
	{"RDMA_PS_TCP", PortSpaceTCP},
	{"RDMA_PS_UDP", PortSpaceUDP},
	{"RDMA_PS_IB", PortSpaceIB},
}}

// String returns the kernel's name of the value.
func (p PortSpace) String() string { return portSpaces.one(p) }

// QueryOption selects the response to QUERY.
type QueryOption uint32

const (
	QueryAddr QueryOption = 0
	QueryPath QueryOption = 1
	QueryGID  QueryOption = 2
)

var queryOptions = names[QueryOption]{headerCM, []name[QueryOption]{
	{"RDMA_USER_CM_QUERY_ADDR", QueryAddr},
	{"RDMA_USER_CM_QUERY_PATH", QueryPath},
	{"RDMA_USER_CM_QUERY_GID", QueryGID},
}}

// String returns the kernel's name of the value.
func (q QueryOption) String() string { return queryOptions.one(q) }

// OptionLevel is the level of an option of SET_OPTION.
type OptionLevel uint32

const (
	OptionLevelID OptionLevel = 0
	OptionLevelIB OptionLevel = 1
)

var optionLevels = names[OptionLevel]{headerCM, []name[OptionLevel]{
	{"RDMA_OPTION_ID", OptionLevelID},
	{"RDMA_OPTION_IB", OptionLevelIB},
}}

// String returns the kernel's name of the value.
func (o OptionLevel) String() string { return optionLevels.one(o) }

// OptionID is an option of level OptionLevelID. TOS, REUSEADDR, AFONLY and ACK_TIMEOUT have 1, 4,
// 4 and 1 bytes.
type OptionID uint32

const (
	OptionIDTOS        OptionID = 0
	OptionIDReuseAddr  OptionID = 1
	OptionIDAFOnly     OptionID = 2
	OptionIDAckTimeout OptionID = 3
)

var optionIDs = names[OptionID]{headerCM, []name[OptionID]{
	{"RDMA_OPTION_ID_TOS", OptionIDTOS},
	{"RDMA_OPTION_ID_REUSEADDR", OptionIDReuseAddr},
	{"RDMA_OPTION_ID_AFONLY", OptionIDAFOnly},
	{"RDMA_OPTION_ID_ACK_TIMEOUT", OptionIDAckTimeout},
}}

// String returns the kernel's name of the value.
func (o OptionID) String() string { return optionIDs.one(o) }

// OptionIB is an option of level OptionLevelIB.
type OptionIB uint32

const (
	OptionIBPath OptionIB = 1
)

var optionIBs = names[OptionIB]{headerCM, []name[OptionIB]{
	{"RDMA_OPTION_IB_PATH", OptionIBPath},
}}

// String returns the kernel's name of the value.
func (o OptionIB) String() string { return optionIBs.one(o) }

// JoinFlag is a value of UCMJoinMcast.JoinFlags.
type JoinFlag uint16

const (
	JoinFullMember         JoinFlag = 0
	JoinSendOnlyFullMember JoinFlag = 1
)

var joinFlags = names[JoinFlag]{headerCM, []name[JoinFlag]{
	{"RDMA_MC_JOIN_FLAG_FULLMEMBER", JoinFullMember},
	{"RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER", JoinSendOnlyFullMember},
}}

// String returns the kernel's name of the value.
func (j JoinFlag) String() string { return joinFlags.one(j) }

// PathFlag is a bit of PathRecData.Flags.
type PathFlag uint32

const (
	PathGMP            PathFlag = 1 << 0
	PathPrimary        PathFlag = 1 << 1
	PathAlternate      PathFlag = 1 << 2
	PathOutbound       PathFlag = 1 << 3
	PathInbound        PathFlag = 1 << 4
	PathInboundReverse PathFlag = 1 << 5
)

var pathFlags = names[PathFlag]{headerSA, []name[PathFlag]{
	{"IB_PATH_GMP", PathGMP},
	{"IB_PATH_PRIMARY", PathPrimary},
	{"IB_PATH_ALTERNATE", PathAlternate},
	{"IB_PATH_OUTBOUND", PathOutbound},
	{"IB_PATH_INBOUND", PathInbound},
	{"IB_PATH_INBOUND_REVERSE", PathInboundReverse},
}}

// String returns the kernel's names of the bits set, separated by "|".
func (p PathFlag) String() string { return pathFlags.flags(p) }
