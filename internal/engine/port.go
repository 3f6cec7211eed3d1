package engine

import (
	"errors"
	"net"

	"github.com/gorxe/gorxe/qp"
)

// port is the number of a device's only port.
const port = 1

// PortChanged takes note of the state of the port and raises PORT_ACTIVE or PORT_ERR if it
// is another than before. A device opens with its port active.
func (d *Device) PortChanged(up bool) {
	if d.portDown.Swap(!up) == !up {
		return
	}
	typ := qp.EventPortErr
	if up {
		typ = qp.EventPortActive
	}
	d.events.raise(AsyncEvent{Type: typ, Port: port})
}

// PortActive is true while the port can send and receive.
func (d *Device) PortActive() bool { return !d.portDown.Load() }

// fatalFailures is how often in a row receiving must fail before it counts as over: with
// the pauses in between that is about a second.
const fatalFailures = 10

// failed takes note of an error of Link.Recv, the failures-th in a row, and says whether to
// go on. What fails for good raises DEVICE_FATAL: a link that somebody else closed, and one
// that fails again and again, which is tried on all the same.
func (d *Device) failed(failures int, err error) bool {
	over := errors.Is(err, net.ErrClosed)
	if over && d.ending.Load() {
		return false
	}
	if over || failures == fatalFailures {
		d.log.Error("receiving failed for good", "device", d.name, "error", err)
		d.events.raise(AsyncEvent{Type: qp.EventDeviceFatal})
	}
	return !over && d.pause(failures, err)
}
