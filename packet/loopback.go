package packet

// Loopback is a link, or a decorator, that can observe or forbid loopback: frames that a device
// sends to itself and delivers internally, without the link. A link that does not implement
// Loopback permits loopback and observes nothing.
type Loopback interface {
	// LoopsBack reports whether the device may deliver frames to itself internally. The result
	// never changes.
	LoopsBack() bool
	// SeesLoops reports whether SeeLooped must be called at present.
	SeesLoops() bool
	// SeeLooped is called with each frame, sealed as for the link, before its delivery. The
	// frame is borrowed.
	SeeLooped(f *Frame)
}

// LoopsBack reports whether a device with link l may deliver frames to itself internally. It
// returns false if l is nil.
func LoopsBack(l Link) bool {
	b, ok := l.(Loopback)
	return l != nil && (!ok || b.LoopsBack())
}

// SeesLoops reports whether SeeLooped must be called for l at present.
func SeesLoops(l Link) bool {
	b, ok := l.(Loopback)
	return ok && b.SeesLoops()
}

// SeeLooped reports an internally delivered frame to l.
func SeeLooped(l Link, f *Frame) {
	if b, ok := l.(Loopback); ok {
		b.SeeLooped(f)
	}
}

// LoopsBack returns LoopsBack of the wrapped link.
func (t *tap) LoopsBack() bool { return LoopsBack(t.Link) }

// SeesLoops reports whether the tap or the wrapped link observes frames.
func (t *tap) SeesLoops() bool { return !t.disabled() || SeesLoops(t.Link) }

// SeeLooped reports the frame to the wrapped link, and to the tap as an outgoing frame.
func (t *tap) SeeLooped(f *Frame) {
	SeeLooped(t.Link, f)
	if t.disabled() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.observeSent(f)
}
