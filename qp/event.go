package qp

import "fmt"

// EventType is the type of an asynchronous event: a change of a device, port, queue pair, CQ or
// SRQ that no completion reports (IBA 11.6.3). The values are those of ibv_event_type.
type EventType uint8

const (
	EventCQErr            EventType = 0  // the CQ overflowed
	EventQPFatal          EventType = 1  // the queue pair failed because of a local error
	EventQPReqErr         EventType = 2  // the peer sent an invalid request
	EventQPAccessErr      EventType = 3  // a request of the peer violated access rights
	EventCommEst          EventType = 4  // first request received in RTR
	EventSQDrained        EventType = 5  // in SQD, the last started request is complete
	EventPathMig          EventType = 6  // RoCE has no path migration
	EventPathMigErr       EventType = 7  // RoCE has no path migration
	EventDeviceFatal      EventType = 8  // the device can no longer receive
	EventPortActive       EventType = 9  // the network interface came up or got its first address
	EventPortErr          EventType = 10 // the network interface went down or lost its last address
	EventLIDChange        EventType = 11 // RoCE has no LIDs
	EventPKeyChange       EventType = 12
	EventSMChange         EventType = 13
	EventSRQErr           EventType = 14
	EventSRQLimitReached  EventType = 15 // the SRQ holds fewer receives than its limit
	EventQPLastWQEReached EventType = 16 // in ERR, the queue pair takes no more receives from its SRQ
	EventClientReregister EventType = 17
	EventGIDChange        EventType = 18 // an address was added or removed, or its MTU changed

	NumEventTypes = 19
)

// eventTypes has the texts of ibv_event_type_str.
var eventTypes = [NumEventTypes]struct{ name, text string }{
	EventCQErr:            {"CQ_ERR", "CQ error"},
	EventQPFatal:          {"QP_FATAL", "local work queue catastrophic error"},
	EventQPReqErr:         {"QP_REQ_ERR", "invalid request local work queue error"},
	EventQPAccessErr:      {"QP_ACCESS_ERR", "local access violation work queue error"},
	EventCommEst:          {"COMM_EST", "communication established"},
	EventSQDrained:        {"SQ_DRAINED", "send queue drained"},
	EventPathMig:          {"PATH_MIG", "path migrated"},
	EventPathMigErr:       {"PATH_MIG_ERR", "path migration request error"},
	EventDeviceFatal:      {"DEVICE_FATAL", "local catastrophic error"},
	EventPortActive:       {"PORT_ACTIVE", "port active"},
	EventPortErr:          {"PORT_ERR", "port error"},
	EventLIDChange:        {"LID_CHANGE", "LID change"},
	EventPKeyChange:       {"PKEY_CHANGE", "P_Key change"},
	EventSMChange:         {"SM_CHANGE", "SM change"},
	EventSRQErr:           {"SRQ_ERR", "SRQ catastrophic error"},
	EventSRQLimitReached:  {"SRQ_LIMIT_REACHED", "SRQ limit reached"},
	EventQPLastWQEReached: {"QP_LAST_WQE_REACHED", "last WQE reached"},
	EventClientReregister: {"CLIENT_REREGISTER", "client reregistration"},
	EventGIDChange:        {"GID_CHANGE", "GID table change"},
}

// String returns the text of ibv_event_type_str, such as "last WQE reached".
func (e EventType) String() string {
	if e < NumEventTypes {
		return eventTypes[e].text
	}
	return "unknown"
}

// Name returns the name without IBV_EVENT_, such as "QP_LAST_WQE_REACHED".
func (e EventType) Name() string {
	if e < NumEventTypes {
		return eventTypes[e].name
	}
	return fmt.Sprintf("EVENT(%d)", uint8(e))
}

// EventSink receives the asynchronous events of one object. Event must not call the object that
// raised the event.
type EventSink interface {
	Event(e EventType)
}
