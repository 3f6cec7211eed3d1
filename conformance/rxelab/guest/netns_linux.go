package guest

import (
	"fmt"
	"net"
	"runtime"

	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
	"golang.org/x/sys/unix"
)

// inNetns calls f in the named network namespace, on a thread that ends with its goroutine.
func inNetns(name string, f func() error) error {
	if name == "" {
		return f()
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the runtime ends the thread
		result <- func() error {
			fd, err := unix.Open("/run/netns/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return fmt.Errorf("network namespace %s: %w", name, err)
			}
			defer unix.Close(fd)
			if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("enter network namespace %s: %w", name, err)
			}
			return f()
		}()
	}()
	return <-result
}

func (a *agent) datagram(stream uint32, d wire.Datagram) {
	err := inNetns(d.Netns, func() error {
		c, err := net.Dial("udp", d.To)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write(d.Data)
		return err
	})
	if err != nil {
		a.exit(stream, wire.Result{Code: -1, Err: err.Error()})
		return
	}
	a.exit(stream, wire.Result{})
}
