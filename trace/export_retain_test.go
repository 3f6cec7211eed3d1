package trace

// Rings returns how many messages the rings of the flows that are followed have room for.
func (a *Analyzer) Rings() (n int) {
	for c := a.table.oldest; c != nil; c = c.newer {
		n += len(c.dir[0].works.ring) + len(c.dir[1].works.ring)
	}
	return n
}

// Stale returns how many directions without a partner are still pointed to though they are no longer in the list.
func (a *Analyzer) Stale() (n int) {
	for _, l := range a.table.loose {
		for _, h := range l[len(l):cap(l)] {
			if h != nil {
				n++
			}
		}
	}
	return n
}
