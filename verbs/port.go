package verbs

import (
	"sync"

	"github.com/gorxe/gorxe/packet"
)

// watchPort lets the port follow the network interface of a device that was opened by its
// name or address, or the links that tell their state. A port is active as long as one of
// its links is up.
func (d *Device) watchPort(links []packet.Link) {
	if name := d.NetDev(); name != "" {
		d.watching = watchInterface(name, d.engine.PortChanged)
		return
	}
	var mu sync.Mutex
	up := make([]bool, len(links))
	for i := range up {
		up[i] = true
	}
	for i, l := range links {
		w, ok := l.(packet.StateWatcher)
		if !ok {
			continue
		}
		w.WatchState(func(now bool) {
			mu.Lock()
			defer mu.Unlock()
			up[i] = now
			any := false
			for _, u := range up {
				any = any || u
			}
			d.engine.PortChanged(any)
		})
	}
}
