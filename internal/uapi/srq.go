package uapi

// This file defines shared receive queues.

// CreateSRQ is the request of CREATE_SRQ (struct ib_uverbs_create_srq).
type CreateSRQ struct {
	Response   uint64 `c:"response"`
	UserHandle uint64 `c:"user_handle"`
	PDHandle   uint32 `c:"pd_handle"`
	MaxWR      uint32 `c:"max_wr"`
	MaxSGE     uint32 `c:"max_sge"`
	SRQLimit   uint32 `c:"srq_limit"`
}

// CreateXSRQ is the request of CREATE_XSRQ (struct ib_uverbs_create_xsrq).
type CreateXSRQ struct {
	Response   uint64 `c:"response"`
	UserHandle uint64 `c:"user_handle"`
	SRQType    uint32 `c:"srq_type"`
	PDHandle   uint32 `c:"pd_handle"`
	MaxWR      uint32 `c:"max_wr"`
	MaxSGE     uint32 `c:"max_sge"`
	SRQLimit   uint32 `c:"srq_limit"`
	MaxNumTags uint32 `c:"max_num_tags"`
	XRCDHandle uint32 `c:"xrcd_handle"`
	CQHandle   uint32 `c:"cq_handle"`
}

// CreateSRQResp is the response to CREATE_SRQ and CREATE_XSRQ (struct ib_uverbs_create_srq_resp).
type CreateSRQResp struct {
	SRQHandle uint32 `c:"srq_handle"`
	MaxWR     uint32 `c:"max_wr"`
	MaxSGE    uint32 `c:"max_sge"`
	SRQN      uint32 `c:"srqn"`
}

// ModifySRQ is the request of MODIFY_SRQ (struct ib_uverbs_modify_srq). AttrMask holds SRQAttrMask
// bits.
type ModifySRQ struct {
	SRQHandle uint32 `c:"srq_handle"`
	AttrMask  uint32 `c:"attr_mask"`
	MaxWR     uint32 `c:"max_wr"`
	SRQLimit  uint32 `c:"srq_limit"`
}

// QuerySRQ is the request of QUERY_SRQ (struct ib_uverbs_query_srq).
type QuerySRQ struct {
	Response  uint64 `c:"response"`
	SRQHandle uint32 `c:"srq_handle"`
	Reserved  uint32 `c:"reserved"`
}

// QuerySRQResp is the response to QUERY_SRQ (struct ib_uverbs_query_srq_resp).
type QuerySRQResp struct {
	MaxWR    uint32 `c:"max_wr"`
	MaxSGE   uint32 `c:"max_sge"`
	SRQLimit uint32 `c:"srq_limit"`
	Reserved uint32 `c:"reserved"`
}

// DestroySRQ is the request of DESTROY_SRQ (struct ib_uverbs_destroy_srq).
type DestroySRQ struct {
	Response  uint64 `c:"response"`
	SRQHandle uint32 `c:"srq_handle"`
	Reserved  uint32 `c:"reserved"`
}

// DestroySRQResp is the response to the legacy command and to the ioctl method DESTROY_SRQ (struct
// ib_uverbs_destroy_srq_resp).
type DestroySRQResp struct {
	EventsReported uint32 `c:"events_reported"`
}

var srqStructs = []Struct{
	{"ib_uverbs_create_srq", headerVerbs, CreateSRQ{}},
	{"ib_uverbs_create_xsrq", headerVerbs, CreateXSRQ{}},
	{"ib_uverbs_create_srq_resp", headerVerbs, CreateSRQResp{}},
	{"ib_uverbs_modify_srq", headerVerbs, ModifySRQ{}},
	{"ib_uverbs_query_srq", headerVerbs, QuerySRQ{}},
	{"ib_uverbs_query_srq_resp", headerVerbs, QuerySRQResp{}},
	{"ib_uverbs_destroy_srq", headerVerbs, DestroySRQ{}},
	{"ib_uverbs_destroy_srq_resp", headerVerbs, DestroySRQResp{}},
}

// SRQAttrMask selects the limits that MODIFY_SRQ changes (enum ib_srq_attr_mask).
type SRQAttrMask uint32

const (
	SRQAttrMaxWR SRQAttrMask = 1 << 0
	SRQAttrLimit SRQAttrMask = 1 << 1
)

var srqAttrMasks = names[SRQAttrMask]{headerLibibverbs, []name[SRQAttrMask]{
	{"IBV_SRQ_MAX_WR", SRQAttrMaxWR},
	{"IBV_SRQ_LIMIT", SRQAttrLimit},
}}

// String returns rdma-core's names of the bits set, separated by "|".
func (s SRQAttrMask) String() string { return srqAttrMasks.flags(s) }

// SRQType is the type of a shared receive queue (enum ib_uverbs_srq_type).
type SRQType uint32

const (
	SRQTypeBasic SRQType = 0
	SRQTypeXRC   SRQType = 1
	SRQTypeTM    SRQType = 2
)

var srqTypes = names[SRQType]{headerIoctlVerbs, []name[SRQType]{
	{"IB_UVERBS_SRQT_BASIC", SRQTypeBasic},
	{"IB_UVERBS_SRQT_XRC", SRQTypeXRC},
	{"IB_UVERBS_SRQT_TM", SRQTypeTM},
}}

// String returns the kernel's name of the value.
func (s SRQType) String() string { return srqTypes.one(s) }
