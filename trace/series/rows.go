package series

import (
	"cmp"
	"slices"
)

// rows are the rows of a series in order of Index.
type rows []Row

// at returns the row with the given index and whether it is new. Packets are mostly in order of
// time, so it looks from the end.
func (rs *rows) at(index int64) (r *Row, added bool) {
	list := *rs
	n := len(list)
	if n > 0 && list[n-1].Index == index {
		return &list[n-1], false
	}
	if n == 0 || list[n-1].Index < index {
		*rs = append(list, Row{Index: index})
		return &(*rs)[n], true
	}
	i, found := slices.BinarySearchFunc(list, index, func(r Row, x int64) int { return cmp.Compare(r.Index, x) })
	if !found {
		*rs = slices.Insert(list, i, Row{Index: index})
	}
	return &(*rs)[i], !found
}

// halve doubles the interval: it merges the rows of intervals 2n and 2n+1.
func (rs *rows) halve() {
	list := *rs
	n := 0
	for i := range list {
		r := list[i]
		r.Index >>= 1
		if n > 0 && list[n-1].Index == r.Index {
			list[n-1].include(&r)
			continue
		}
		list[n] = r
		n++
	}
	*rs = list[:n]
}

// include adds the rows of o.
func (rs *rows) include(o rows) {
	missing := 0
	for i, j := 0, 0; j < len(o); j++ {
		for i < len(*rs) && (*rs)[i].Index < o[j].Index {
			i++
		}
		if i == len(*rs) || (*rs)[i].Index > o[j].Index {
			missing++
		}
	}
	a := *rs
	merged := a[:0] // in place if no row is new
	if missing > 0 {
		merged = make(rows, 0, len(a)+missing)
	}
	for len(a) > 0 || len(o) > 0 {
		switch {
		case len(o) == 0 || len(a) > 0 && a[0].Index < o[0].Index:
			merged, a = append(merged, a[0]), a[1:]
		case len(a) == 0 || o[0].Index < a[0].Index:
			merged, o = append(merged, o[0]), o[1:]
		default:
			merged, a = append(merged, a[0]), a[1:]
			merged[len(merged)-1].include(&o[0])
			o = o[1:]
		}
	}
	*rs = merged
}

// settle takes a negative number of lost packets in the row with the given index from the rows
// before it: they counted packets as lost that never existed.
func (rs *rows) settle(index int64) {
	list := *rs
	i, _ := slices.BinarySearchFunc(list, index, func(r Row, x int64) int { return cmp.Compare(r.Index, x) })
	carry := int64(0)
	for ; i >= 0 && i < len(list); i-- {
		n := &list[i].Events.LostBefore
		if *n += carry; *n >= 0 {
			return
		}
		carry, *n = *n, 0
	}
}
