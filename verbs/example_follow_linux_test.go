package verbs_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/gorxe/gorxe/verbs"
)

// A long-running program follows the host: the device below has the current addresses of its
// interface, and this loop reports changes until the device is closed. The interface of the
// example does not exist; the device waits for it, with its port down.
func ExampleConfig_follow() {
	dev, err := verbs.Open(verbs.Config{Device: "rdma-net0", Follow: true})
	if err != nil {
		fmt.Println(err) // the host is not Linux
		return
	}
	fmt.Println(dev.PortAttr().State, len(dev.GIDs()))

	var told sync.WaitGroup
	told.Go(func() {
		known := map[int]netip.Addr{}
		for {
			e, err := dev.Event(context.Background())
			if errors.Is(err, verbs.ErrClosed) {
				fmt.Println("closed")
				return
			}
			if e.Type != verbs.EventGIDChange {
				fmt.Println(e) // such as "port 1: port active"
				continue
			}
			// The event reports that the table has changed; GIDs returns its contents.
			clear(known)
			for _, g := range dev.GIDs() {
				known[g.Index] = g.Addr
			}
			fmt.Println(known)
		}
	})
	if err := dev.Close(); err != nil {
		fmt.Println(err)
	}
	told.Wait()
	// Output:
	// PORT_DOWN 0
	// closed
}
