package mr_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/mr"
)

// look returns all keys of a table, two at a time.
func look(tab *mr.Table) (all []mr.KeyInfo) {
	var some [2]mr.KeyInfo
	for after := uint64(0); ; after = all[len(all)-1].Number {
		n := tab.List(after, some[:])
		if n == 0 {
			return all
		}
		all = append(all, some[:n]...)
	}
}

func TestLookDescribesEveryKey(t *testing.T) {
	pd := &mr.PD{ID: 5}
	tab := mr.NewTable([32]byte{1}, 10)
	r, err := tab.Register(pd, mr.Bytes(make([]byte, 256)), 0x1000, 256, bindable|mr.RemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	fast, err := tab.AllocFast(pd, 4096)
	if err != nil {
		t.Fatal(err)
	}
	w1, w2 := windowOf(t, tab, pd, mr.WindowType1), windowOf(t, tab, pd, mr.WindowType2)
	region := mr.KeyInfo{
		Number: 1, Kind: mr.KeyRegion, Key: r.RKey(), PD: 5, Valid: true,
		IOVA: 0x1000, Length: 256, Access: bindable | mr.RemoteRead,
	}
	want := []mr.KeyInfo{
		region, {Number: 2, Kind: mr.KeyFastRegion, Key: fast.Key(), PD: 5, Length: 4096},
		{Number: 3, Kind: mr.KeyWindow1, Key: w1.RKey(), PD: 5},
		{Number: 4, Kind: mr.KeyWindow2, Key: w2.RKey(), PD: 5},
	}
	if diff := cmp.Diff(want, look(tab)); diff != "" {
		t.Errorf("with nothing bound:\n%s", diff)
	}

	reg := &mr.FastReg{Key: fast.Key(), NewKey: mr.IncRKey(fast.Key()), Memory: mr.Bytes(make([]byte, 64)), IOVA: 0x40,
		Length: 64, Access: mr.LocalWrite}
	if err := tab.RegisterFast(pd, reg); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*mr.Window{w1, w2} {
		if err := tab.Bind(pd, 7, part(w, r, mr.RemoteRead)); err != nil {
			t.Fatal(err)
		}
	}
	want[0].Windows = 2
	want[1] = mr.KeyInfo{Number: 2, Kind: mr.KeyFastRegion, Key: reg.NewKey, PD: 5, Valid: true, IOVA: 0x40, Length: 64,
		Access: mr.LocalWrite}
	bound := mr.KeyInfo{PD: 5, Valid: true, IOVA: 0x1040, Length: 64, Access: mr.RemoteRead, Parent: r.RKey()}
	want[2], want[3] = bound, bound
	want[2].Number, want[2].Kind, want[2].Key = 3, mr.KeyWindow1, w1.RKey()
	want[3].Number, want[3].Kind, want[3].Key, want[3].QPN = 4, mr.KeyWindow2, w2.RKey(), 7
	if diff := cmp.Diff(want, look(tab)); diff != "" {
		t.Errorf("with all bound:\n%s", diff)
	}

	tab.UnbindQP(7)
	for _, err := range []error{tab.DeallocWindow(w1), tab.DeallocWindow(w2), tab.FreeFast(fast)} {
		if err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]mr.KeyInfo{region}, look(tab)); diff != "" {
		t.Errorf("with the region alone:\n%s", diff)
	}
	if err := tab.Deregister(r); err != nil {
		t.Fatal(err)
	}
	if left := look(tab); len(left) > 0 {
		t.Errorf("of nothing: %+v", left)
	}
}

// A re-registered region keeps its position as long as it keeps its key.
func TestLookFollowsAReregisteredRegion(t *testing.T) {
	tab, _, r := register(t, mr.Bytes(make([]byte, 256)), 0x1000, 256, mr.LocalWrite)
	same, err := tab.Reregister(r, &mr.Rereg{Change: mr.ChangeAccess, Access: mr.RemoteRead})
	if err != nil {
		t.Fatal(err)
	}
	if got := look(tab); len(got) != 1 || got[0].Number != 1 || got[0].Access != mr.RemoteRead {
		t.Errorf("with other rights: %+v", got)
	}
	moved, err := tab.Reregister(same,
		&mr.Rereg{Change: mr.ChangeTranslation, Memory: mr.Bytes(make([]byte, 8)), Length: 8})
	if err != nil {
		t.Fatal(err)
	}
	if got := look(tab); len(got) != 1 || got[0].Number != 2 || got[0].Key != moved.RKey() || got[0].Length != 8 {
		t.Errorf("with other memory: %+v", got)
	}
}

func TestKeyKindsHaveNames(t *testing.T) {
	for k, want := range map[mr.KeyKind]string{mr.KeyRegion: "region", mr.KeyFastRegion: "fast", mr.KeyWindow1: "window1",
		mr.KeyWindow2: "window2"} {
		if k.String() != want {
			t.Errorf("%d is %q, want %q", k, k, want)
		}
	}
}
