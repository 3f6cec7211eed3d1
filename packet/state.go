package packet

// StateWatcher is a link that reports when the network device it uses goes down or up. Any
// other link counts as up while it is open. Decorators forward the call: see [WatchState].
type StateWatcher interface {
	// WatchState calls changed with the current state of the link and again with every change,
	// one call at a time and not after Close has returned. WatchState itself does not block.
	WatchState(changed func(up bool))
}

// WatchState calls WatchState of l. If l is not a [StateWatcher], it calls changed(true) once.
func WatchState(l Link, changed func(up bool)) {
	if w, ok := l.(StateWatcher); ok {
		w.WatchState(changed)
		return
	}
	changed(true)
}

// WatchState calls WatchState of the wrapped link.
func (t *tap) WatchState(changed func(up bool)) { WatchState(t.Link, changed) }
