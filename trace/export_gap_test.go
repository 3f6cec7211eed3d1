package trace

// SinceGap returns the number of flows that the next Gap processes.
func (a *Analyzer) SinceGap() (n int) {
	for c := a.table.oldest; c != nil; c = c.newer {
		if !c.gapped {
			n++
		}
	}
	return n
}
