package uapi

import "fmt"

// This file defines the commands of /dev/infiniband/rdma_cm, ABI version 4. A program writes a
// UCMCmdHdr and the request. The response goes to the address at the start of most requests.

// UCMABIVersion is the content of /sys/class/misc/rdma_cm/abi_version.
const UCMABIVersion = 4

// UCMCmdHdrSize is the size of a UCMCmdHdr in bytes.
const UCMCmdHdrSize = 8

// UCMCmdHdr is the header of a command (struct rdma_ucm_cmd_hdr). In is the number of bytes that
// follow it, Out the size of the response buffer.
type UCMCmdHdr struct {
	Cmd uint32 `c:"cmd"`
	In  uint16 `c:"in"`
	Out uint16 `c:"out"`
}

var ucmHeaderStructs = []Struct{
	{"rdma_ucm_cmd_hdr", headerCM, UCMCmdHdr{}},
}

// UCMCommand is a command of rdma_cm.
type UCMCommand uint32

const (
	UCMCmdCreateID     UCMCommand = 0
	UCMCmdDestroyID    UCMCommand = 1
	UCMCmdBindIP       UCMCommand = 2
	UCMCmdResolveIP    UCMCommand = 3
	UCMCmdResolveRoute UCMCommand = 4
	UCMCmdQueryRoute   UCMCommand = 5
	UCMCmdConnect      UCMCommand = 6
	UCMCmdListen       UCMCommand = 7
	UCMCmdAccept       UCMCommand = 8
	UCMCmdReject       UCMCommand = 9
	UCMCmdDisconnect   UCMCommand = 10
	UCMCmdInitQPAttr   UCMCommand = 11
	UCMCmdGetEvent     UCMCommand = 12
	UCMCmdGetOption    UCMCommand = 13 // ENOSYS, as in Linux (ucma.c)
	UCMCmdSetOption    UCMCommand = 14
	UCMCmdNotify       UCMCommand = 15
	UCMCmdJoinIPMcast  UCMCommand = 16
	UCMCmdLeaveMcast   UCMCommand = 17
	UCMCmdMigrateID    UCMCommand = 18
	UCMCmdQuery        UCMCommand = 19
	UCMCmdBind         UCMCommand = 20
	UCMCmdResolveAddr  UCMCommand = 21
	UCMCmdJoinMcast    UCMCommand = 22
)

var ucmCommands = names[UCMCommand]{headerCM, []name[UCMCommand]{
	{"RDMA_USER_CM_CMD_CREATE_ID", UCMCmdCreateID},
	{"RDMA_USER_CM_CMD_DESTROY_ID", UCMCmdDestroyID},
	{"RDMA_USER_CM_CMD_BIND_IP", UCMCmdBindIP},
	{"RDMA_USER_CM_CMD_RESOLVE_IP", UCMCmdResolveIP},
	{"RDMA_USER_CM_CMD_RESOLVE_ROUTE", UCMCmdResolveRoute},
	{"RDMA_USER_CM_CMD_QUERY_ROUTE", UCMCmdQueryRoute},
	{"RDMA_USER_CM_CMD_CONNECT", UCMCmdConnect},
	{"RDMA_USER_CM_CMD_LISTEN", UCMCmdListen},
	{"RDMA_USER_CM_CMD_ACCEPT", UCMCmdAccept},
	{"RDMA_USER_CM_CMD_REJECT", UCMCmdReject},
	{"RDMA_USER_CM_CMD_DISCONNECT", UCMCmdDisconnect},
	{"RDMA_USER_CM_CMD_INIT_QP_ATTR", UCMCmdInitQPAttr},
	{"RDMA_USER_CM_CMD_GET_EVENT", UCMCmdGetEvent},
	{"RDMA_USER_CM_CMD_GET_OPTION", UCMCmdGetOption},
	{"RDMA_USER_CM_CMD_SET_OPTION", UCMCmdSetOption},
	{"RDMA_USER_CM_CMD_NOTIFY", UCMCmdNotify},
	{"RDMA_USER_CM_CMD_JOIN_IP_MCAST", UCMCmdJoinIPMcast},
	{"RDMA_USER_CM_CMD_LEAVE_MCAST", UCMCmdLeaveMcast},
	{"RDMA_USER_CM_CMD_MIGRATE_ID", UCMCmdMigrateID},
	{"RDMA_USER_CM_CMD_QUERY", UCMCmdQuery},
	{"RDMA_USER_CM_CMD_BIND", UCMCmdBind},
	{"RDMA_USER_CM_CMD_RESOLVE_ADDR", UCMCmdResolveAddr},
	{"RDMA_USER_CM_CMD_JOIN_MCAST", UCMCmdJoinMcast},
}}

// String returns the kernel's name of the value.
func (u UCMCommand) String() string { return ucmCommands.one(u) }

// numUCMCommands is the number of commands in Linux 6.1.
const numUCMCommands = 23

// A UCMCommandSpec describes a command. MinIn and MinOut are the minimum lengths in bytes of the
// request and of the response buffer. Resp is nil if there is no response.
type UCMCommandSpec struct {
	Command       UCMCommand
	Req, Resp     any
	MinIn, MinOut int
}

// ucmCommandSpecs is ordered by command; GET_OPTION has no entry. Limits below the size of the
// struct are those of drivers/infiniband/core/ucma.c, for programs that were built before the
// last fields were added.
var ucmCommandSpecs = []UCMCommandSpec{
	{UCMCmdCreateID, UCMCreateID{}, UCMCreateIDResp{}, 24, 4},
	{UCMCmdDestroyID, UCMDestroyID{}, UCMDestroyIDResp{}, 16, 4},
	{UCMCmdBindIP, UCMBindIP{}, nil, 40, 0},
	{UCMCmdResolveIP, UCMResolveIP{}, nil, 64, 0},
	{UCMCmdResolveRoute, UCMResolveRoute{}, nil, 8, 0},
	{UCMCmdQueryRoute, UCMQuery{}, UCMQueryRouteResp{}, 16, 200},
	{UCMCmdConnect, UCMConnect{}, nil, 280, 0},
	{UCMCmdListen, UCMListen{}, nil, 8, 0},
	{UCMCmdAccept, UCMAccept{}, nil, 288, 0},
	{UCMCmdReject, UCMReject{}, nil, 264, 0},
	{UCMCmdDisconnect, UCMDisconnect{}, nil, 4, 0},
	{UCMCmdInitQPAttr, UCMInitQPAttr{}, QPAttr{}, 16, 144},
	{UCMCmdGetEvent, UCMGetEvent{}, UCMEventResp{}, 8, 324},
	{UCMCmdSetOption, UCMSetOption{}, nil, 24, 0},
	{UCMCmdNotify, UCMNotify{}, nil, 8, 0},
	{UCMCmdJoinIPMcast, UCMJoinIPMcast{}, UCMCreateIDResp{}, 48, 4},
	{UCMCmdLeaveMcast, UCMDestroyID{}, UCMDestroyIDResp{}, 16, 4},
	{UCMCmdMigrateID, UCMMigrateID{}, UCMMigrateResp{}, 16, 4},
	{UCMCmdQuery, UCMQuery{}, UCMQueryAddrResp{}, 16, 8}, // 8: the response to QueryPath is the shortest
	{UCMCmdBind, UCMBind{}, nil, 136, 0},
	{UCMCmdResolveAddr, UCMResolveAddr{}, nil, 272, 0},
	{UCMCmdJoinMcast, UCMJoinMcast{}, UCMCreateIDResp{}, 152, 4},
}

// UCMCommandSpecs returns the commands of rdma_cm, ordered by number. The caller must not modify
// the slice.
func UCMCommandSpecs() []UCMCommandSpec { return ucmCommandSpecs }

// A UCMCall is a command that a program has written to rdma_cm.
type UCMCall struct {
	Spec *UCMCommandSpec
	Req  []byte // request, at least Spec.MinIn bytes; a slice of the bytes parsed
	Out  int    // size of the response buffer in bytes
}

// ParseUCM parses a command that a program has written to rdma_cm. As ucma_write does, it returns
// EINVAL for a short write and an unknown command, ENOSYS for GET_OPTION and ENOSPC for a
// response buffer that is too small, and ignores bytes after the request. Unlike the kernel,
// which reads sizeof(struct) bytes regardless of In, it returns EINVAL for a request that is
// shorter than UCMCommandSpec.MinIn.
func ParseUCM(b []byte) (UCMCall, error) {
	var hdr UCMCmdHdr
	if len(b) < UCMCmdHdrSize {
		return UCMCall{}, fmt.Errorf("rdma_cm command of %d bytes, its header has %d: %w",
			len(b), UCMCmdHdrSize, EINVAL)
	}
	decodeInto(b, &hdr)
	cmd := UCMCommand(hdr.Cmd)
	if cmd >= numUCMCommands {
		return UCMCall{}, fmt.Errorf("rdma_cm command %d is unknown: %w", hdr.Cmd, EINVAL)
	}
	req := b[UCMCmdHdrSize:]
	if int(hdr.In) > len(req) {
		return UCMCall{}, fmt.Errorf("%v announces %d bytes, %d were written: %w",
			cmd, hdr.In, len(req), EINVAL)
	}
	req = req[:hdr.In]
	for i := range ucmCommandSpecs {
		spec := &ucmCommandSpecs[i]
		if spec.Command != cmd {
			continue
		}
		if len(req) < spec.MinIn {
			return UCMCall{}, fmt.Errorf("%v has %d bytes, the least is %d: %w",
				cmd, len(req), spec.MinIn, EINVAL)
		}
		if int(hdr.Out) < spec.MinOut {
			return UCMCall{}, fmt.Errorf("%v has room for %d bytes, the least is %d: %w",
				cmd, hdr.Out, spec.MinOut, ENOSPC)
		}
		return UCMCall{spec, req, int(hdr.Out)}, nil
	}
	return UCMCall{}, fmt.Errorf("%v is not implemented: %w", cmd, ENOSYS)
}
