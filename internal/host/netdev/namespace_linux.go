package netdev

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Namespace is a network namespace that another goroutine can enter.
type Namespace struct{ ns netns.NsHandle }

// Here returns the namespace of the calling thread.
func Here() (*Namespace, error) {
	ns, err := netns.Get()
	if err != nil {
		return nil, fmt.Errorf("finding the network namespace: %w", err)
	}
	return &Namespace{ns}, nil
}

// Go calls f in a new goroutine that is locked to a thread in the namespace. If the thread cannot
// enter the namespace, Go passes the error to f; entering from another namespace requires
// CAP_SYS_ADMIN. The thread ends with the goroutine. Go therefore never uses the main thread, which
// does not end, and whose namespace appears as that of the process (/proc/PID/net).
func (n *Namespace) Go(f func(err error)) { n.start(f, make(chan struct{})) }

func (n *Namespace) start(f func(err error), locked chan struct{}) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			other := make(chan struct{})
			n.start(f, other)
			<-other // the new goroutine gets another thread, because this one is locked
			runtime.UnlockOSThread()
			close(locked)
			return
		}
		close(locked)
		f(n.enter())
	}()
}

// enter moves the calling thread into the namespace.
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

// Close releases the namespace.
func (n *Namespace) Close() { n.ns.Close() }
