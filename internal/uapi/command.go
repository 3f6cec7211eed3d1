package uapi

import "fmt"

// This file defines the legacy commands, which the method INVOKE_WRITE carries: its attribute
// WRITE_CMD is a Command, CORE_IN the request without a CmdHdr, CORE_OUT the buffer for the
// response. INVOKE_WRITE ignores the field Response of a request.

// ABIVersion is the content of /sys/class/infiniband_verbs/abi_version.
const ABIVersion = 6

// CmdHdr is the header of a legacy command that is written to the device file (struct
// ib_uverbs_cmd_hdr). Lengths are in words of 4 bytes.
type CmdHdr struct {
	Command  uint32 `c:"command"`
	InWords  uint16 `c:"in_words"`
	OutWords uint16 `c:"out_words"`
}

// ExCmdHdr follows the CmdHdr of an extended command (struct ib_uverbs_ex_cmd_hdr). Lengths are in
// words of 8 bytes.
type ExCmdHdr struct {
	Response         uint64 `c:"response"`
	ProviderInWords  uint16 `c:"provider_in_words"`
	ProviderOutWords uint16 `c:"provider_out_words"`
	CmdHdrReserved   uint32 `c:"cmd_hdr_reserved"`
}

var commandStructs = []Struct{
	{"ib_uverbs_cmd_hdr", headerVerbs, CmdHdr{}},
	{"ib_uverbs_ex_cmd_hdr", headerVerbs, ExCmdHdr{}},
}

// CmdFlagExtended marks extended commands.
const CmdFlagExtended = 0x80000000

// Command is a legacy command (enum ib_uverbs_write_cmds), or an extended one with
// CmdFlagExtended.
type Command uint32

const (
	CmdGetContext        Command = 0
	CmdQueryDevice       Command = 1
	CmdQueryPort         Command = 2
	CmdAllocPD           Command = 3
	CmdDeallocPD         Command = 4
	CmdCreateAH          Command = 5
	CmdDestroyAH         Command = 8
	CmdRegMR             Command = 9
	CmdReregMR           Command = 11
	CmdDeregMR           Command = 13
	CmdAllocMW           Command = 14
	CmdDeallocMW         Command = 16
	CmdCreateCompChannel Command = 17
	CmdCreateCQ          Command = 18
	CmdResizeCQ          Command = 19
	CmdDestroyCQ         Command = 20
	CmdReqNotifyCQ       Command = 23
	CmdCreateQP          Command = 24
	CmdQueryQP           Command = 25
	CmdModifyQP          Command = 26
	CmdDestroyQP         Command = 27
	CmdPostSend          Command = 28
	CmdAttachMcast       Command = 30
	CmdDetachMcast       Command = 31
	CmdCreateSRQ         Command = 32
	CmdModifySRQ         Command = 33
	CmdQuerySRQ          Command = 34
	CmdDestroySRQ        Command = 35
	CmdOpenXRCD          Command = 37 // not supported: EOPNOTSUPP
	CmdCloseXRCD         Command = 38 // not supported: EOPNOTSUPP
	CmdCreateXSRQ        Command = 39
	CmdOpenQP            Command = 40 // not supported: EOPNOTSUPP
	CmdExQueryDevice     Command = CmdFlagExtended | 1
	CmdExCreateCQ        Command = CmdFlagExtended | 18
	CmdExCreateQP        Command = CmdFlagExtended | 24
	CmdExModifyQP        Command = CmdFlagExtended | 26
)

var commands = names[Command]{headerVerbs, []name[Command]{
	{"IB_USER_VERBS_CMD_GET_CONTEXT", CmdGetContext},
	{"IB_USER_VERBS_CMD_QUERY_DEVICE", CmdQueryDevice},
	{"IB_USER_VERBS_CMD_QUERY_PORT", CmdQueryPort},
	{"IB_USER_VERBS_CMD_ALLOC_PD", CmdAllocPD},
	{"IB_USER_VERBS_CMD_DEALLOC_PD", CmdDeallocPD},
	{"IB_USER_VERBS_CMD_CREATE_AH", CmdCreateAH},
	{"IB_USER_VERBS_CMD_DESTROY_AH", CmdDestroyAH},
	{"IB_USER_VERBS_CMD_REG_MR", CmdRegMR},
	{"IB_USER_VERBS_CMD_REREG_MR", CmdReregMR},
	{"IB_USER_VERBS_CMD_DEREG_MR", CmdDeregMR},
	{"IB_USER_VERBS_CMD_ALLOC_MW", CmdAllocMW},
	{"IB_USER_VERBS_CMD_DEALLOC_MW", CmdDeallocMW},
	{"IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL", CmdCreateCompChannel},
	{"IB_USER_VERBS_CMD_CREATE_CQ", CmdCreateCQ},
	{"IB_USER_VERBS_CMD_RESIZE_CQ", CmdResizeCQ},
	{"IB_USER_VERBS_CMD_DESTROY_CQ", CmdDestroyCQ},
	{"IB_USER_VERBS_CMD_REQ_NOTIFY_CQ", CmdReqNotifyCQ},
	{"IB_USER_VERBS_CMD_CREATE_QP", CmdCreateQP},
	{"IB_USER_VERBS_CMD_QUERY_QP", CmdQueryQP},
	{"IB_USER_VERBS_CMD_MODIFY_QP", CmdModifyQP},
	{"IB_USER_VERBS_CMD_DESTROY_QP", CmdDestroyQP},
	{"IB_USER_VERBS_CMD_POST_SEND", CmdPostSend},
	{"IB_USER_VERBS_CMD_ATTACH_MCAST", CmdAttachMcast},
	{"IB_USER_VERBS_CMD_DETACH_MCAST", CmdDetachMcast},
	{"IB_USER_VERBS_CMD_CREATE_SRQ", CmdCreateSRQ},
	{"IB_USER_VERBS_CMD_MODIFY_SRQ", CmdModifySRQ},
	{"IB_USER_VERBS_CMD_QUERY_SRQ", CmdQuerySRQ},
	{"IB_USER_VERBS_CMD_DESTROY_SRQ", CmdDestroySRQ},
	{"IB_USER_VERBS_CMD_OPEN_XRCD", CmdOpenXRCD},
	{"IB_USER_VERBS_CMD_CLOSE_XRCD", CmdCloseXRCD},
	{"IB_USER_VERBS_CMD_CREATE_XSRQ", CmdCreateXSRQ},
	{"IB_USER_VERBS_CMD_OPEN_QP", CmdOpenQP},
	{"IB_USER_VERBS_CMD_FLAG_EXTENDED|IB_USER_VERBS_EX_CMD_QUERY_DEVICE", CmdExQueryDevice},
	{"IB_USER_VERBS_CMD_FLAG_EXTENDED|IB_USER_VERBS_EX_CMD_CREATE_CQ", CmdExCreateCQ},
	{"IB_USER_VERBS_CMD_FLAG_EXTENDED|IB_USER_VERBS_EX_CMD_CREATE_QP", CmdExCreateQP},
	{"IB_USER_VERBS_CMD_FLAG_EXTENDED|IB_USER_VERBS_EX_CMD_MODIFY_QP", CmdExModifyQP},
}}

// String returns the kernel's name of the value.
func (c Command) String() string { return commands.one(c) }

// A CommandSpec describes a legacy command. MinIn and MinOut are the minimum lengths in bytes of
// the request and of the response buffer. Resp is nil if there is no response.
type CommandSpec struct {
	Command       Command
	Req, Resp     any
	MinIn, MinOut int
}

// commandSpecs holds the rules of uverbs_def_write_intf in drivers/infiniband/core/uverbs_cmd.c.
// The minimum length of an extended command includes only the early fields of its struct.
var commandSpecs = []CommandSpec{
	{CmdGetContext, GetContext{}, GetContextResp{}, 8, 8},
	{CmdQueryDevice, QueryDevice{}, QueryDeviceResp{}, 8, 176},
	{CmdQueryPort, QueryPort{}, QueryPortResp{}, 16, 40},
	{CmdAllocPD, AllocPD{}, AllocPDResp{}, 8, 4},
	{CmdDeallocPD, DeallocPD{}, nil, 4, 0},
	{CmdCreateAH, CreateAH{}, CreateAHResp{}, 56, 4},
	{CmdDestroyAH, DestroyAH{}, nil, 4, 0},
	{CmdRegMR, RegMR{}, RegMRResp{}, 40, 12},
	{CmdReregMR, ReregMR{}, ReregMRResp{}, 48, 8},
	{CmdDeregMR, DeregMR{}, nil, 4, 0},
	{CmdAllocMW, AllocMW{}, AllocMWResp{}, 16, 8},
	{CmdDeallocMW, DeallocMW{}, nil, 4, 0},
	{CmdCreateCompChannel, CreateCompChannel{}, CreateCompChannelResp{}, 8, 4},
	{CmdCreateCQ, CreateCQ{}, CreateCQResp{}, 32, 8},
	{CmdResizeCQ, ResizeCQ{}, ResizeCQResp{}, 16, 8},
	{CmdDestroyCQ, DestroyCQ{}, DestroyCQResp{}, 16, 8},
	{CmdReqNotifyCQ, ReqNotifyCQ{}, nil, 8, 0},
	{CmdCreateQP, CreateQP{}, CreateQPResp{}, 56, 32},
	{CmdQueryQP, QueryQP{}, QueryQPResp{}, 16, 128},
	{CmdModifyQP, ModifyQP{}, nil, 112, 0},
	{CmdDestroyQP, DestroyQP{}, DestroyQPResp{}, 16, 4},
	{CmdPostSend, PostSend{}, PostSendResp{}, 24, 4},
	{CmdAttachMcast, AttachMcast{}, nil, 24, 0},
	{CmdDetachMcast, DetachMcast{}, nil, 24, 0},
	{CmdCreateSRQ, CreateSRQ{}, CreateSRQResp{}, 32, 16},
	{CmdModifySRQ, ModifySRQ{}, nil, 16, 0},
	{CmdQuerySRQ, QuerySRQ{}, QuerySRQResp{}, 16, 16},
	{CmdDestroySRQ, DestroySRQ{}, DestroySRQResp{}, 16, 4},
	{CmdCreateXSRQ, CreateXSRQ{}, CreateSRQResp{}, 48, 16},
	{CmdExQueryDevice, ExQueryDevice{}, ExQueryDeviceResp{}, 8, 184},
	{CmdExCreateCQ, ExCreateCQ{}, ExCreateCQResp{}, 32, 16},
	{CmdExCreateQP, ExCreateQP{}, ExCreateQPResp{}, 52, 40},
	{CmdExModifyQP, ExModifyQP{}, ExModifyQPResp{}, 112, 8},
}

// CommandSpecs returns the legacy commands that gorxe knows. The caller must not modify the
// slice.
func CommandSpecs() []CommandSpec { return commandSpecs }

// FindCommand returns a legacy command. The error is EINVAL if bits other than the number and
// CmdFlagExtended are set, EOPNOTSUPP if there is no such command (uapi_get_method of
// drivers/infiniband/core/rdma_core.h).
func FindCommand(cmd Command) (*CommandSpec, error) {
	if cmd&^(CmdFlagExtended|0xff) != 0 {
		return nil, fmt.Errorf("legacy command %#x: %w", uint32(cmd), EINVAL)
	}
	for i := range commandSpecs {
		if commandSpecs[i].Command == cmd {
			return &commandSpecs[i], nil
		}
	}
	return nil, fmt.Errorf("legacy command %v is not supported: %w", cmd, EOPNOTSUPP)
}

// CheckRoom checks the lengths in bytes of the request and of the response buffer. The error is
// ENOSPC if one is too short. libibverbs probes for INVOKE_WRITE with a command without a request
// and a response buffer, and expects ENOSPC.
func (s *CommandSpec) CheckRoom(in, out int) error {
	if in < s.MinIn || out < s.MinOut {
		return fmt.Errorf("%v with %d bytes and room for %d, the least are %d and %d: %w",
			s.Command, in, out, s.MinIn, s.MinOut, ENOSPC)
	}
	return nil
}

// Command returns the legacy command that a call of INVOKE_WRITE carries, after it has checked
// the command number and the lengths.
func (r *Request) Command() (*CommandSpec, error) {
	n, err := r.Const(AttrWriteCmd, 1<<32-1)
	if err != nil {
		return nil, err
	}
	s, err := FindCommand(Command(n))
	if err != nil {
		return nil, err
	}
	return s, s.CheckRoom(r.length(AttrCoreIn), r.length(AttrCoreOut))
}

// length returns the length of an attribute in bytes, 0 if it is absent.
func (r *Request) length(id AttrID) int {
	if a := r.Attr(id); a != nil {
		return int(a.Len)
	}
	return 0
}
