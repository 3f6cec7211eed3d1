package mr

// Finder looks up keys in a table for one queue pair. It caches the last entry, because
// successive packets of a queue pair mostly use the same key. Calls must not overlap; the rules
// of [Table.Lookup] apply.
type Finder struct {
	*Table
	last *entry // entry of the last key found; cleared when its index becomes free
}

// Lookup is [Table.Lookup].
func (f *Finder) Lookup(key uint32) *Region {
	if e := f.last; e != nil && e.hasKey(key) {
		return e.region
	}
	return f.search(key)
}

// search is Lookup in the table; it caches the entry.
func (f *Finder) search(key uint32) *Region {
	e := f.find(key)
	if e == nil {
		return nil
	}
	f.last = e
	return e.region
}
