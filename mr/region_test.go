package mr_test

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"pgregory.net/rapid"
)

func register(t testing.TB, mem mr.Memory, iova, length uint64, access mr.Access) (*mr.Table, *mr.PD, *mr.Region) {
	t.Helper()
	tab, pd := mr.NewTable([32]byte{1}, 10), &mr.PD{ID: 1}
	r, err := tab.Register(pd, mem, iova, length, access)
	if err != nil {
		t.Fatal(err)
	}
	return tab, pd, r
}

func TestCheck(t *testing.T) {
	const base, size = 0x10000, 4096
	_, pd, r := register(t, mr.Bytes(make([]byte, size)), base, size, mr.LocalWrite|mr.RemoteRead)
	twin := &mr.PD{ID: 1}
	for _, c := range []struct {
		name         string
		pd           *mr.PD
		addr, length uint64
		need         mr.Access
		want         mr.Fault
	}{
		{"whole region", pd, base, size, mr.RemoteRead, mr.OK},
		{"last byte", pd, base + size - 1, 1, 0, mr.OK},
		{"two rights", pd, base, 1, mr.LocalWrite | mr.RemoteRead, mr.OK},
		{"one byte too long", pd, base, size + 1, 0, mr.OutOfBounds},
		{"one byte before", pd, base - 1, 1, 0, mr.OutOfBounds},
		{"one byte behind", pd, base + size, 1, 0, mr.OutOfBounds},
		{"address far below", pd, 0, size, 0, mr.OutOfBounds},
		{"end wraps to inside", pd, math.MaxUint64, base + 2, 0, mr.OutOfBounds},
		{"length wraps to nothing", pd, base, math.MaxUint64 - base + 1, 0, mr.OutOfBounds},
		{"largest length", pd, base, math.MaxUint64, 0, mr.OutOfBounds},
		{"zero length at the start", pd, base, 0, 0, mr.OK},
		{"zero length at the end", pd, base + size, 0, 0, mr.OK},
		{"zero length anywhere", pd, math.MaxUint64, 0, mr.RemoteRead, mr.OK},
		{"zero length still needs the right", pd, base, 0, mr.RemoteWrite, mr.NoAccess},
		{"right not granted", pd, base, 1, mr.RemoteWrite, mr.NoAccess},
		{"one of two rights not granted", pd, base, 1, mr.RemoteRead | mr.RemoteAtomic, mr.NoAccess},
		{"other domain of the same ID", twin, base, 1, 0, mr.WrongPD},
		{"no domain", nil, base, 1, 0, mr.WrongPD},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := r.Check(c.pd, c.addr, c.length, c.need); got != c.want {
				t.Errorf("Check(%#x, %d, %v) = %v, want %v", c.addr, c.length, c.need, got, c.want)
			}
		})
	}
}

func TestCheckOfNoRegionIsBadKey(t *testing.T) {
	if f := mr.NewTable([32]byte{1}, 0).Lookup(0x1234).Check(&mr.PD{}, 0, 0, 0); f != mr.BadKey {
		t.Errorf("%v, want %v", f, mr.BadKey)
	}
}

// Bounds in exact arithmetic: every byte of an access in bounds lies in the region.
func TestBoundsModel(t *testing.T) {
	mem := &remote{b: make([]byte, 300)}
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.Uint64Range(0, 300).Draw(t, "length")
		iova := rapid.OneOf(
			rapid.Uint64Range(0, 400),
			rapid.Uint64Range(math.MaxUint64-800, math.MaxUint64-400),
			rapid.Just(uint64(math.MaxUint64)-length+1),
			rapid.Uint64Range(0, math.MaxUint64-400),
		).Draw(t, "iova")
		if length == 0 && iova == 0 {
			iova = 1
		}
		tab, pd := mr.NewTable([32]byte{1}, 10), &mr.PD{}
		r, err := tab.Register(pd, mem, iova, length, mr.LocalWrite)
		if err != nil {
			t.Fatal(err)
		}
		near := func(v uint64) *rapid.Generator[uint64] {
			return rapid.Map(rapid.Int64Range(-400, 400), func(d int64) uint64 { return v + uint64(d) })
		}
		addr := rapid.OneOf(near(iova), near(iova+length), rapid.Uint64()).Draw(t, "addr")
		n := rapid.OneOf(rapid.Uint64Range(0, 400), near(length), near(-addr), near(iova-addr),
			rapid.Uint64()).Draw(t, "n")

		big64 := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
		end := new(big.Int).Add(big64(addr), big64(n))
		regionEnd := new(big.Int).Add(big64(iova), big64(length))
		want := mr.OutOfBounds
		if n == 0 || addr >= iova && end.Cmp(regionEnd) <= 0 {
			want = mr.OK
		}
		if got := r.Check(pd, addr, n, 0); got != want {
			t.Fatalf("region %#x+%d, access %#x+%d: %v, want %v", iova, length, addr, n, got, want)
		}
	})
}

func TestReadWriteView(t *testing.T) {
	const base, size = 0xffff_0000_0000_0000, 64
	for _, kind := range []string{"addressable", "by offset"} {
		t.Run(kind, func(t *testing.T) {
			b := make([]byte, size)
			mem := mr.Memory(&remote{b: b})
			if kind == "addressable" {
				mem = mr.Bytes(b)
			}
			_, _, r := register(t, mem, base, size, mr.LocalWrite)
			if err := r.Write(base+3, []byte("hello")); err != nil {
				t.Fatal(err)
			}
			if string(b[3:8]) != "hello" {
				t.Errorf("memory holds %q", b[3:8])
			}
			got := make([]byte, 5)
			if err := r.Read(got, base+3); err != nil || string(got) != "hello" {
				t.Errorf("read %q, %v", got, err)
			}
			if err := r.Read(nil, 1); err != nil {
				t.Errorf("zero length read out of bounds: %v", err)
			}
			if err := r.Write(1, nil); err != nil {
				t.Errorf("zero length write out of bounds: %v", err)
			}
			if err := r.WriteFinal(1, nil); err != nil {
				t.Errorf("zero length final write out of bounds: %v", err)
			}

			v := r.View(base+3, 5)
			if kind == "by offset" {
				if v != nil {
					t.Errorf("View of memory without an address gave %d bytes", len(v))
				}
				return
			}
			if len(v) != 5 || cap(v) != 5 || &v[0] != &b[3] {
				t.Errorf("View gave %d bytes of capacity %d", len(v), cap(v))
			}
			if v := r.View(1, 0); v == nil || len(v) != 0 || cap(v) != 0 {
				t.Errorf("View of nothing gave %v", v)
			}
			if v := r.View(base, size+1); v != nil {
				t.Errorf("View out of bounds gave %d bytes", len(v))
			}
		})
	}
}

func TestAccessErrorsSayWhatWasWrong(t *testing.T) {
	tab, _, r := register(t, mr.Bytes(make([]byte, 16)), 0x1000, 16, mr.LocalWrite)
	for _, c := range []struct {
		op  string
		err error
	}{
		{"read", r.Read(make([]byte, 8), 0x100c)},
		{"write", r.Write(0x100c, make([]byte, 8))},
		{"write", r.WriteFinal(0x100c, make([]byte, 8))},
	} {
		var e *mr.AccessError
		if !errors.As(c.err, &e) || e.Fault != mr.OutOfBounds {
			t.Fatalf("%s out of bounds: %v", c.op, c.err)
		}
		for _, want := range []string{c.op + " of 8 bytes at 0x100c", "out of the memory region's bounds",
			"16 bytes from 0x1000"} {
			if !strings.Contains(e.Error(), want) {
				t.Errorf("%q does not say %q", e, want)
			}
		}
	}

	if err := tab.Deregister(r); err != nil {
		t.Fatal(err)
	}
	for op, err := range map[string]error{
		"Read":       r.Read(make([]byte, 1), 0x1000),
		"Write":      r.Write(0x1000, []byte{1}),
		"WriteFinal": r.WriteFinal(0x1000, []byte{1}),
	} {
		var e *mr.AccessError
		if !errors.As(err, &e) || e.Fault != mr.Gone {
			t.Errorf("%s after Deregister: %v", op, err)
		}
	}
	if r.View(0x1000, 1) != nil || r.LoadByte(0x1000) != 0 || r.LoadUint64(0x1000) != 0 {
		t.Error("a deregistered region still shows its bytes")
	}
}

func TestMemoryErrorsReachTheCaller(t *testing.T) {
	broken := errors.New("process is gone")
	mem := &remote{b: make([]byte, 64), broken: broken}
	_, _, r := register(t, mem, 0, 64, mr.LocalWrite)
	for op, err := range map[string]error{
		"Read":       r.Read(make([]byte, 1), 0),
		"Write":      r.Write(0, []byte{1}),
		"WriteFinal": r.WriteFinal(0, make([]byte, 20)),
	} {
		if !errors.Is(err, broken) {
			t.Errorf("%s: %v, want %v", op, err, broken)
		}
	}
	if r.LoadByte(0) != 0 || r.LoadUint64(0) != 0 {
		t.Error("loads of broken memory are not 0")
	}
}

func TestBytesRefuseWhatDoesNotFit(t *testing.T) {
	m := mr.Bytes(make([]byte, 10))
	for _, c := range []struct {
		off uint64
		n   int
		ok  bool
	}{{0, 10, true}, {9, 1, true}, {10, 0, true}, {10, 1, false}, {11, 0, false}, {math.MaxUint64, 2, false}} {
		if err := m.ReadAt(make([]byte, c.n), c.off); (err == nil) != c.ok {
			t.Errorf("ReadAt of %d at %d: %v", c.n, c.off, err)
		}
		if err := m.WriteAt(make([]byte, c.n), c.off); (err == nil) != c.ok {
			t.Errorf("WriteAt of %d at %d: %v", c.n, c.off, err)
		}
	}
	if err := m.WriteAt([]byte("ab"), 8); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 2)
	if err := m.ReadAt(got, 8); err != nil || !bytes.Equal(got, []byte("ab")) {
		t.Errorf("read back %q, %v", got, err)
	}
}

func TestFaultsHaveWords(t *testing.T) {
	for f := mr.OK; f <= mr.Gone; f++ {
		if s := f.String(); s == "" || strings.HasPrefix(s, "fault ") {
			t.Errorf("fault %d has no text", f)
		}
	}
	if s := mr.Fault(200).String(); s != "fault 200" {
		t.Errorf("unknown fault is %q", s)
	}
}
