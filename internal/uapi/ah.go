package uapi

// This file defines address vectors, address handles and multicast groups.

// GlobalRoute is a global routing header (struct ib_uverbs_global_route). FlowLabel is in native
// byte order.
type GlobalRoute struct {
	DGID         [16]byte `c:"dgid"`
	FlowLabel    uint32   `c:"flow_label"`
	SGIDIndex    uint8    `c:"sgid_index"`
	HopLimit     uint8    `c:"hop_limit"`
	TrafficClass uint8    `c:"traffic_class"`
	Reserved     uint8    `c:"reserved"`
}

// AHAttr is the address vector of CREATE_AH, of QPAttr and of UCMUDParam (struct
// ib_uverbs_ah_attr).
type AHAttr struct {
	GRH         GlobalRoute `c:"grh"`
	DLID        uint16      `c:"dlid"`
	SL          uint8       `c:"sl"`
	SrcPathBits uint8       `c:"src_path_bits"`
	StaticRate  uint8       `c:"static_rate"`
	IsGlobal    uint8       `c:"is_global"`
	PortNum     uint8       `c:"port_num"`
	Reserved    uint8       `c:"reserved"`
}

// QPDest is the address vector of MODIFY_QP and QUERY_QP (struct ib_uverbs_qp_dest). Its field
// order differs from that of AHAttr.
type QPDest struct {
	DGID         [16]byte `c:"dgid"`
	FlowLabel    uint32   `c:"flow_label"`
	DLID         uint16   `c:"dlid"`
	Reserved     uint16   `c:"reserved"`
	SGIDIndex    uint8    `c:"sgid_index"`
	HopLimit     uint8    `c:"hop_limit"`
	TrafficClass uint8    `c:"traffic_class"`
	SL           uint8    `c:"sl"`
	SrcPathBits  uint8    `c:"src_path_bits"`
	StaticRate   uint8    `c:"static_rate"`
	IsGlobal     uint8    `c:"is_global"`
	PortNum      uint8    `c:"port_num"`
}

// CreateAH is the request of CREATE_AH (struct ib_uverbs_create_ah).
type CreateAH struct {
	Response   uint64 `c:"response"`
	UserHandle uint64 `c:"user_handle"`
	PDHandle   uint32 `c:"pd_handle"`
	Reserved   uint32 `c:"reserved"`
	Attr       AHAttr `c:"attr"`
}

// CreateAHResp is the response to CREATE_AH (struct ib_uverbs_create_ah_resp).
type CreateAHResp struct {
	AHHandle uint32 `c:"ah_handle"`
}

// DestroyAH is the request of DESTROY_AH (struct ib_uverbs_destroy_ah).
type DestroyAH struct {
	AHHandle uint32 `c:"ah_handle"`
}

// AttachMcast is the request of ATTACH_MCAST (struct ib_uverbs_attach_mcast).
type AttachMcast struct {
	GID      [16]byte `c:"gid"`
	QPHandle uint32   `c:"qp_handle"`
	MLID     uint16   `c:"mlid"`
	Reserved uint16   `c:"reserved"`
}

// DetachMcast is the request of DETACH_MCAST (struct ib_uverbs_detach_mcast).
type DetachMcast struct {
	GID      [16]byte `c:"gid"`
	QPHandle uint32   `c:"qp_handle"`
	MLID     uint16   `c:"mlid"`
	Reserved uint16   `c:"reserved"`
}

var ahStructs = []Struct{
	{"ib_uverbs_global_route", headerVerbs, GlobalRoute{}},
	{"ib_uverbs_ah_attr", headerVerbs, AHAttr{}},
	{"ib_uverbs_qp_dest", headerVerbs, QPDest{}},
	{"ib_uverbs_create_ah", headerVerbs, CreateAH{}},
	{"ib_uverbs_create_ah_resp", headerVerbs, CreateAHResp{}},
	{"ib_uverbs_destroy_ah", headerVerbs, DestroyAH{}},
	{"ib_uverbs_attach_mcast", headerVerbs, AttachMcast{}},
	{"ib_uverbs_detach_mcast", headerVerbs, DetachMcast{}},
}

// QPDest returns the address vector in the form of MODIFY_QP and QUERY_QP.
func (a AHAttr) QPDest() QPDest {
	return QPDest{
		DGID: a.GRH.DGID, FlowLabel: a.GRH.FlowLabel, DLID: a.DLID,
		SGIDIndex: a.GRH.SGIDIndex, HopLimit: a.GRH.HopLimit, TrafficClass: a.GRH.TrafficClass,
		SL: a.SL, SrcPathBits: a.SrcPathBits, StaticRate: a.StaticRate,
		IsGlobal: a.IsGlobal, PortNum: a.PortNum,
	}
}

// AHAttr returns the address vector in the form of CREATE_AH.
func (d QPDest) AHAttr() AHAttr {
	return AHAttr{
		GRH: GlobalRoute{
			DGID: d.DGID, FlowLabel: d.FlowLabel,
			SGIDIndex: d.SGIDIndex, HopLimit: d.HopLimit, TrafficClass: d.TrafficClass,
		},
		DLID: d.DLID, SL: d.SL, SrcPathBits: d.SrcPathBits, StaticRate: d.StaticRate,
		IsGlobal: d.IsGlobal, PortNum: d.PortNum,
	}
}
