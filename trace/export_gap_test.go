package trace

// SinceGap returns how many flows the next Gap deals with.
func (a *Analyzer) SinceGap() (n int) {
	for c := a.table.oldest; c != nil; c = c.newer {
		if !c.gapped {
			n++
		}
	}
	return n
}
