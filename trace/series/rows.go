package series

import (
	"cmp"
	"slices"
)

// rows are the rows of a series. The time of a change does not depend on the number of rows, also
// if the times of the packets are in no order.
type rows struct {
	list []Row
	// at has the position in list of each index; nil while list is in order of Index.
	at map[int64]int32
}

// row returns the row with the given index, and whether it is new. Packets are mostly in order of
// time, so it looks at the end first.
func (rs *rows) row(index int64) (r *Row, added bool) {
	n := len(rs.list)
	if n > 0 && rs.list[n-1].Index == index {
		return &rs.list[n-1], false
	}
	if n == 0 || rs.at == nil && rs.list[n-1].Index < index {
		rs.list = append(rs.list, Row{Index: index})
		return &rs.list[n], true
	}
	if r := rs.find(index); r != nil {
		return r, false
	}
	if rs.at == nil {
		rs.at = make(map[int64]int32, n+1)
		for i := range rs.list {
			rs.at[rs.list[i].Index] = int32(i)
		}
	}
	rs.at[index] = int32(n)
	rs.list = append(rs.list, Row{Index: index})
	return &rs.list[n], true
}

// find returns the row with the given index, nil if there is none.
func (rs *rows) find(index int64) *Row {
	if rs.at != nil {
		if i, ok := rs.at[index]; ok {
			return &rs.list[i]
		}
		return nil
	}
	i, ok := slices.BinarySearchFunc(rs.list, index, func(r Row, x int64) int { return cmp.Compare(r.Index, x) })
	if !ok {
		return nil
	}
	return &rs.list[i]
}

// sorted returns the rows in order of Index.
func (rs *rows) sorted() []Row {
	if rs.at != nil {
		slices.SortFunc(rs.list, func(x, y Row) int { return cmp.Compare(x.Index, y.Index) })
		rs.at = nil
	}
	return rs.list
}

// clone returns a copy that can be changed.
func (rs *rows) clone() rows { return rows{list: slices.Clone(rs.sorted())} }

// halve doubles the interval: it merges the rows of intervals 2n and 2n+1.
func (rs *rows) halve() {
	list := rs.sorted()
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
	rs.list = list[:n]
}

// include adds the rows of o.
func (rs *rows) include(o *rows) {
	for i := range o.list {
		r, _ := rs.row(o.list[i].Index)
		r.include(&o.list[i])
	}
}

// maxSettled is the maximum number of intervals from which settle takes lost packets: a packet is
// found not to be lost soon after it was missing.
const maxSettled = 1024

// settle takes a negative number of lost packets in the row with the given index from the rows
// before it: they counted packets as lost that never existed.
func (rs *rows) settle(index int64) {
	carry := int64(0)
	for i := index; i > index-maxSettled; i-- {
		r := rs.find(i)
		if r == nil {
			continue
		}
		n := &r.Events.LostBefore
		if *n += carry; *n >= 0 {
			return
		}
		carry, *n = *n, 0
	}
}
