package uapi

// This file defines the records that a program reads from its event files.

// AsyncEventDesc is a record of an asynchronous event file (struct ib_uverbs_async_event_desc).
// Element is the user_handle of the queue or queue pair, or the port number.
type AsyncEventDesc struct {
	Element   uint64 `c:"element"`
	EventType uint32 `c:"event_type"`
	Reserved  uint32 `c:"reserved"`
}

// CompEventDesc is a record of a completion channel (struct ib_uverbs_comp_event_desc). CQHandle is
// the user_handle of the queue.
type CompEventDesc struct {
	CQHandle uint64 `c:"cq_handle"`
}

var eventStructs = []Struct{
	{"ib_uverbs_async_event_desc", headerVerbs, AsyncEventDesc{}},
	{"ib_uverbs_comp_event_desc", headerVerbs, CompEventDesc{}},
}

// EventType is the type of an asynchronous event, AsyncEventDesc.EventType (enum ib_event_type).
type EventType uint32

const (
	EventCQErr            EventType = 0
	EventQPFatal          EventType = 1
	EventQPReqErr         EventType = 2
	EventQPAccessErr      EventType = 3
	EventCommEst          EventType = 4
	EventSQDrained        EventType = 5
	EventPathMig          EventType = 6
	EventPathMigErr       EventType = 7
	EventDeviceFatal      EventType = 8
	EventPortActive       EventType = 9
	EventPortErr          EventType = 10
	EventLIDChange        EventType = 11
	EventPKeyChange       EventType = 12
	EventSMChange         EventType = 13
	EventSRQErr           EventType = 14
	EventSRQLimitReached  EventType = 15
	EventQPLastWQEReached EventType = 16
	EventClientReregister EventType = 17
	EventGIDChange        EventType = 18
)

var eventTypes = names[EventType]{headerLibibverbs, []name[EventType]{
	{"IBV_EVENT_CQ_ERR", EventCQErr},
	{"IBV_EVENT_QP_FATAL", EventQPFatal},
	{"IBV_EVENT_QP_REQ_ERR", EventQPReqErr},
	{"IBV_EVENT_QP_ACCESS_ERR", EventQPAccessErr},
	{"IBV_EVENT_COMM_EST", EventCommEst},
	{"IBV_EVENT_SQ_DRAINED", EventSQDrained},
	{"IBV_EVENT_PATH_MIG", EventPathMig},
	{"IBV_EVENT_PATH_MIG_ERR", EventPathMigErr},
	{"IBV_EVENT_DEVICE_FATAL", EventDeviceFatal},
	{"IBV_EVENT_PORT_ACTIVE", EventPortActive},
	{"IBV_EVENT_PORT_ERR", EventPortErr},
	{"IBV_EVENT_LID_CHANGE", EventLIDChange},
	{"IBV_EVENT_PKEY_CHANGE", EventPKeyChange},
	{"IBV_EVENT_SM_CHANGE", EventSMChange},
	{"IBV_EVENT_SRQ_ERR", EventSRQErr},
	{"IBV_EVENT_SRQ_LIMIT_REACHED", EventSRQLimitReached},
	{"IBV_EVENT_QP_LAST_WQE_REACHED", EventQPLastWQEReached},
	{"IBV_EVENT_CLIENT_REREGISTER", EventClientReregister},
	{"IBV_EVENT_GID_CHANGE", EventGIDChange},
}}

// String returns rdma-core's name of the value.
func (e EventType) String() string { return eventTypes.one(e) }
