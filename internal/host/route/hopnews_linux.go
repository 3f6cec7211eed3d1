package route

import (
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// maxFailures is how often in a row receiving may fail before it is given up.
const maxFailures = 100

// listen hands on what the kernel tells, until the subscription is closed.
func (t *Hops) listen() {
	for failures := 0; failures < maxFailures; {
		messages, err := t.changes.receive()
		select {
		case <-t.stop:
			return
		default:
		}
		if err != nil {
			// Messages were lost (ENOBUFS), or one cannot be read.
			failures++
			t.lookAgain()
			continue
		}
		failures = 0
		for i := range messages {
			if !t.tell(&messages[i]) {
				return
			}
		}
	}
}

// tell hands one message on, and reports whether anybody listens.
func (t *Hops) tell(m *syscall.NetlinkMessage) bool {
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

// lookAgain asks for a look at everything; one that was asked for and not begun will do.
func (t *Hops) lookAgain() {
	select {
	case t.again <- struct{}{}:
	default:
	}
}

// newsOf reads a message about a neighbour.
func newsOf(m *syscall.NetlinkMessage) (n neighbour, ok bool) {
	if len(m.Data) < unix.SizeofNdMsg || m.Data[0] != unix.AF_INET && m.Data[0] != unix.AF_INET6 {
		return n, false // such as what a bridge tells of its ports
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
