package uapi

// This file defines the requests and responses of rdma_cm's commands, except events.

// UCMCreateID is the request of CREATE_ID (struct rdma_ucm_create_id). PS is a PortSpace.
type UCMCreateID struct {
	UID      uint64   `c:"uid"`
	Response uint64   `c:"response"`
	PS       uint16   `c:"ps"`
	QPType   uint8    `c:"qp_type"`
	Reserved [5]uint8 `c:"reserved"`
}

// UCMCreateIDResp is the response to CREATE_ID and to both forms of JOIN_MCAST (struct
// rdma_ucm_create_id_resp).
type UCMCreateIDResp struct {
	ID uint32 `c:"id"`
}

// UCMDestroyID is the request of DESTROY_ID and LEAVE_MCAST (struct rdma_ucm_destroy_id).
type UCMDestroyID struct {
	Response uint64 `c:"response"`
	ID       uint32 `c:"id"`
	Reserved uint32 `c:"reserved"`
}

// UCMDestroyIDResp is the response to DESTROY_ID and LEAVE_MCAST: the number of events that
// GET_EVENT returned for the ID (struct rdma_ucm_destroy_id_resp).
type UCMDestroyIDResp struct {
	EventsReported uint32 `c:"events_reported"`
}

// UCMBindIP is the request of BIND_IP (struct rdma_ucm_bind_ip).
type UCMBindIP struct {
	Response uint64      `c:"response"`
	Addr     SockaddrIn6 `c:"addr"`
	ID       uint32      `c:"id"`
}

// UCMBind is the request of BIND (struct rdma_ucm_bind). AddrSize is in bytes.
type UCMBind struct {
	ID       uint32          `c:"id"`
	AddrSize uint16          `c:"addr_size"`
	Reserved uint16          `c:"reserved"`
	Addr     SockaddrStorage `c:"addr"`
}

// UCMResolveIP is the request of RESOLVE_IP (struct rdma_ucm_resolve_ip).
type UCMResolveIP struct {
	SrcAddr   SockaddrIn6 `c:"src_addr"`
	DstAddr   SockaddrIn6 `c:"dst_addr"`
	ID        uint32      `c:"id"`
	TimeoutMs uint32      `c:"timeout_ms"`
}

// UCMResolveAddr is the request of RESOLVE_ADDR (struct rdma_ucm_resolve_addr). SrcSize and DstSize
// are in bytes; SrcSize is 0 for any source.
type UCMResolveAddr struct {
	ID        uint32          `c:"id"`
	TimeoutMs uint32          `c:"timeout_ms"`
	SrcSize   uint16          `c:"src_size"`
	DstSize   uint16          `c:"dst_size"`
	Reserved  uint32          `c:"reserved"`
	SrcAddr   SockaddrStorage `c:"src_addr"`
	DstAddr   SockaddrStorage `c:"dst_addr"`
}

// UCMResolveRoute is the request of RESOLVE_ROUTE (struct rdma_ucm_resolve_route).
type UCMResolveRoute struct {
	ID        uint32 `c:"id"`
	TimeoutMs uint32 `c:"timeout_ms"`
}

// UCMQuery is the request of QUERY_ROUTE and QUERY (struct rdma_ucm_query). Option is a
// QueryOption.
type UCMQuery struct {
	Response uint64 `c:"response"`
	ID       uint32 `c:"id"`
	Option   uint32 `c:"option"`
}

// UCMQueryRouteResp is the response to QUERY_ROUTE (struct rdma_ucm_query_route_resp). NodeGUID is
// big-endian, zero before the ID is bound to a device.
type UCMQueryRouteResp struct {
	NodeGUID   [8]byte        `c:"node_guid"`
	IBRoute    [2]UserPathRec `c:"ib_route"`
	SrcAddr    SockaddrIn6    `c:"src_addr"`
	DstAddr    SockaddrIn6    `c:"dst_addr"`
	NumPaths   uint32         `c:"num_paths"`
	PortNum    uint8          `c:"port_num"`
	Reserved   [3]uint8       `c:"reserved"`
	IBDevIndex uint32         `c:"ibdev_index"`
	Reserved1  uint32         `c:"reserved1"`
}

// UCMQueryAddrResp is the response to QUERY with QueryAddr and QueryGID (struct
// rdma_ucm_query_addr_resp). NodeGUID is big-endian.
type UCMQueryAddrResp struct {
	NodeGUID   [8]byte         `c:"node_guid"`
	PortNum    uint8           `c:"port_num"`
	Reserved   uint8           `c:"reserved"`
	PKey       uint16          `c:"pkey"`
	SrcSize    uint16          `c:"src_size"`
	DstSize    uint16          `c:"dst_size"`
	SrcAddr    SockaddrStorage `c:"src_addr"`
	DstAddr    SockaddrStorage `c:"dst_addr"`
	IBDevIndex uint32          `c:"ibdev_index"`
	Reserved1  uint32          `c:"reserved1"`
}

// UCMQueryPathResp is the response to QUERY with QueryPath (struct rdma_ucm_query_path_resp).
// NumPaths elements of PathRecData follow.
type UCMQueryPathResp struct {
	NumPaths uint32 `c:"num_paths"`
	Reserved uint32 `c:"reserved"`
}

// UserPathRec is a path record of QUERY_ROUTE (struct ib_user_path_rec).
type UserPathRec struct {
	DGID                   [16]byte `c:"dgid"`
	SGID                   [16]byte `c:"sgid"`
	DLID                   [2]byte  `c:"dlid"`
	SLID                   [2]byte  `c:"slid"`
	RawTraffic             uint32   `c:"raw_traffic"`
	FlowLabel              [4]byte  `c:"flow_label"`
	Reversible             uint32   `c:"reversible"`
	MTU                    uint32   `c:"mtu"`
	PKey                   [2]byte  `c:"pkey"`
	HopLimit               uint8    `c:"hop_limit"`
	TrafficClass           uint8    `c:"traffic_class"`
	NumbPath               uint8    `c:"numb_path"`
	SL                     uint8    `c:"sl"`
	MTUSelector            uint8    `c:"mtu_selector"`
	RateSelector           uint8    `c:"rate_selector"`
	Rate                   uint8    `c:"rate"`
	PacketLifeTimeSelector uint8    `c:"packet_life_time_selector"`
	PacketLifeTime         uint8    `c:"packet_life_time"`
	Preference             uint8    `c:"preference"`
}

// PathRecData is a path record of QUERY with QueryPath: a PathRecord attribute of 64 bytes as on
// the wire (struct ib_path_rec_data).
type PathRecData struct {
	Flags    uint32   `c:"flags"`
	Reserved uint32   `c:"reserved"`
	PathRec  [64]byte `c:"path_rec"`
}

// UCMListen is the request of LISTEN (struct rdma_ucm_listen).
type UCMListen struct {
	ID      uint32 `c:"id"`
	Backlog uint32 `c:"backlog"`
}

// UCMConnect is the request of CONNECT (struct rdma_ucm_connect).
type UCMConnect struct {
	ConnParam UCMConnParam `c:"conn_param"`
	ID        uint32       `c:"id"`
	Reserved  uint32       `c:"reserved"`
	ECE       UCMECE       `c:"ece"`
}

// UCMAccept is the request of ACCEPT (struct rdma_ucm_accept).
type UCMAccept struct {
	UID       uint64       `c:"uid"`
	ConnParam UCMConnParam `c:"conn_param"`
	ID        uint32       `c:"id"`
	Reserved  uint32       `c:"reserved"`
	ECE       UCMECE       `c:"ece"`
}

// UCMReject is the request of REJECT (struct rdma_ucm_reject).
type UCMReject struct {
	ID             uint32               `c:"id"`
	PrivateDataLen uint8                `c:"private_data_len"`
	Reason         uint8                `c:"reason"`
	Reserved       [2]uint8             `c:"reserved"`
	PrivateData    [MaxPrivateData]byte `c:"private_data"`
}

// UCMDisconnect is the request of DISCONNECT (struct rdma_ucm_disconnect).
type UCMDisconnect struct {
	ID uint32 `c:"id"`
}

// UCMInitQPAttr is the request of INIT_QP_ATTR (struct rdma_ucm_init_qp_attr). The response is a
// QPAttr.
type UCMInitQPAttr struct {
	Response uint64 `c:"response"`
	ID       uint32 `c:"id"`
	QPState  uint32 `c:"qp_state"`
}

// UCMNotify is the request of NOTIFY (struct rdma_ucm_notify). Event is an EventType.
type UCMNotify struct {
	ID    uint32 `c:"id"`
	Event uint32 `c:"event"`
}

// UCMJoinIPMcast is the request of JOIN_IP_MCAST (struct rdma_ucm_join_ip_mcast).
type UCMJoinIPMcast struct {
	Response uint64      `c:"response"`
	UID      uint64      `c:"uid"`
	Addr     SockaddrIn6 `c:"addr"`
	ID       uint32      `c:"id"`
}

// UCMJoinMcast is the request of JOIN_MCAST (struct rdma_ucm_join_mcast). AddrSize is in bytes.
type UCMJoinMcast struct {
	Response  uint64          `c:"response"`
	UID       uint64          `c:"uid"`
	ID        uint32          `c:"id"`
	AddrSize  uint16          `c:"addr_size"`
	JoinFlags uint16          `c:"join_flags"`
	Addr      SockaddrStorage `c:"addr"`
}

// UCMSetOption is the request of SET_OPTION (struct rdma_ucm_set_option). OptVal is the address of
// OptLen bytes.
type UCMSetOption struct {
	OptVal  uint64 `c:"optval"`
	ID      uint32 `c:"id"`
	Level   uint32 `c:"level"`
	OptName uint32 `c:"optname"`
	OptLen  uint32 `c:"optlen"`
}

// UCMMigrateID is the request of MIGRATE_ID (struct rdma_ucm_migrate_id). FD is the event channel
// that the ID leaves.
type UCMMigrateID struct {
	Response uint64 `c:"response"`
	ID       uint32 `c:"id"`
	FD       uint32 `c:"fd"`
}

// UCMMigrateResp is the response to MIGRATE_ID: the number of events that the old channel
// returned for the ID (struct rdma_ucm_migrate_resp).
type UCMMigrateResp struct {
	EventsReported uint32 `c:"events_reported"`
}

var ucmStructs = []Struct{
	{"rdma_ucm_create_id", headerCM, UCMCreateID{}},
	{"rdma_ucm_create_id_resp", headerCM, UCMCreateIDResp{}},
	{"rdma_ucm_destroy_id", headerCM, UCMDestroyID{}},
	{"rdma_ucm_destroy_id_resp", headerCM, UCMDestroyIDResp{}},
	{"rdma_ucm_bind_ip", headerCM, UCMBindIP{}},
	{"rdma_ucm_bind", headerCM, UCMBind{}},
	{"rdma_ucm_resolve_ip", headerCM, UCMResolveIP{}},
	{"rdma_ucm_resolve_addr", headerCM, UCMResolveAddr{}},
	{"rdma_ucm_resolve_route", headerCM, UCMResolveRoute{}},
	{"rdma_ucm_query", headerCM, UCMQuery{}},
	{"rdma_ucm_query_route_resp", headerCM, UCMQueryRouteResp{}},
	{"rdma_ucm_query_addr_resp", headerCM, UCMQueryAddrResp{}},
	{"rdma_ucm_query_path_resp", headerCM, UCMQueryPathResp{}},
	{"ib_user_path_rec", headerSA, UserPathRec{}},
	{"ib_path_rec_data", headerSA, PathRecData{}},
	{"rdma_ucm_listen", headerCM, UCMListen{}},
	{"rdma_ucm_connect", headerCM, UCMConnect{}},
	{"rdma_ucm_accept", headerCM, UCMAccept{}},
	{"rdma_ucm_reject", headerCM, UCMReject{}},
	{"rdma_ucm_disconnect", headerCM, UCMDisconnect{}},
	{"rdma_ucm_init_qp_attr", headerCM, UCMInitQPAttr{}},
	{"rdma_ucm_notify", headerCM, UCMNotify{}},
	{"rdma_ucm_join_ip_mcast", headerCM, UCMJoinIPMcast{}},
	{"rdma_ucm_join_mcast", headerCM, UCMJoinMcast{}},
	{"rdma_ucm_set_option", headerCM, UCMSetOption{}},
	{"rdma_ucm_migrate_id", headerCM, UCMMigrateID{}},
	{"rdma_ucm_migrate_resp", headerCM, UCMMigrateResp{}},
}
