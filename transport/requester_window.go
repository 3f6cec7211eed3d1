package transport

// room returns how many more PSNs may be outstanding.
func (r *requester) room() uint32 {
	used := distance(r.una, r.send)
	if used >= r.window {
		return 0
	}
	return r.window - used
}

// fits reports whether the request for a READ chunk of n PSNs may leave. A chunk cannot be
// made smaller, so one is always allowed where nothing is outstanding.
func (r *requester) fits(n uint32) bool { return n <= r.room() || r.send == r.una }

// narrow halves what may be outstanding, measured by what is: not even the last of it was
// answered, so the peer, or something on the way to it, may be taking less than it is sent.
func (r *requester) narrow() { r.window = max(1, distance(r.una, r.send)/2) }

// widen lets as many more PSNs be outstanding as were acknowledged, up to the whole window.
func (c *RC) widen(acked uint32) { c.req.window = min(c.req.window+acked, c.window) }
