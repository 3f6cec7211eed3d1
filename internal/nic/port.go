package nic

import (
	"errors"
	"net"
	"sync"

	"github.com/gorxe/gorxe/qp"
)

// port is the number of a device's only port.
const port = 1

// portState is what the port's state comes from: it is active while the network interface is
// up and the device has a link. It is guarded by its lock, but links while the device opens.
type portState struct {
	mu    sync.Mutex
	down  bool // the network interface
	links int
}

func (p *portState) active() bool { return !p.down && p.links > 0 }

// PortChanged takes note of the state of the network interface and raises PORT_ACTIVE or
// PORT_ERR if the state of the port changes with it. A device opens with its interface up.
func (d *Device) PortChanged(up bool) {
	d.port.change(d, func(p *portState) { p.down = !up })
}

// linksChanged takes note of n more links.
func (p *portState) linksChanged(d *Device, n int) {
	p.change(d, func(p *portState) { p.links += n })
}

func (p *portState) change(d *Device, change func(*portState)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.active()
	change(p)
	switch is := p.active(); {
	case is && !was:
		d.events.raise(AsyncEvent{Type: qp.EventPortActive, Port: port})
	case was && !is:
		d.events.raise(AsyncEvent{Type: qp.EventPortErr, Port: port})
	}
}

// PortActive is true while the port can send and receive.
func (d *Device) PortActive() bool {
	d.port.mu.Lock()
	defer d.port.mu.Unlock()
	return d.port.active()
}

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
	if !over {
		d.log.Warn("receiving failed", "device", d.name, "error", err, "failures", failures)
	}
	return !over
}
