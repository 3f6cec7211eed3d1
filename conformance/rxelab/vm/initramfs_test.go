package vm

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type entry struct {
	Name string
	Mode uint64
	Data string
}

// unpack reads a newc archive as described in the kernel's documentation.
func unpack(t *testing.T, b []byte) []entry {
	t.Helper()
	var out []entry
	align := func(n int) int { return (n + 3) &^ 3 }
	for pos := 0; ; {
		head := string(b[pos : pos+110])
		if head[:6] != "070701" {
			t.Fatalf("magic %q at %d", head[:6], pos)
		}
		field := func(i int) uint64 {
			v, err := strconv.ParseUint(head[6+8*i:14+8*i], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		mode, size, nameSize := field(1), int(field(6)), int(field(11))
		name := strings.TrimSuffix(string(b[pos+110:pos+110+nameSize]), "\x00")
		pos = align(pos + 110 + nameSize)
		if name == "TRAILER!!!" {
			if pos != len(b) {
				t.Errorf("%d bytes after the trailer", len(b)-pos)
			}
			return out
		}
		out = append(out, entry{name, mode, string(b[pos : pos+size])})
		pos = align(pos + size)
	}
}

func TestArchive(t *testing.T) {
	var b bytes.Buffer
	a := newArchive(&b)
	a.mkdir("proc")
	a.add("/init", modeExec, []byte("#!"))
	a.add("modules/x/00-a.ko", modeFile, []byte("abc"))
	a.add("modules/x/01-b.ko", modeFile, nil)
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	want := []entry{
		{"proc", modeDir, ""},
		{"init", modeExec, "#!"},
		{"modules", modeDir, ""}, {"modules/x", modeDir, ""},
		{"modules/x/00-a.ko", modeFile, "abc"}, {"modules/x/01-b.ko", modeFile, ""},
	}
	if d := cmp.Diff(want, unpack(t, b.Bytes())); d != "" {
		t.Error(d)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestArchiveReportsTheFirstError(t *testing.T) {
	a := newArchive(fullDisk{})
	a.add("init", modeExec, []byte("x"))
	if err := a.close(); err == nil {
		t.Error("no error")
	}
}
