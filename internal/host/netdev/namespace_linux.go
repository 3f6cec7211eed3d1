package netdev

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
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

// Go calls f in a goroutine of its own that is locked to a thread in the namespace, or that could not be brought there,
// as err says: from another namespace that takes CAP_SYS_ADMIN. The thread ends with the goroutine. So it is not the
// main thread, which does not end, and whose namespace is the one that the host sees of the process (/proc/PID/net).
func (n *Namespace) Go(f func(err error)) { n.start(f, make(chan struct{})) }

func (n *Namespace) start(f func(err error), locked chan struct{}) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			other := make(chan struct{})
			n.start(f, other)
			<-other // it has another thread, as this one is locked
			runtime.UnlockOSThread()
			close(locked)
			return
		}
		close(locked)
		f(n.enter())
	}()
}

// enter brings the thread of the calling goroutine into the namespace.
func (n *Namespace) enter() error {
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
