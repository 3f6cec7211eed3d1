package mr_test

import (
	"testing"

	"github.com/gorxe/gorxe/mr"
)

func TestAccessAllocatesNothing(t *testing.T) {
	tab, pd, r := register(t, mr.Bytes(make([]byte, 8192)), 0x1000, 8192, mr.LocalWrite|mr.RemoteWrite)
	_, _, far := register(t, &quiet{make([]byte, 8192)}, 0x1000, 8192, mr.LocalWrite)
	buf, key := make([]byte, 4096), r.RKey()
	for name, f := range map[string]func(){
		"Lookup":               func() { tab.Lookup(key) },
		"Lookup of no key":     func() { tab.Lookup(key + 1) },
		"Check":                func() { r.Check(pd, 0x1000, 4096, mr.RemoteWrite) },
		"CheckRemote":          func() { r.CheckRemote(pd, 7, 0x1000, 4096, mr.RemoteWrite) },
		"WriteAtomic":          func() { _ = r.WriteAtomic(0x1008, (*[8]byte)(buf)) },
		"Flush":                func() { _ = r.Flush(0x1000, 4096, true) },
		"View":                 func() { r.View(0x1000, 4096) },
		"Read":                 func() { _ = r.Read(buf, 0x1001) },
		"Write":                func() { _ = r.Write(0x1001, buf) },
		"WriteFinal":           func() { _ = r.WriteFinal(0x1001, buf) },
		"LoadByte":             func() { r.LoadByte(0x1005) },
		"LoadUint64":           func() { r.LoadUint64(0x1005) },
		"Read by offset":       func() { _ = far.Read(buf, 0x1001) },
		"WriteFinal by offset": func() { _ = far.WriteFinal(0x1001, buf) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

// quiet is memory by offset that records nothing.
type quiet struct{ b []byte }

func (m *quiet) Size() uint64                       { return uint64(len(m.b)) }
func (m *quiet) ReadAt(p []byte, off uint64) error  { copy(p, m.b[off:]); return nil }
func (m *quiet) WriteAt(p []byte, off uint64) error { copy(m.b[off:], p); return nil }
