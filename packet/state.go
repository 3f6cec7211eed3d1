package packet

// StateWatcher is a link that tells when what it stands on goes down and comes up again. A link that is none counts as
// up while it is open. Decorators pass on what the link they wrap tells: see [WatchState].
type StateWatcher interface {
	// WatchState calls changed with the state that the link is in, and again with every change, one call at a time and
	// not after Close has returned. It returns at once.
	WatchState(changed func(up bool))
}

// WatchState is WatchState of a link that may be no [StateWatcher].
func WatchState(l Link, changed func(up bool)) {
	if w, ok := l.(StateWatcher); ok {
		w.WatchState(changed)
		return
	}
	changed(true)
}

// WatchState is that of the link below.
func (t *tap) WatchState(changed func(up bool)) { WatchState(t.Link, changed) }
