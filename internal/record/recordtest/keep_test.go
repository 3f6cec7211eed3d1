package recordtest

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/trace/capture"
)

// failing is a test that fails without failing this one.
type failing struct {
	testing.TB
	failed  bool
	cleanup func()
	log     []any
}

func (f *failing) Name() string               { return "TestThat/fails: 1" }
func (f *failing) Failed() bool               { return f.failed }
func (f *failing) Cleanup(do func())          { f.cleanup = do }
func (f *failing) Logf(_ string, args ...any) { f.log = args }

func TestATestThatFailsLeavesItsPackets(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("TMP", os.Getenv("TMPDIR")) // for Windows
	n := pipe.NewNet()
	for _, fails := range []bool{false, true} {
		test := &failing{failed: fails}
		l, err := n.Open(netip.MustParseAddr("192.0.2.1"), 1500)
		if err != nil {
			t.Fatal(err)
		}
		l = Keep(test).Wrap("", l)
		b := packet.NewBatch(1)
		f := b.AppendFrame()
		f.Path = &packet.Path{Dst: netip.MustParseAddr("192.0.2.2")}
		f.Header = append(f.Header, make([]byte, 16)...)
		l.Prepare(b)
		if err := l.Send(b); err != nil {
			t.Fatal(err)
		}
		l.Close()
		test.cleanup()
		if !fails {
			if len(test.log) > 0 {
				t.Errorf("a test that passes logs %v", test.log)
			}
			continue
		}
		path, _ := test.log[0].(string)
		if name := filepath.Base(path); !strings.HasPrefix(name, "gorxe-TestThat_fails__1-") {
			t.Fatalf("%v", test.log)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r, err := capture.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		var frame capture.Frame
		if err := r.Next(&frame); err != nil || frame.Direction != capture.Outbound || len(frame.Data) != 20+8+16 {
			t.Errorf("%+v, %v", frame, err)
		}
	}
}
