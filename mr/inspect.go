package mr

// KeyKind is the kind of object that a key belongs to.
type KeyKind uint8

const (
	KeyRegion     KeyKind = iota // a region made by [Table.Register]
	KeyFastRegion                // a fast-registration memory region
	KeyWindow1                   // a memory window of type 1
	KeyWindow2                   // a memory window of type 2
)

// String returns a word for display: "region", "fast", "window1" or "window2".
func (k KeyKind) String() string {
	return [...]string{"region", "fast", "window1", "window2"}[k&3]
}

// KeyInfo describes one key of a table.
type KeyInfo struct {
	Number uint64 // position in the order of allocation; a Bind, a REG_MR or new rights do not change it
	Kind   KeyKind
	Key    uint32
	PD     uint32 // ID of the protection domain
	// Valid reports whether the key resolves to memory. It does not for an unbound window and for a
	// fast-registration memory region that is not registered.
	Valid   bool
	IOVA    uint64 // address of the first byte
	Length  uint64 // in bytes; maximum length if a fast-registration memory region has no memory
	Access  Access
	Windows int    // number of windows bound to the region
	Parent  uint32 // key of the region that a window is bound to, else 0
	QPN     uint32 // queue pair that a window of type 2 is bound on, else 0
}

// List stores in dst the keys with a Number above after, in ascending order of Number, until dst is
// full. It returns the number of stored keys. Keys that are allocated or freed between two calls do
// not change the Number of others.
func (t *Table) List(after uint64, dst []KeyInfo) (n int) {
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
		i = KeyInfo{Kind: KeyFastRegion, Key: e.fast.key, PD: e.fast.pd.ID, Length: e.fast.max}
	}
	r := e.region
	if r == nil {
		return i
	}
	i.Key, i.PD, i.Valid = r.key, r.pd.ID, true
	i.IOVA, i.Length, i.Access, i.Windows = r.iova, r.length, r.access, r.windows
	if r.parent != nil {
		i.Parent = r.parent.key
		if i.Kind == KeyWindow2 {
			i.QPN = e.window.qpn
		}
	}
	return i
}
