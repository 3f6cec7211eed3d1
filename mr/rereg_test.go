package mr_test

import (
	"testing"

	"github.com/gorxe/gorxe/mr"
)

func TestReregisterChangesWhatItNames(t *testing.T) {
	other := &mr.PD{}
	more := mr.Bytes(make([]byte, 128))
	for name, c := range map[string]struct {
		q      mr.Rereg
		newKey bool
		check  func(r *mr.Region, pd *mr.PD) bool
	}{
		"access": {mr.Rereg{Change: mr.ChangeAccess, Access: mr.RemoteRead}, false, func(r *mr.Region, pd *mr.PD) bool {
			return r.PD() == pd && r.Access() == mr.RemoteRead && r.IOVA() == 0x1000 && r.Length() == 64
		}},
		"domain": {mr.Rereg{Change: mr.ChangePD, PD: other}, false, func(r *mr.Region, pd *mr.PD) bool {
			return r.PD() == other && r.Access() == mr.LocalWrite && r.IOVA() == 0x1000
		}},
		"memory": {mr.Rereg{Change: mr.ChangeTranslation, Memory: more, IOVA: 0x5000, Length: 128}, true,
			func(r *mr.Region, pd *mr.PD) bool {
				return r.PD() == pd && r.IOVA() == 0x5000 && r.Length() == 128 && r.Access() == mr.LocalWrite &&
					len(r.View(0x5000, 128)) == 128
			}},
	} {
		t.Run(name, func(t *testing.T) {
			tab, pd, r := register(t, mr.Bytes(make([]byte, 64)), 0x1000, 64, mr.LocalWrite)
			key := r.RKey()
			n, err := tab.Reregister(r, &c.q)
			if err != nil {
				t.Fatal(err)
			}
			if !c.check(n, pd) {
				t.Errorf("the region is %+v", n)
			}
			if r.Valid() || r.View(0x1000, 1) != nil {
				t.Error("a pointer to the former region is valid")
			}
			if tab.Lookup(n.RKey()) != n || tab.Len() != 1 {
				t.Error("the key does not lead to the region")
			}
			if c.newKey == (n.RKey() == key) || c.newKey && tab.Lookup(key) != nil {
				t.Errorf("key %#x before, %#x after", key, n.RKey())
			}
			mustError(t, tab.Deregister(r), "not registered in this table")
			if err := tab.Deregister(n); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReregisterRefusesAndChangesNothing(t *testing.T) {
	tab, pd, r := register(t, mr.Bytes(make([]byte, 64)), 0x1000, 64, 0)
	for _, c := range []struct {
		q    mr.Rereg
		want string
	}{
		{mr.Rereg{}, "name at least one"},
		{mr.Rereg{Change: 8}, "name at least one"},
		{mr.Rereg{Change: mr.ChangePD}, "no protection domain"},
		{mr.Rereg{Change: mr.ChangeTranslation}, "no memory"},
		{mr.Rereg{Change: mr.ChangeAccess, Access: mr.RemoteWrite}, "requires LOCAL_WRITE"},
	} {
		_, err := tab.Reregister(r, &c.q)
		mustError(t, err, c.want)
	}
	_, err := tab.Reregister(nil, &mr.Rereg{Change: mr.ChangePD, PD: pd})
	mustError(t, err, "no region given")
	if !r.Valid() || tab.Lookup(r.RKey()) != r {
		t.Error("the region is gone")
	}
}
