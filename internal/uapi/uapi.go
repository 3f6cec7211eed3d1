// Package uapi defines the user ABI of the kernel's RDMA subsystem as data: the uverbs ioctl, its
// objects, methods and attributes, the legacy commands behind INVOKE_WRITE, the commands of
// rdma_cm, and the data that the driver rxe adds. gorxe answers these calls in place of a kernel
// under an unmodified rdma-core.
//
// # Names
//
// Names are those of the kernel headers in Go spelling: struct ib_uverbs_query_port_resp is
// QueryPortResp, rdma_ucm_create_id is UCMCreateID, rxe_create_qp_resp is RXECreateQPResp. The
// tag c of a field is its name in C. [Structs] and [Constants] list all of them with their C
// names and headers, and a test compares sizes, offsets and values with a C compiler.
//
// # Representation
//
// Integers are in the byte order of the host, which must be little-endian (amd64, arm64). Fields
// that the ABI defines as big-endian, GIDs and GUIDs are byte arrays. A struct has the fields of
// C in the same order with no implicit padding, so package encoding/binary can encode it.
//
// # Checks
//
// [ParseCall] and [Check] apply the rules of drivers/infiniband/core/uverbs_ioctl.c, [ParseUCM]
// those of ucma.c. Their errors wrap an [Errno]. The package neither reads nor writes the memory
// of a program: the program's addresses are numbers here. It has no mutable state and needs no
// locks.
package uapi

import (
	"fmt"
	"slices"
	"strings"
)

// Headers of the C definitions, as a C program includes them.
const (
	headerVerbs      = "rdma/ib_user_verbs.h"
	headerIoctl      = "rdma/rdma_user_ioctl_cmds.h"
	headerIoctlCmds  = "rdma/ib_user_ioctl_cmds.h"
	headerIoctlVerbs = "rdma/ib_user_ioctl_verbs.h"
	headerCM         = "rdma/rdma_user_cm.h"
	headerSA         = "rdma/ib_user_sa.h"
	headerRXE        = "rdma/rdma_user_rxe.h"
	headerErrno      = "errno.h"

	// Headers of rdma-core, for numbers that are not in the kernel's headers.
	headerLibibverbs = "infiniband/verbs.h"
	headerLibrdmacm  = "rdma/rdma_cma.h"
)

// A Struct is a struct of the ABI. C is its name after "struct", Header the header that defines
// it, Value its zero value.
type Struct struct {
	C      string
	Header string
	Value  any
}

// Structs returns all structs of the package.
func Structs() []Struct {
	return slices.Concat(ioctlStructs, commandStructs, deviceStructs, portStructs, memoryStructs,
		ahStructs, cqStructs, eventStructs, qpStructs, srqStructs, rxeStructs,
		ucmHeaderStructs, ucmStructs, ucmEventStructs)
}

// A Constant is a number of the ABI. C is its name or, for an offset or a size, its expression in
// C. Header is the header that defines it.
type Constant struct {
	C      string
	Header string
	Value  uint64
}

// Constants returns the numbers of the package that a user-space header defines, including the
// IDs of all methods and attributes.
func Constants() []Constant {
	return slices.Concat(
		ioctlConstants, methodConstants(), objects.list(), commands.list(), errnos.list(),
		deviceCaps.list(), atomicCaps.list(), nodeTypes.list(), driverIDs.list(),
		coreSupports.list(), portStates.list(), linkLayers.list(), mtus.list(), gidTypes.list(),
		portCaps.list(), portFlags.list(), accessFlags.list(), reregFlags.list(), mwTypes.list(),
		adviseMRs.list(), cqFlags.list(), wcStatuses.list(), wcOpcodes.list(), wcFlags.list(),
		eventTypes.list(), qpTypes.list(), qpStates.list(), qpMasks.list(), migStates.list(),
		qpCreateFlags.list(), wrOpcodes.list(), sendFlags.list(), srqAttrMasks.list(),
		srqTypes.list(), ringLayout.list(), ucmCommands.list(), portSpaces.list(),
		queryOptions.list(), optionLevels.list(), optionIDs.list(), optionIBs.list(),
		joinFlags.list(), pathFlags.list(), ucmEvents.list(), singleConstants,
	)
}

// singleConstants are numbers without a type.
var singleConstants = []Constant{
	{"IB_USER_VERBS_ABI_VERSION", headerVerbs, ABIVersion},
	{"IB_USER_VERBS_CMD_FLAG_EXTENDED", headerVerbs, CmdFlagExtended},
	{"IB_UVERBS_ACCESS_OPTIONAL_RANGE", headerIoctlVerbs, AccessOptionalRange},
	{"IB_UVERBS_ADVISE_MR_FLAG_FLUSH", headerIoctlVerbs, AdviseMRFlush},
	{"RDMA_USER_CM_ABI_VERSION", headerCM, UCMABIVersion},
	{"RDMA_MAX_PRIVATE_DATA", headerCM, MaxPrivateData},
}

type unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

type name[T unsigned] struct {
	c     string
	value T
}

// names holds the C names of the values of a type.
type names[T unsigned] struct {
	header string
	all    []name[T]
}

func (n names[T]) list() []Constant {
	out := make([]Constant, 0, len(n.all))
	for _, e := range n.all {
		out = append(out, Constant{e.c, n.header, uint64(e.value)})
	}
	return out
}

// one returns the name of v, or the number if it has no name.
func (n names[T]) one(v T) string {
	for _, e := range n.all {
		if e.value == v {
			return e.c
		}
	}
	return fmt.Sprintf("%#x", uint64(v))
}

// flags returns the names of the bits of v; bits without a name form one number.
func (n names[T]) flags(v T) string {
	var out []string
	for _, e := range n.all {
		if e.value != 0 && v&e.value == e.value {
			out = append(out, e.c)
			v &^= e.value
		}
	}
	if v != 0 || out == nil {
		out = append(out, fmt.Sprintf("%#x", uint64(v)))
	}
	return strings.Join(out, "|")
}
