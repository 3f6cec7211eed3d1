package packet

// StateWatcher is a link that tells when what it stands on goes down and comes up again. A link that is none counts as
// up while it is open. The decorators of this package pass on what the link they wrap tells.
type StateWatcher interface {
	// WatchState calls changed with the state that the link is in, and again with every change, one call at a time and
	// not after Close has returned. It returns at once.
	WatchState(changed func(up bool))
}

// watchState is WatchState of a link that may be none.
func watchState(l Link, changed func(up bool)) {
	if w, ok := l.(StateWatcher); ok {
		w.WatchState(changed)
		return
	}
	changed(true)
}

// WatchState is that of the link below.
func (t *tap) WatchState(changed func(up bool)) { watchState(t.Link, changed) }

// WatchState is that of the link below.
func (l *FaultLink) WatchState(changed func(up bool)) { watchState(l.Link, changed) }
