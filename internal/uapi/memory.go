package uapi

// This file defines protection domains, memory regions and memory windows.

// AllocPD is the request of ALLOC_PD (struct ib_uverbs_alloc_pd).
type AllocPD struct {
	Response uint64 `c:"response"`
}

// AllocPDResp is the response to ALLOC_PD (struct ib_uverbs_alloc_pd_resp).
type AllocPDResp struct {
	PDHandle uint32 `c:"pd_handle"`
}

// DeallocPD is the request of DEALLOC_PD (struct ib_uverbs_dealloc_pd).
type DeallocPD struct {
	PDHandle uint32 `c:"pd_handle"`
}

// RegMR is the request of REG_MR (struct ib_uverbs_reg_mr). Start and HCAVA are addresses with the
// same offset in a page. Length is in bytes.
type RegMR struct {
	Response    uint64 `c:"response"`
	Start       uint64 `c:"start"`
	Length      uint64 `c:"length"`
	HCAVA       uint64 `c:"hca_va"`
	PDHandle    uint32 `c:"pd_handle"`
	AccessFlags uint32 `c:"access_flags"`
}

// RegMRResp is the response to REG_MR (struct ib_uverbs_reg_mr_resp).
type RegMRResp struct {
	MRHandle uint32 `c:"mr_handle"`
	LKey     uint32 `c:"lkey"`
	RKey     uint32 `c:"rkey"`
}

// ReregMR is the request of REREG_MR (struct ib_uverbs_rereg_mr). Flags holds ReregFlags.
type ReregMR struct {
	Response    uint64 `c:"response"`
	MRHandle    uint32 `c:"mr_handle"`
	Flags       uint32 `c:"flags"`
	Start       uint64 `c:"start"`
	Length      uint64 `c:"length"`
	HCAVA       uint64 `c:"hca_va"`
	PDHandle    uint32 `c:"pd_handle"`
	AccessFlags uint32 `c:"access_flags"`
}

// ReregMRResp is the response to REREG_MR (struct ib_uverbs_rereg_mr_resp).
type ReregMRResp struct {
	LKey uint32 `c:"lkey"`
	RKey uint32 `c:"rkey"`
}

// DeregMR is the request of DEREG_MR (struct ib_uverbs_dereg_mr).
type DeregMR struct {
	MRHandle uint32 `c:"mr_handle"`
}

// AllocMW is the request of ALLOC_MW (struct ib_uverbs_alloc_mw).
type AllocMW struct {
	Response uint64   `c:"response"`
	PDHandle uint32   `c:"pd_handle"`
	MWType   uint8    `c:"mw_type"`
	Reserved [3]uint8 `c:"reserved"`
}

// AllocMWResp is the response to ALLOC_MW (struct ib_uverbs_alloc_mw_resp).
type AllocMWResp struct {
	MWHandle uint32 `c:"mw_handle"`
	RKey     uint32 `c:"rkey"`
}

// DeallocMW is the request of DEALLOC_MW (struct ib_uverbs_dealloc_mw).
type DeallocMW struct {
	MWHandle uint32 `c:"mw_handle"`
}

// SGE is a scatter/gather element (struct ib_uverbs_sge). Length is in bytes.
type SGE struct {
	Addr   uint64 `c:"addr"`
	Length uint32 `c:"length"`
	LKey   uint32 `c:"lkey"`
}

var memoryStructs = []Struct{
	{"ib_uverbs_alloc_pd", headerVerbs, AllocPD{}},
	{"ib_uverbs_alloc_pd_resp", headerVerbs, AllocPDResp{}},
	{"ib_uverbs_dealloc_pd", headerVerbs, DeallocPD{}},
	{"ib_uverbs_reg_mr", headerVerbs, RegMR{}},
	{"ib_uverbs_reg_mr_resp", headerVerbs, RegMRResp{}},
	{"ib_uverbs_rereg_mr", headerVerbs, ReregMR{}},
	{"ib_uverbs_rereg_mr_resp", headerVerbs, ReregMRResp{}},
	{"ib_uverbs_dereg_mr", headerVerbs, DeregMR{}},
	{"ib_uverbs_alloc_mw", headerVerbs, AllocMW{}},
	{"ib_uverbs_alloc_mw_resp", headerVerbs, AllocMWResp{}},
	{"ib_uverbs_dealloc_mw", headerVerbs, DeallocMW{}},
	{"ib_uverbs_sge", headerVerbs, SGE{}},
}

// AccessFlags is a set of access rights of a memory region, memory window or queue pair (enum
// ib_uverbs_access_flags).
type AccessFlags uint32

const (
	AccessLocalWrite      AccessFlags = 1 << 0
	AccessRemoteWrite     AccessFlags = 1 << 1
	AccessRemoteRead      AccessFlags = 1 << 2
	AccessRemoteAtomic    AccessFlags = 1 << 3
	AccessMWBind          AccessFlags = 1 << 4
	AccessZeroBased       AccessFlags = 1 << 5
	AccessOnDemand        AccessFlags = 1 << 6
	AccessHugeTLB         AccessFlags = 1 << 7
	AccessFlushGlobal     AccessFlags = 1 << 8 // Linux 6.2
	AccessFlushPersistent AccessFlags = 1 << 9 // Linux 6.2
	AccessRelaxedOrdering AccessFlags = 1 << 20
)

var accessFlags = names[AccessFlags]{headerIoctlVerbs, []name[AccessFlags]{
	{"IB_UVERBS_ACCESS_LOCAL_WRITE", AccessLocalWrite},
	{"IB_UVERBS_ACCESS_REMOTE_WRITE", AccessRemoteWrite},
	{"IB_UVERBS_ACCESS_REMOTE_READ", AccessRemoteRead},
	{"IB_UVERBS_ACCESS_REMOTE_ATOMIC", AccessRemoteAtomic},
	{"IB_UVERBS_ACCESS_MW_BIND", AccessMWBind},
	{"IB_UVERBS_ACCESS_ZERO_BASED", AccessZeroBased},
	{"IB_UVERBS_ACCESS_ON_DEMAND", AccessOnDemand},
	{"IB_UVERBS_ACCESS_HUGETLB", AccessHugeTLB},
	{"IB_UVERBS_ACCESS_FLUSH_GLOBAL", AccessFlushGlobal},
	{"IB_UVERBS_ACCESS_FLUSH_PERSISTENT", AccessFlushPersistent},
	{"IB_UVERBS_ACCESS_RELAXED_ORDERING", AccessRelaxedOrdering},
}}

// String returns the kernel's names of the bits set, separated by "|".
func (a AccessFlags) String() string { return accessFlags.flags(a) }

// AccessOptionalRange is the mask of the access flags that a device may ignore, bits 20 to 29.
const AccessOptionalRange = 0x3ff00000

// ReregFlags selects the properties that REREG_MR changes (enum ib_mr_rereg_flags).
type ReregFlags uint32

const (
	ReregChangeTranslation ReregFlags = 1 << 0
	ReregChangePD          ReregFlags = 1 << 1
	ReregChangeAccess      ReregFlags = 1 << 2
)

var reregFlags = names[ReregFlags]{headerLibibverbs, []name[ReregFlags]{
	{"IBV_REREG_MR_CHANGE_TRANSLATION", ReregChangeTranslation},
	{"IBV_REREG_MR_CHANGE_PD", ReregChangePD},
	{"IBV_REREG_MR_CHANGE_ACCESS", ReregChangeAccess},
}}

// String returns rdma-core's names of the bits set, separated by "|".
func (r ReregFlags) String() string { return reregFlags.flags(r) }

// MWType is the type of a memory window (enum ib_mw_type).
type MWType uint8

const (
	MWType1 MWType = 1
	MWType2 MWType = 2
)

var mwTypes = names[MWType]{headerLibibverbs, []name[MWType]{
	{"IBV_MW_TYPE_1", MWType1},
	{"IBV_MW_TYPE_2", MWType2},
}}

// String returns rdma-core's name of the value.
func (m MWType) String() string { return mwTypes.one(m) }

// AdviseMR is the advice of ADVISE_MR (enum ib_uverbs_advise_mr_advice).
type AdviseMR uint32

const (
	AdviseMRPrefetch        AdviseMR = 0
	AdviseMRPrefetchWrite   AdviseMR = 1
	AdviseMRPrefetchNoFault AdviseMR = 2
)

var adviseMRs = names[AdviseMR]{headerIoctlVerbs, []name[AdviseMR]{
	{"IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH", AdviseMRPrefetch},
	{"IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE", AdviseMRPrefetchWrite},
	{"IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT", AdviseMRPrefetchNoFault},
}}

// String returns the kernel's name of the value.
func (a AdviseMR) String() string { return adviseMRs.one(a) }

// AdviseMRFlush is the flag that makes ADVISE_MR wait for the prefetch.
const AdviseMRFlush = 1 << 0
