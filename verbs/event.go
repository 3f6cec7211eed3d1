package verbs

import (
	"context"
	"fmt"

	"github.com/gorxe/gorxe/internal/nic"
)

// AsyncEvent is an event that no completion reports, as ibv_async_event.
type AsyncEvent struct {
	Type EventType
	// Object of the event. For an event of the device, all are nil and Port is 0.
	QP   *QP
	CQ   *CQ
	SRQ  *SRQ
	Port int // 1 for an event of the port
}

// String returns the event and its object in the words of ibv_event_type_str, such as "QP
// 0x000011: last WQE reached".
func (e AsyncEvent) String() string {
	switch {
	case e.QP != nil:
		return fmt.Sprintf("QP %#06x: %v", uint32(e.QP.QPN()), e.Type)
	case e.Port != 0:
		return fmt.Sprintf("port %d: %v", e.Port, e.Type)
	}
	return e.Type.String()
}

// Event waits for the next asynchronous event of the device, as ibv_get_async_event. If ctx ends
// first, it returns the cause of ctx; if the device is closed, [ErrClosed]. Several goroutines may
// wait; each event goes to one of them. An [EventReader] gets all events independently of them.
// Events need no acknowledgement.
//
// Events need not be read. Unread events of one type about the same object are merged into one,
// which has the position of the latest; closing an object removes its events. The memory of unread
// events is therefore bounded by that of the objects.
func (d *Device) Event(ctx context.Context) (AsyncEvent, error) {
	if err := checkContext(ctx); err != nil {
		return AsyncEvent{}, fmt.Errorf("wait for an event: %w", err)
	}
	e, err := d.nic.Event(ctx)
	return eventOf(e, err)
}

// EventReader reads all asynchronous events of a device, independently of other readers. All
// methods are safe for concurrent use.
type EventReader struct{ reader *nic.EventReader }

// NewEventReader returns a reader of the events from now on. Closing the reader or the device
// ends it.
func (d *Device) NewEventReader() *EventReader { return &EventReader{d.nic.NewEventReader()} }

// Event waits for the next event, as [Device.Event]. Once the reader is closed it returns
// [ErrClosed].
func (r *EventReader) Event(ctx context.Context) (AsyncEvent, error) {
	if err := checkContext(ctx); err != nil {
		return AsyncEvent{}, fmt.Errorf("wait for an event: %w", err)
	}
	e, err := r.reader.Event(ctx)
	return eventOf(e, err)
}

// Close closes the reader. Closing it again has no effect.
func (r *EventReader) Close() { r.reader.Close() }

// eventOf converts e, or returns err if it is not nil.
func eventOf(e nic.AsyncEvent, err error) (AsyncEvent, error) {
	if err != nil {
		return AsyncEvent{}, err
	}
	out := AsyncEvent{Type: e.Type, Port: e.Port}
	if e.QP != nil {
		out.QP, _ = e.QP.Owner.(*QP)
	}
	if e.CQ != nil {
		out.CQ, _ = e.CQ.Owner.(*CQ)
	}
	if e.SRQ != nil {
		out.SRQ, _ = e.SRQ.Owner.(*SRQ)
	}
	return out, nil
}
