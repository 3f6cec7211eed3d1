package netdev

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"
)

// Namespace is a network namespace that another goroutine can enter.
type Namespace struct{ ns netns.NsHandle }

// Here is the namespace of the calling thread.
func Here() (*Namespace, error) {
	ns, err := netns.Get()
	if err != nil {
		return nil, fmt.Errorf("finding the network namespace: %w", err)
	}
	return &Namespace{ns}, nil
}

// Enter locks the calling goroutine to its thread, and brings that thread into the namespace
// if it is in another, which takes CAP_SYS_ADMIN. The thread ends with the goroutine.
func (n *Namespace) Enter() error {
	runtime.LockOSThread()
	at, err := netns.Get()
	if err != nil {
		return fmt.Errorf("finding the network namespace: %w", err)
	}
	defer at.Close()
	if at.Equal(n.ns) {
		return nil
	}
	if err := netns.Set(n.ns); err != nil {
		return fmt.Errorf("entering the network namespace in which the device was opened: %w", err)
	}
	return nil
}

// Close lets go of the namespace.
func (n *Namespace) Close() { n.ns.Close() }
