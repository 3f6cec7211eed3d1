package route

import (
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// maxFailures is the number of consecutive receive errors after which listen stops.
const maxFailures = 100

// listen forwards messages of the kernel to run, until the subscription is closed.
func (t *Hops) listen() {
	for failures := 0; failures < maxFailures; {
		messages, err := t.changes.receive()
		select {
		case <-t.stop:
			return
		default:
		}
		if err != nil {
			// Messages were lost (ENOBUFS), or one could not be parsed.
			failures++
			t.lookAgain()
			continue
		}
		failures = 0
		for i := range messages {
			if !t.forward(&messages[i]) {
				return
			}
		}
	}
}

// forward passes one message to run and reports whether run still receives.
func (t *Hops) forward(m *syscall.NetlinkMessage) bool {
	if typ := m.Header.Type; typ != unix.RTM_NEWNEIGH && typ != unix.RTM_DELNEIGH {
		t.lookAgain()
		return true
	}
	n, ok := newsOf(m)
	if !ok {
		return true
	}
	select {
	case t.news <- n:
		return true
	case <-t.stop:
		return false
	}
}

// lookAgain requests a query of all destinations, unless one is already requested.
func (t *Hops) lookAgain() {
	select {
	case t.requery <- struct{}{}:
	default:
	}
}

// newsOf parses a message about a neighbour. ok is false if the message is about something else or
// not valid.
func newsOf(m *syscall.NetlinkMessage) (n neighbour, ok bool) {
	if len(m.Data) < unix.SizeofNdMsg || m.Data[0] != unix.AF_INET && m.Data[0] != unix.AF_INET6 {
		return n, false // for example a bridge's message about its ports
	}
	e, err := netlink.NeighDeserialize(m.Data)
	if err != nil {
		return n, false
	}
	n.index = e.LinkIndex
	if n.addr, ok = netip.AddrFromSlice(e.IP); !ok {
		return n, false
	}
	n.addr = n.addr.Unmap()
	if m.Header.Type == unix.RTM_NEWNEIGH {
		n.setEntry(e)
	}
	return n, true
}
