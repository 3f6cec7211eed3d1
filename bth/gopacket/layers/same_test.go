package layers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The files of bth/layers are the same, except import paths and the documentation of the package.
func TestBothGopacketPackagesHaveTheSameCode(t *testing.T) {
	for _, name := range []string{"layers.go", "headers.go", "check.go", "layers_test.go"} {
		here, there := code(t, name), code(t, filepath.Join("..", "..", "layers", name))
		there = strings.NewReplacer("gorxe/bth/layers", "gorxe/bth/gopacket/layers",
			"github.com/google/gopacket", "github.com/gopacket/gopacket").Replace(there)
		if diff := cmp.Diff(there, here); diff != "" {
			t.Errorf("%s (-bth/layers +here):\n%s", name, diff)
		}
	}
}

// code returns a file without its package documentation.
func code(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := strings.ReplaceAll(string(text), "\r\n", "\n")
	return s[strings.Index(s, "package layers"):]
}
