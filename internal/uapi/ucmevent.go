package uapi

// This file defines connection parameters and the events that GET_EVENT returns.

// MaxPrivateData is the maximum length of private data in bytes.
const MaxPrivateData = 256

// UCMConnParam holds the parameters of a connection (struct rdma_ucm_conn_param). The first
// PrivateDataLen bytes of PrivateData are valid.
type UCMConnParam struct {
	QPNum              uint32               `c:"qp_num"`
	QKey               uint32               `c:"qkey"`
	PrivateData        [MaxPrivateData]byte `c:"private_data"`
	PrivateDataLen     uint8                `c:"private_data_len"`
	SRQ                uint8                `c:"srq"`
	ResponderResources uint8                `c:"responder_resources"`
	InitiatorDepth     uint8                `c:"initiator_depth"`
	FlowControl        uint8                `c:"flow_control"`
	RetryCount         uint8                `c:"retry_count"`
	RNRRetryCount      uint8                `c:"rnr_retry_count"`
	Valid              uint8                `c:"valid"`
}

// UCMUDParam holds the parameters of a datagram ID or a multicast group (struct
// rdma_ucm_ud_param).
type UCMUDParam struct {
	QPNum          uint32               `c:"qp_num"`
	QKey           uint32               `c:"qkey"`
	AHAttr         AHAttr               `c:"ah_attr"`
	PrivateData    [MaxPrivateData]byte `c:"private_data"`
	PrivateDataLen uint8                `c:"private_data_len"`
	Reserved       [7]uint8             `c:"reserved"`
}

// UCMECE holds the enhanced connection establishment options (struct rdma_ucm_ece).
type UCMECE struct {
	VendorID uint32 `c:"vendor_id"`
	AttrMod  uint32 `c:"attr_mod"`
}

// UCMGetEvent is the request of GET_EVENT (struct rdma_ucm_get_event).
type UCMGetEvent struct {
	Response uint64 `c:"response"`
}

// UCMEventResp is the response to GET_EVENT (struct rdma_ucm_event_resp). Param is a UCMConnParam
// or a UCMUDParam: see Conn, UD, SetConn and SetUD.
type UCMEventResp struct {
	UID      uint64             `c:"uid"`
	ID       uint32             `c:"id"`
	Event    uint32             `c:"event"`
	Status   uint32             `c:"status"`
	Param    [ucmParamSize]byte `c:"param"`
	Reserved uint32             `c:"reserved"`
	ECE      UCMECE             `c:"ece"`
}

var ucmEventStructs = []Struct{
	{"rdma_ucm_conn_param", headerCM, UCMConnParam{}},
	{"rdma_ucm_ud_param", headerCM, UCMUDParam{}},
	{"rdma_ucm_ece", headerCM, UCMECE{}},
	{"rdma_ucm_get_event", headerCM, UCMGetEvent{}},
	{"rdma_ucm_event_resp", headerCM, UCMEventResp{}},
}

// ucmParamSize is the size of a UCMUDParam, the larger member of the union.
const ucmParamSize = 304

// Conn returns Param as the parameters of a connection.
func (r *UCMEventResp) Conn() UCMConnParam {
	var p UCMConnParam
	decodeInto(r.Param[:], &p)
	return p
}

// UD returns Param as the parameters of a datagram ID.
func (r *UCMEventResp) UD() UCMUDParam {
	var p UCMUDParam
	decodeInto(r.Param[:], &p)
	return p
}

// SetConn stores the parameters of a connection in Param.
func (r *UCMEventResp) SetConn(p UCMConnParam) {
	clear(r.Param[copy(r.Param[:], Encode(&p)):])
}

// SetUD stores the parameters of a datagram ID in Param.
func (r *UCMEventResp) SetUD(p UCMUDParam) {
	clear(r.Param[copy(r.Param[:], Encode(&p)):])
}

// UCMEvent is the type of an event, UCMEventResp.Event (enum rdma_cm_event_type).
type UCMEvent uint32

const (
	UCMEventAddrResolved    UCMEvent = 0
	UCMEventAddrError       UCMEvent = 1
	UCMEventRouteResolved   UCMEvent = 2
	UCMEventRouteError      UCMEvent = 3
	UCMEventConnectRequest  UCMEvent = 4
	UCMEventConnectResponse UCMEvent = 5
	UCMEventConnectError    UCMEvent = 6
	UCMEventUnreachable     UCMEvent = 7
	UCMEventRejected        UCMEvent = 8
	UCMEventEstablished     UCMEvent = 9
	UCMEventDisconnected    UCMEvent = 10
	UCMEventDeviceRemoval   UCMEvent = 11
	UCMEventMulticastJoin   UCMEvent = 12
	UCMEventMulticastError  UCMEvent = 13
	UCMEventAddrChange      UCMEvent = 14
	UCMEventTimewaitExit    UCMEvent = 15
)

var ucmEvents = names[UCMEvent]{headerLibrdmacm, []name[UCMEvent]{
	{"RDMA_CM_EVENT_ADDR_RESOLVED", UCMEventAddrResolved},
	{"RDMA_CM_EVENT_ADDR_ERROR", UCMEventAddrError},
	{"RDMA_CM_EVENT_ROUTE_RESOLVED", UCMEventRouteResolved},
	{"RDMA_CM_EVENT_ROUTE_ERROR", UCMEventRouteError},
	{"RDMA_CM_EVENT_CONNECT_REQUEST", UCMEventConnectRequest},
	{"RDMA_CM_EVENT_CONNECT_RESPONSE", UCMEventConnectResponse},
	{"RDMA_CM_EVENT_CONNECT_ERROR", UCMEventConnectError},
	{"RDMA_CM_EVENT_UNREACHABLE", UCMEventUnreachable},
	{"RDMA_CM_EVENT_REJECTED", UCMEventRejected},
	{"RDMA_CM_EVENT_ESTABLISHED", UCMEventEstablished},
	{"RDMA_CM_EVENT_DISCONNECTED", UCMEventDisconnected},
	{"RDMA_CM_EVENT_DEVICE_REMOVAL", UCMEventDeviceRemoval},
	{"RDMA_CM_EVENT_MULTICAST_JOIN", UCMEventMulticastJoin},
	{"RDMA_CM_EVENT_MULTICAST_ERROR", UCMEventMulticastError},
	{"RDMA_CM_EVENT_ADDR_CHANGE", UCMEventAddrChange},
	{"RDMA_CM_EVENT_TIMEWAIT_EXIT", UCMEventTimewaitExit},
}}

// String returns rdma-core's name of the value.
func (u UCMEvent) String() string { return ucmEvents.one(u) }
