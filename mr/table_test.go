package mr_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"pgregory.net/rapid"
)

func TestRegisterRefuses(t *testing.T) {
	pd, mem := &mr.PD{ID: 1}, mr.Bytes(make([]byte, 4096))
	for _, c := range []struct {
		name         string
		pd           *mr.PD
		mem          mr.Memory
		iova, length uint64
		access       mr.Access
		want         string // in the error; empty means success
	}{
		{"plain region", pd, mem, 0x1000, 4096, mr.LocalWrite, ""},
		{"read-only region", pd, mem, 0x1000, 4096, mr.RemoteRead, ""},
		{"part of the memory", pd, mem, 0x1000, 1, 0, ""},
		{"empty region", pd, mem, 0x1000, 0, 0, ""},
		{"region at the top of the address space", pd, mem, math.MaxUint64 - 4095, 4096, 0, ""},
		{"hints that verbs calls optional", pd, mem, 0, 1, mr.RelaxedOrdering | 1<<25, ""},
		{"remote write with local write", pd, mem, 0, 1, mr.LocalWrite | mr.RemoteWrite, ""},

		{"remote write alone", pd, mem, 0, 1, mr.RemoteWrite, "REMOTE_WRITE requires LOCAL_WRITE"},
		{"remote atomic alone", pd, mem, 0, 1, mr.RemoteAtomic | mr.RemoteRead, "REMOTE_ATOMIC requires LOCAL_WRITE"},
		{"unknown flag", pd, mem, 0, 1, 1 << 15, "unknown access flags 0x8000"},
		{"more than the memory", pd, mem, 0, 4097, 0, "length 4097 is more than the memory's 4096 bytes"},
		{"past the address space", pd, mem, math.MaxUint64 - 4094, 4096, 0, "past the end of the address space"},
		{"zero based elsewhere", pd, mem, 8, 8, mr.ZeroBased, "ZERO_BASED with address 0x8"},
		{"no domain", nil, mem, 0, 1, 0, "no protection domain"},
		{"no memory", pd, nil, 0, 1, 0, "no memory"},
		{"memory shorter than it says", pd, liar{mem.(mr.Addressable)}, 0, 8192, 0, "has only 4096 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tab := mr.NewTable([32]byte{1}, 10)
			r, err := tab.Register(c.pd, c.mem, c.iova, c.length, c.access)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("error %v, want one with %q", err, c.want)
				}
				if r != nil || tab.Len() != 0 {
					t.Errorf("a refused region is there: %v, table of %d", r, tab.Len())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.PD() != c.pd || r.IOVA() != c.iova || r.Length() != c.length || r.Access() != c.access {
				t.Errorf("region has %v %#x %d %v", r.PD(), r.IOVA(), r.Length(), r.Access())
			}
			if r.RKey() == 0 || r.LKey() != r.RKey() || tab.Lookup(r.RKey()) != r || !r.Valid() {
				t.Errorf("key %#x does not lead to the region", r.RKey())
			}
		})
	}
}

// liar reports a larger size than that of its bytes.
type liar struct{ mr.Addressable }

func (liar) Size() uint64 { return 1 << 20 }

func TestTableHoldsItsLimit(t *testing.T) {
	tab := mr.NewTable([32]byte{1}, 2)
	pd, mem := &mr.PD{}, mr.Bytes(make([]byte, 8))
	a, err := tab.Register(pd, mem, 0, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Register(pd, mem, 0, 8, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Register(pd, mem, 0, 8, 0); err == nil ||
		!strings.Contains(err.Error(), "all 2 regions are in use") {
		t.Errorf("third region of two: error %v", err)
	}
	if err := tab.Deregister(a); err != nil {
		t.Fatal(err)
	}
	if _, err := tab.Register(pd, mem, 0, 8, 0); err != nil {
		t.Errorf("after a Deregister there is no room: %v", err)
	}
}

func TestDeregisterRefusesWhatIsNotThere(t *testing.T) {
	pd, mem := &mr.PD{}, mr.Bytes(make([]byte, 8))
	one, other := mr.NewTable([32]byte{1}, 0), mr.NewTable([32]byte{1}, 0)
	r, err := one.Register(pd, mem, 0, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The other table has a region with the same key.
	if _, err := other.Register(pd, mem, 0, 8, 0); err != nil {
		t.Fatal(err)
	}
	if err := other.Deregister(r); err == nil {
		t.Error("a region of another table was taken")
	}
	if err := one.Deregister(nil); err == nil {
		t.Error("nil was taken")
	}
	if err := one.Deregister(r); err != nil {
		t.Error(err)
	}
	if err := one.Deregister(r); err == nil {
		t.Error("a region was deregistered twice")
	}
}

// The table against a map: a key resolves to its region while the region is registered, and
// never again after that.
func TestTableModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab := mr.NewTable([32]byte{rapid.Byte().Draw(t, "secret")}, 20)
		pd, mem := &mr.PD{}, mr.Bytes(make([]byte, 64))
		live := map[uint32]*mr.Region{}
		var keys, stale []uint32
		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				r, err := tab.Register(pd, mem, 0, 64, mr.LocalWrite)
				if full := len(live) == 20; full != (err != nil) {
					t.Fatalf("register with %d regions: %v", len(live), err)
				}
				if err != nil {
					return
				}
				k := r.RKey()
				if k == 0 {
					t.Fatal("key 0")
				}
				for _, old := range append(keys, stale...) {
					if old == k {
						t.Fatalf("key %#08x was handed out before", k)
					}
				}
				live[k] = r
				keys = append(keys, k)
			},
			"deregister": func(t *rapid.T) {
				if len(keys) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(keys)-1).Draw(t, "i")
				k := keys[i]
				if err := tab.Deregister(live[k]); err != nil {
					t.Fatal(err)
				}
				if f := live[k].Check(pd, 0, 1, 0); f != mr.Gone || live[k].Valid() {
					t.Fatalf("after Deregister Check says %v", f)
				}
				delete(live, k)
				keys = append(keys[:i], keys[i+1:]...)
				stale = append(stale, k)
			},
			"look up a neighbour": func(t *rapid.T) {
				k := rapid.Uint32().Draw(t, "key")
				if len(keys) > 0 && rapid.Bool().Draw(t, "near") {
					k = keys[0] ^ 1<<rapid.IntRange(0, 31).Draw(t, "bit")
				}
				if got := tab.Lookup(k); got != live[k] {
					t.Fatalf("Lookup(%#08x) = %p, want %p", k, got, live[k])
				}
			},
			"": func(t *rapid.T) {
				if tab.Len() != len(live) {
					t.Fatalf("Len %d, want %d", tab.Len(), len(live))
				}
				for k, r := range live {
					if tab.Lookup(k) != r {
						t.Fatalf("key %#08x is lost", k)
					}
				}
				for _, k := range stale {
					if tab.Lookup(k) != nil {
						t.Fatalf("stale key %#08x resolves", k)
					}
				}
			},
		})
	})
}

func TestAccessSpeaksVerbs(t *testing.T) {
	for a, want := range map[mr.Access]string{
		0:                                     "0",
		mr.LocalWrite:                         "LOCAL_WRITE",
		mr.LocalWrite | mr.RemoteRead:         "LOCAL_WRITE|REMOTE_READ",
		mr.RelaxedOrdering | mr.Access(1<<30): "RELAXED_ORDERING|0x40000000",
		0x3ff:                                 "LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC|MW_BIND|ZERO_BASED|ON_DEMAND|HUGETLB|FLUSH_GLOBAL|FLUSH_PERSISTENT",
	} {
		if got := a.String(); got != want {
			t.Errorf("Access(%#x) = %q, want %q", uint32(a), got, want)
		}
	}
}
