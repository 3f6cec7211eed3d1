package trace

// Rings returns the total capacity of the rings of all flows, in messages.
func (a *Analyzer) Rings() (n int) {
	for c := a.table.oldest; c != nil; c = c.newer {
		n += len(c.seen(0).works.ring) + len(c.seen(1).works.ring)
	}
	return n
}

// Stale returns the number of removed unpaired directions that are still referenced.
func (a *Analyzer) Stale() (n int) {
	for _, s := range a.table.unpaired {
		l := s.All()
		for _, h := range l[len(l):cap(l)] {
			if h != nil {
				n++
			}
		}
	}
	return n
}
