package mr

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// keyModel is the reference state of a table: which keys are valid, and what depends on what.
type keyModel struct {
	t       *Table
	pd      *PD
	regions []*Region
	fast    []*FastRegion
	windows []*Window
	open    map[uint32]bool
	dead    []*Region // regions that keys resolved to before
	within  map[*Window]uint32
	qpn     map[*Window]uint32
	finders map[uint32]*Finder // one for each key that ever resolved to a region
}

const modelAccess = LocalWrite | MWBind | RemoteWrite

func (m *keyModel) bindable(t *rapid.T) uint32 {
	var keys []uint32
	for _, r := range m.regions {
		keys = append(keys, r.key)
	}
	for _, f := range m.fast {
		keys = append(keys, f.key)
	}
	if len(keys) == 0 {
		t.Skip()
	}
	return rapid.SampledFrom(keys).Draw(t, "region")
}

func pick[T any](t *rapid.T, from []T) T {
	if len(from) == 0 {
		t.Skip()
	}
	return rapid.SampledFrom(from).Draw(t, "which")
}

// holders returns the number of windows bound to the region of a key.
func (m *keyModel) holders(key uint32) (n int) {
	for _, k := range m.within {
		if k == key {
			n++
		}
	}
	return n
}

// shut records that a key is no longer valid.
func (m *keyModel) shut(key uint32) {
	if m.open[key] {
		m.dead = append(m.dead, m.t.Lookup(key))
	}
	delete(m.open, key)
}

// agree fails unless an operation succeeded exactly if the model permits it.
func agree(t *rapid.T, op string, err error, allowed bool) {
	if (err == nil) != allowed {
		t.Fatalf("%s: %v, the model allows it: %v", op, err, allowed)
	}
}

// Regions, fast-registration memory regions and windows are created, bound, invalidated and
// deallocated in any order.
func TestKeysModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &keyModel{
			t: NewTable([32]byte{1}, 6), pd: &PD{}, open: map[uint32]bool{}, within: map[*Window]uint32{},
			qpn: map[*Window]uint32{}, finders: map[uint32]*Finder{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				r, err := m.t.Register(m.pd, Bytes(make([]byte, 64)), 0x1000, 64, modelAccess)
				agree(t, "register", err, len(m.regions)+len(m.fast) < 6)
				if err == nil {
					m.regions, m.open[r.key] = append(m.regions, r), true
				}
			},
			"deregister": func(t *rapid.T) {
				r := pick(t, m.regions)
				free := m.holders(r.key) == 0
				if free {
					m.shut(r.key)
				}
				agree(t, "deregister", m.t.Deregister(r), free)
				if free {
					m.regions = slices.DeleteFunc(m.regions, func(x *Region) bool { return x == r })
				}
			},
			"reregister": func(t *rapid.T) {
				r := pick(t, m.regions)
				free := m.holders(r.key) == 0
				q := &Rereg{Change: ChangeTranslation, Memory: Bytes(make([]byte, 64)), IOVA: 0x1000, Length: 64}
				if free {
					m.shut(r.key)
				}
				n, err := m.t.Reregister(r, q)
				agree(t, "reregister", err, free)
				if err == nil {
					m.regions[slices.Index(m.regions, r)], m.open[n.key] = n, true
				}
			},
			"alloc fast": func(t *rapid.T) {
				f, err := m.t.AllocFast(m.pd, 64)
				agree(t, "alloc fast", err, len(m.regions)+len(m.fast) < 6)
				if err == nil {
					m.fast = append(m.fast, f)
				}
			},
			"register fast": func(t *rapid.T) {
				f := pick(t, m.fast)
				allowed := !m.open[f.key]
				q := &FastReg{Key: f.key, NewKey: IncRKey(f.key), Memory: Bytes(make([]byte, 64)), IOVA: 0x1000,
					Length: 64, Access: modelAccess}
				agree(t, "register fast", m.t.RegisterFast(m.pd, q), allowed)
				if allowed {
					m.open[q.NewKey] = true
				}
			},
			"free fast": func(t *rapid.T) {
				f := pick(t, m.fast)
				free := m.holders(f.key) == 0
				if free {
					m.shut(f.key)
				}
				agree(t, "free fast", m.t.FreeFast(f), free)
				if free {
					m.fast = slices.DeleteFunc(m.fast, func(x *FastRegion) bool { return x == f })
				}
			},
			"alloc window": func(t *rapid.T) {
				w, err := m.t.AllocWindow(m.pd,
					rapid.SampledFrom([]WindowType{WindowType1, WindowType2}).Draw(t, "type"))
				agree(t, "alloc window", err, true)
				m.windows = append(m.windows, w)
			},
			"bind": func(t *rapid.T) {
				w, region := pick(t, m.windows), m.bindable(t)
				qpn := rapid.Uint32Range(1, 3).Draw(t, "qpn")
				allowed := m.open[region] && (w.typ == WindowType1 || !m.open[w.key])
				if allowed {
					m.shut(w.key)
				}
				b := &Bind{Key: w.key, NewKey: IncRKey(w.key), LKey: region, Addr: 0x1010, Length: 16,
					Access: RemoteWrite}
				agree(t, "bind", m.t.Bind(m.pd, qpn, b), allowed)
				if allowed {
					m.open[b.NewKey], m.within[w], m.qpn[w] = true, region, qpn
				}
			},
			"invalidate": func(t *rapid.T) {
				var keys []uint32
				for _, w := range m.windows {
					keys = append(keys, w.key)
				}
				if len(m.regions)+len(m.fast) > 0 {
					keys = append(keys, m.bindable(t))
				}
				key := pick(t, keys)
				qpn := rapid.Uint32Range(1, 3).Draw(t, "qpn")
				e := m.t.entry(key)
				allowed := e.fast != nil && (!m.open[key] || m.holders(key) == 0) ||
					e.window != nil && e.window.typ == WindowType2 && m.open[key] && m.qpn[e.window] == qpn
				if allowed {
					m.shut(key)
					delete(m.within, e.window)
				}
				agree(t, "invalidate", m.t.InvalidateRemote(m.pd, qpn, key), allowed)
			},
			"dealloc": func(t *rapid.T) {
				w := pick(t, m.windows)
				m.shut(w.key)
				delete(m.within, w)
				agree(t, "dealloc", m.t.DeallocWindow(w), true)
				m.windows = slices.DeleteFunc(m.windows, func(x *Window) bool { return x == w })
			},
			"forget": func(t *rapid.T) {
				qpn := rapid.Uint32Range(1, 3).Draw(t, "qpn")
				for _, w := range m.windows {
					if w.typ == WindowType2 && m.open[w.key] && m.qpn[w] == qpn {
						m.shut(w.key)
						delete(m.within, w)
					}
				}
				m.t.UnbindQP(qpn)
			},
			"": m.check,
		})
	})
}

func (m *keyModel) check(t *rapid.T) {
	for key := range m.open {
		if !m.t.Lookup(key).Valid() {
			t.Fatalf("key %#x opens nothing", key)
		}
		if m.finders[key] == nil {
			m.finders[key] = &Finder{Table: m.t}
		}
	}
	for key, f := range m.finders {
		if got, want := f.Lookup(key), m.t.Lookup(key); got != want {
			t.Fatalf("a finder that looked for key %#x before finds %p, the table %p", key, got, want)
		}
	}
	for _, r := range m.dead {
		if r.Valid() || r.View(r.iova, 1) != nil {
			t.Fatalf("what key %#x led to is still alive", r.key)
		}
		if m.t.Lookup(r.key) == r {
			t.Fatalf("key %#x leads to what is dead", r.key)
		}
	}
	entered, bound := 0, map[uint32]int{}
	for _, e := range m.t.byIndex.All {
		if e.region != nil {
			entered++
		}
	}
	for _, w := range m.windows {
		if w.typ == WindowType2 && m.open[w.key] {
			bound[m.qpn[w]]++
		}
	}
	if entered != len(m.open) || m.t.Len() != len(m.regions)+len(m.fast) || m.t.windows != len(m.windows) {
		t.Fatalf("%d keys open memory, want %d; %d regions, %d windows", entered, len(m.open), m.t.Len(), m.t.windows)
	}
	if len(bound) != len(m.t.bound) {
		t.Fatalf("windows by queue pair: %v, want %v", m.t.bound, bound)
	}
	for qpn, n := range bound {
		for w, before := m.t.bound[qpn], (*Window)(nil); w != nil; w, before = w.next, w {
			if n--; w.prev != before || w.qpn != qpn || !w.Bound() {
				t.Fatalf("windows by queue pair: %+v behind %p", w, before)
			}
		}
		if n != 0 {
			t.Fatalf("windows by queue pair: %v, want %v", m.t.bound, bound)
		}
	}
}

func TestWindowsHaveALimit(t *testing.T) {
	tab := NewTable([32]byte{1}, 1)
	tab.windows = MaxWindows
	if _, err := tab.AllocWindow(&PD{}, WindowType1); err == nil ||
		!strings.Contains(err.Error(), "all 524288 windows are in use") {
		t.Errorf("error %v", err)
	}
}
