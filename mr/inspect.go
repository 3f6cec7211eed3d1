package mr

// KeyKind says what a key was made for.
type KeyKind uint8

const (
	KeyRegion  KeyKind = iota // a region made by [Table.Register]
	KeyFast                   // a fast region
	KeyWindow1                // a memory window of type 1
	KeyWindow2                // a memory window of type 2
)

// String is a word for people: "region", "fast", "window1" or "window2".
func (k KeyKind) String() string {
	return [...]string{"region", "fast", "window1", "window2"}[k&3]
}

// KeyInfo is what a look into a table finds of one key.
type KeyInfo struct {
	Number  uint64 // in the order in which the keys came; one that is given memory or rights anew may keep its
	Kind    KeyKind
	Key     uint32
	PD      uint32 // its ID
	Opens   bool   // it leads to memory; false of a window that is not bound and a fast region that is not registered
	IOVA    uint64 // address of the first byte
	Length  uint64 // in bytes; of a fast region without memory, how many it can have
	Access  Access
	Windows int    // bound to it
	Parent  uint32 // of a bound window: key of its region
	QPN     uint32 // of a bound window of type 2: the queue pair it is open to
}

// Look describes the keys whose numbers are above after, as many as fit into dst and in the
// order of their numbers, and returns how many. Keys that come and go between two calls do
// not move the others.
func (t *Table) Look(after uint64, dst []KeyInfo) (n int) {
	t.order.After(after, func(number uint64, index uint32) bool {
		if n == len(dst) {
			return false
		}
		e := t.byIndex.Get(index)
		dst[n] = e.info()
		dst[n].Number = number
		n++
		return true
	})
	return n
}

func (e *entry) info() KeyInfo {
	var i KeyInfo
	switch {
	case e.window != nil:
		i = KeyInfo{Kind: KeyWindow1, Key: e.window.key, PD: e.window.pd.ID}
		if e.window.typ == WindowType2 {
			i.Kind = KeyWindow2
		}
	case e.fast != nil:
		i = KeyInfo{Kind: KeyFast, Key: e.fast.key, PD: e.fast.pd.ID, Length: e.fast.max}
	}
	r := e.region
	if r == nil {
		return i
	}
	i.Key, i.PD, i.Opens = r.key, r.pd.ID, true
	i.IOVA, i.Length, i.Access, i.Windows = r.iova, r.length, r.access, r.windows
	if r.parent != nil {
		i.Parent = r.parent.key
		if i.Kind == KeyWindow2 {
			i.QPN = e.window.qpn
		}
	}
	return i
}
