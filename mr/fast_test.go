package mr_test

import (
	"testing"

	"github.com/gorxe/gorxe/mr"
)

func fastRegion(t *testing.T) (*mr.Table, *mr.PD, *mr.FastRegion) {
	t.Helper()
	tab, pd := mr.NewTable([32]byte{1}, 2), &mr.PD{}
	f, err := tab.AllocFast(pd, 64)
	if err != nil {
		t.Fatal(err)
	}
	if f.PD() != pd || f.MaxLength() != 64 || f.Registered() || tab.Lookup(f.Key()) != nil || tab.Len() != 1 {
		t.Fatalf("a new fast-registration memory region: %+v", f)
	}
	return tab, pd, f
}

func request(f *mr.FastRegion, b []byte, access mr.Access) *mr.FastReg {
	return &mr.FastReg{Key: f.Key(), NewKey: mr.IncRKey(f.Key()), Memory: mr.Bytes(b), IOVA: 0x1000,
		Length: uint64(len(b)), Access: access}
}

func TestFastRegionIsRegisteredAndInvalidatedOverAndOver(t *testing.T) {
	tab, pd, f := fastRegion(t)
	var kept []*mr.Region
	for i := range 300 { // the low byte of the key wraps
		buf := make([]byte, 64)
		if err := tab.RegisterFast(pd, request(f, buf, mr.LocalWrite|mr.RemoteWrite)); err != nil {
			t.Fatal(err)
		}
		r := tab.Lookup(f.Key())
		if r.Check(pd, 0x1000, 64, mr.LocalWrite) != mr.OK ||
			r.CheckRemote(pd, 7, 0x1000, 64, mr.RemoteWrite) != mr.OK {
			t.Fatal("the region cannot be used")
		}
		if err := r.Write(0x1000, []byte{byte(i)}); err != nil || buf[0] != byte(i) {
			t.Fatalf("wrong memory: %v", err)
		}
		mustError(t, tab.RegisterFast(pd, request(f, buf, 0)), "is registered; invalidate it first")
		mustError(t, tab.Deregister(r), "is that of a fast-registration memory region")
		if err := tab.InvalidateRemote(pd, 7, f.Key()); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, r)
	}
	for _, r := range kept {
		if r.Valid() {
			t.Fatal("a pointer kept from before is valid")
		}
	}
	if err := tab.Invalidate(pd, f.Key()); err != nil {
		t.Errorf("what is invalid stays so: %v", err)
	}
	if err := tab.FreeFast(f); err != nil || tab.Len() != 0 {
		t.Errorf("FreeFast: %v, %d regions left", err, tab.Len())
	}
	mustError(t, tab.FreeFast(f), "is not registered in this table")
	mustError(t, tab.FreeFast(nil), "no region given")
}

func TestFastRegisterRefuses(t *testing.T) {
	tab, pd, f := fastRegion(t)
	ordinary, err := tab.Register(pd, mr.Bytes(make([]byte, 8)), 0, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tab.AllocFast(pd, 1)
	mustError(t, err, "all 2 regions are in use")
	_, err = tab.AllocFast(nil, 1)
	mustError(t, err, "no protection domain")
	for _, c := range []struct {
		edit func(*mr.FastReg)
		want string
	}{
		{func(q *mr.FastReg) { q.Key++ }, "no fast-registration memory region has key"},
		{func(q *mr.FastReg) { q.Key = ordinary.RKey() }, "no fast-registration memory region has key"},
		{func(q *mr.FastReg) { q.NewKey += 0x100 }, "only the low byte may change"},
		{func(q *mr.FastReg) { q.Memory, q.Length = mr.Bytes(make([]byte, 65)), 65 },
			"65 bytes exceed the maximum of region"},
		{func(q *mr.FastReg) { q.Length = 33 }, "more than the memory's 32 bytes"},
		{func(q *mr.FastReg) { q.Access = mr.RemoteWrite }, "requires LOCAL_WRITE"},
		{func(q *mr.FastReg) { q.Memory = nil }, "no memory given"},
	} {
		q := request(f, make([]byte, 32), 0)
		c.edit(q)
		mustError(t, tab.RegisterFast(pd, q), c.want)
	}
	mustError(t, tab.RegisterFast(&mr.PD{}, request(f, nil, 0)), "not in the protection domain of the queue pair")
	if f.Registered() {
		t.Error("a refused request has an effect")
	}
	if err := tab.RegisterFast(pd, request(f, make([]byte, 32), 0)); err != nil {
		t.Fatal(err)
	}
	mustError(t, tab.Invalidate(&mr.PD{}, f.Key()), "not in the protection domain of the queue pair")
}

func TestFastRegionWithWindowsStays(t *testing.T) {
	tab, pd, f := fastRegion(t)
	q := request(f, make([]byte, 64), bindable)
	q.IOVA = 0x1040
	if err := tab.RegisterFast(pd, q); err != nil {
		t.Fatal(err)
	}
	w := windowOf(t, tab, pd, mr.WindowType2)
	if err := tab.Bind(pd, 7, part(w, tab.Lookup(f.Key()), mr.RemoteRead)); err != nil {
		t.Fatal(err)
	}
	mustError(t, tab.Invalidate(pd, f.Key()), "1 memory windows")
	mustError(t, tab.FreeFast(f), "1 memory windows")
	if err := tab.Invalidate(pd, w.RKey()); err != nil {
		t.Fatal(err)
	}
	if err := tab.Invalidate(pd, f.Key()); err != nil {
		t.Error(err)
	}
}
