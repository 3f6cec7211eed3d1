package packaging

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// maxBinary is the maximum size of the image's program in bytes.
const maxBinary = 26 << 20

func TestTheImageHoldsOneStaticProgram(t *testing.T) {
	out, err := built()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(out, "bin", "gorxe")
	i, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if i.Size() > maxBinary {
		t.Errorf("it has %d bytes", i.Size())
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("it has a %v, the image has nothing to link it with", p.Type)
		}
	}
	want := "gorxe " + builtVersion + ", commit " + builtCommit[:12] + ", ("
	if text, err := exec.Command(path, "--version").CombinedOutput(); err != nil ||
		!strings.HasPrefix(string(text), want) {
		t.Errorf("%v: %s, want %s", err, text, want)
	}
}
