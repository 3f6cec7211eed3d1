package packet

// Loopback is a link, or a decorator, that has a say in frames which a device hands over within itself instead of
// sending them to itself by the link. A link that is none has nothing against it and wants to see nothing.
type Loopback interface {
	// LoopsBack reports whether a device may do that. The answer does not change.
	LoopsBack() bool
	// SeesLoops reports whether SeeLooped wants the frames now.
	SeesLoops() bool
	// SeeLooped is called with each frame, sealed as for the link, before it is handed over. The frame is borrowed.
	SeeLooped(f *Frame)
}

// LoopsBack reports whether a device may hand frames to itself without l, which is nil while there is no link.
func LoopsBack(l Link) bool {
	b, ok := l.(Loopback)
	return l != nil && (!ok || b.LoopsBack())
}

// SeesLoops reports whether SeeLooped of l wants frames now.
func SeesLoops(l Link) bool {
	b, ok := l.(Loopback)
	return ok && b.SeesLoops()
}

// SeeLooped shows l a frame that is handed over without it.
func SeeLooped(l Link, f *Frame) {
	if b, ok := l.(Loopback); ok {
		b.SeeLooped(f)
	}
}

// LoopsBack is that of the link below.
func (t *tap) LoopsBack() bool { return LoopsBack(t.Link) }

// SeesLoops is true while the tap sees frames.
func (t *tap) SeesLoops() bool { return !t.off() || SeesLoops(t.Link) }

// SeeLooped lets the tap see a frame as an outgoing one.
func (t *tap) SeeLooped(f *Frame) {
	SeeLooped(t.Link, f)
	if t.off() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seeSent(f)
}
