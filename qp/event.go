package qp

import "fmt"

// EventType is the kind of an asynchronous event: what happened to a device, a port, a
// queue pair, a CQ or an SRQ that no completion tells of (IBA 11.6.3). Values are those of
// ibv_event_type.
type EventType uint8

const (
	EventCQErr            EventType = 0  // the CQ overflowed
	EventQPFatal          EventType = 1  // the queue pair failed for a reason on this side
	EventQPReqErr         EventType = 2  // the peer's request was not valid
	EventQPAccessErr      EventType = 3  // the peer's request reached for memory it may not
	EventCommEst          EventType = 4  // the first request arrived in RTR
	EventSQDrained        EventType = 5  // in SQD, the last started request is complete
	EventPathMig          EventType = 6  // RoCE has no path migration
	EventPathMigErr       EventType = 7  // likewise
	EventDeviceFatal      EventType = 8  // the device cannot receive any more
	EventPortActive       EventType = 9  // the network interface came up, or the first address came
	EventPortErr          EventType = 10 // the network interface went down, or the last address went
	EventLIDChange        EventType = 11 // RoCE has no LIDs
	EventPKeyChange       EventType = 12
	EventSMChange         EventType = 13
	EventSRQErr           EventType = 14
	EventSRQLimitReached  EventType = 15 // fewer receives are left than the limit
	EventQPLastWQEReached EventType = 16 // in ERR, the queue pair takes no more from its SRQ
	EventClientReregister EventType = 17
	EventGIDChange        EventType = 18 // an address came or went, or has another MTU

	NumEventTypes = 19
)

// The texts are those of ibv_event_type_str.
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

// String is the text of ibv_event_type_str, such as "last WQE reached".
func (e EventType) String() string {
	if e < NumEventTypes {
		return eventTypes[e].text
	}
	return "unknown"
}

// Name is the name as in IBV_EVENT_*, such as "QP_LAST_WQE_REACHED".
func (e EventType) Name() string {
	if e < NumEventTypes {
		return eventTypes[e].name
	}
	return fmt.Sprintf("EVENT(%d)", uint8(e))
}

// EventSink takes the asynchronous events of one object. It must not call back into what
// raised the event.
type EventSink interface {
	Event(e EventType)
}
