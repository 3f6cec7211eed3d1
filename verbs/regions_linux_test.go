package verbs_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/internal/host/hostmem"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

const (
	exportSize = 1 << 20
	exported   = verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic |
		verbs.FlushGlobal | verbs.FlushPersistent
)

// An export is a region of b over memory of the host, a peer a of it, and the mapping of a local
// program beside b.
type export struct {
	*testing.T
	a, b   *verbstest.Node
	path   string
	mem    *hostmem.Memory
	region *verbs.MR
	local  []byte
}

// exportFile exports a file of exportSize zeros.
func exportFile(t *testing.T) *export {
	t.Helper()
	path := filepath.Join(t.TempDir(), "region")
	return exportPath(t, path, func(o hostmem.FileOptions) (*hostmem.Memory, error) { return hostmem.File(path, o) })
}

func exportPath(t *testing.T, path string, open func(hostmem.FileOptions) (*hostmem.Memory, error)) *export {
	t.Helper()
	x := &export{T: t, path: path}
	var err error
	if x.mem, err = open(hostmem.FileOptions{Create: true, Size: exportSize}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after the devices have closed
		if err := x.mem.Close(); err != nil {
			t.Error(err)
		}
	})
	x.local = mapForTest(t, path)
	cfg := verbstest.PipeLinks(t)
	x.a, x.b = verbstest.Open(t, cfg[0], exportSize), verbstest.Open(t, cfg[1], exportSize)
	x.connect(x.a.QP, x.b.QP, x.a.Info, x.b.Info)
	if x.region, err = x.b.PD.RegMemory(x.mem, exported); err != nil {
		t.Fatal(err)
	}
	return x
}

func mapForTest(t *testing.T, path string) []byte {
	t.Helper()
	b, err := mapExport(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	return b
}

func mapExport(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return unix.Mmap(int(f.Fd()), 0, exportSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// connect connects two queue pairs that grant the peer all rights.
func (x *export) connect(a, b *verbs.QP, ai, bi verbs.ConnInfo) {
	x.Helper()
	attr := verbs.DefaultConnAttr()
	attr.Access = exported
	if err := errors.Join(a.Connect(ai, bi, attr), b.Connect(bi, ai, attr)); err != nil {
		x.Fatal(err)
	}
}

// do posts a request on n and returns its status.
func (x *export) do(n *verbstest.Node, wr *verbs.SendWR) verbs.WCStatus {
	x.Helper()
	wr.Flags |= verbs.Signaled
	if err := n.QP.PostSend(wr); err != nil {
		x.Fatal(err)
	}
	return x.status(n)
}

func (x *export) status(n *verbstest.Node) verbs.WCStatus {
	x.Helper()
	var wc [1]verbs.WC
	if _, err := n.CQ.Wait(x.Context(), wc[:]); err != nil {
		x.Fatal(err)
	}
	return wc[0].Status
}

// request returns a request of a on the first n bytes of its buffer and offset off of the region.
func (x *export) request(op verbs.WROpcode, off uint64, n int) *verbs.SendWR {
	wr := &verbs.SendWR{Opcode: op, RemoteAddr: x.region.Addr() + off, RKey: x.region.RKey()}
	switch op {
	case verbs.WRFlush:
		wr.Flush = verbs.Flush{Length: uint32(n), Type: verbs.FlushToPersistent, Level: verbs.FlushRange}
	case verbs.WRAtomicWrite:
		wr.Flags, wr.InlineData = verbs.Inline, x.a.Buf[:8]
	default:
		wr.SGList = []verbs.SGE{x.a.MR.SGE(0, n)}
	}
	return wr
}

func (x *export) must(wr *verbs.SendWR) {
	x.Helper()
	if got := x.do(x.a, wr); got != verbs.WCSuccess {
		x.Fatalf("%v: %v; the memory says: %v", wr.Opcode, got, x.mem.Err())
	}
}

func (x *export) word(off int) *uint64 { return (*uint64)(unsafe.Pointer(&x.local[off])) }

func TestRegionAndLocalProgramsShareBytes(t *testing.T) {
	name := fmt.Sprintf("gorxe-export-%d", os.Getpid())
	t.Cleanup(func() { os.Remove("/dev/shm/" + name) })
	for kind, open := range map[string]func(*testing.T) *export{
		"file": exportFile,
		"shared memory": func(t *testing.T) *export {
			return exportPath(t, "/dev/shm/"+name,
				func(o hostmem.FileOptions) (*hostmem.Memory, error) { return hostmem.Shared("/"+name, o) })
		},
	} {
		t.Run(kind, func(t *testing.T) {
			x := open(t)
			for i := range x.a.Buf {
				x.a.Buf[i] = byte(i * 7)
			}
			want := bytes.Clone(x.a.Buf)
			x.must(x.request(verbs.WRWrite, 0, exportSize))
			if !bytes.Equal(x.local, want) {
				t.Error("a local program sees other bytes than the peer wrote")
			}
			copy(x.local[5000:], "from a local program")
			x.must(x.request(verbs.WRRead, 5000, 20))
			x.a.Fence()
			if got := x.a.Buf[:20]; string(got) != "from a local program" {
				t.Errorf("the peer reads %q", got)
			}
			atomic.StoreUint64(x.word(64), 40)
			add := x.request(verbs.WRFetchAdd, 64, 8)
			add.CompareAdd = 2
			x.must(add)
			swap := x.request(verbs.WRCmpSwap, 72, 8)
			swap.CompareAdd, swap.Swap = atomic.LoadUint64(x.word(72)), 77
			x.must(swap)
			binary.NativeEndian.PutUint64(x.a.Buf, 99)
			x.must(x.request(verbs.WRAtomicWrite, 80, 8))
			if got := [3]uint64{atomic.LoadUint64(x.word(64)), atomic.LoadUint64(x.word(72)),
				atomic.LoadUint64(x.word(80))}; got != [3]uint64{42, 77, 99} {
				t.Errorf("words after atomics: %v", got)
			}
			x.must(x.request(verbs.WRFlush, 64, 4096))
			if got, err := os.ReadFile(x.path); err != nil || !bytes.Equal(got, x.local) {
				t.Errorf("the file has other bytes: %v", err)
			}
			if got := x.region.LoadUint64(64); got != 42 {
				t.Errorf("LoadUint64 gives %d", got)
			}
		})
	}
}

func TestAnonymousRegion(t *testing.T) {
	x := exportFile(t)
	mem, err := hostmem.Anonymous(exportSize)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	if x.region, err = x.b.PD.RegMemory(mem, exported); err != nil {
		t.Fatal(err)
	}
	copy(x.a.Buf, "kept by the host")
	x.must(x.request(verbs.WRWrite, exportSize-16, 16))
	clear(x.a.Buf[:16])
	x.must(x.request(verbs.WRRead, exportSize-16, 16))
	x.a.Fence()
	if got := string(x.a.Buf[:16]); got != "kept by the host" {
		t.Errorf("read %q back", got)
	}
}

func TestRegionExportedAnewHasAnotherKey(t *testing.T) {
	x := exportFile(t)
	old := x.request(verbs.WRWrite, 0, 8)
	copy(x.a.Buf, "original")
	x.must(x.request(verbs.WRWrite, 0, 8))

	replacement := filepath.Join(t.TempDir(), "replacement")
	if err := errors.Join(
		os.WriteFile(replacement, bytes.Repeat([]byte{'.'}, exportSize), 0o600),
		os.Rename(replacement, x.path),
	); err != nil {
		t.Fatal(err)
	}
	copy(x.a.Buf, "still us")
	x.must(x.request(verbs.WRWrite, 0, 8))
	if got := string(x.local[:8]); got != "still us" {
		t.Errorf("the file that was exported has %q", got)
	}

	if err := errors.Join(x.region.Dereg(), x.mem.Close()); err != nil {
		t.Fatal(err)
	}
	var err error
	if x.mem, err = hostmem.File(x.path, hostmem.FileOptions{}); err != nil {
		t.Fatal(err)
	}
	if x.region, err = x.b.PD.RegMemory(x.mem, exported); err != nil {
		t.Fatal(err)
	}
	x.must(x.request(verbs.WRRead, 0, 8))
	x.a.Fence()
	if got := string(x.a.Buf[:8]); got != "........" {
		t.Errorf("exported anew it has %q", got)
	}
	if got := x.do(x.a, old); got != verbs.WCRemAccessErr {
		t.Errorf("the old key: %v, want %v", got, verbs.WCRemAccessErr)
	}
}

func TestRegionOfAReadOnlyFile(t *testing.T) {
	x := exportFile(t)
	copy(x.local, "to be read")
	ro, err := hostmem.File(x.path, hostmem.FileOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ro.Close() })
	_, err = x.b.PD.RegMemory(ro, exported)
	verbstest.MustMention(t, err, "LOCAL_WRITE", "read")
	if x.region, err = x.b.PD.RegMemory(ro, verbs.RemoteRead); err != nil {
		t.Fatal(err)
	}
	x.must(x.request(verbs.WRRead, 0, 10))
	x.a.Fence()
	if got := string(x.a.Buf[:10]); got != "to be read" {
		t.Errorf("read %q", got)
	}
	if got := x.do(x.a, x.request(verbs.WRWrite, 0, 10)); got != verbs.WCRemAccessErr {
		t.Errorf("WRITE ended with %v, want %v", got, verbs.WCRemAccessErr)
	}
}
