package mr

import "testing"

func TestAFinderFollowsItsTable(t *testing.T) {
	tab, pd := NewTable([32]byte{1}, 4), &PD{}
	register := func() *Region {
		t.Helper()
		r, err := tab.Register(pd, Bytes(make([]byte, 64)), 0, 64, LocalWrite)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b := register(), register()
	f := Finder{Table: tab}
	want := func(key uint32, r *Region) {
		t.Helper()
		if got := f.Lookup(key); got != r {
			t.Errorf("key %#x: %p, want %p", key, got, r)
		}
	}
	want(a.key, a)
	want(a.key, a)
	want(a.key+1, nil) // another variant of the same index
	want(b.key, b)
	want(a.key, a)
	if err := tab.Deregister(a); err != nil {
		t.Fatal(err)
	}
	want(a.key, nil)
	if f.last != nil && f.last.region != nil {
		t.Error("a finder keeps the memory of a region that was deregistered")
	}
	want(b.key, b)
}
