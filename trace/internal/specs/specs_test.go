package specs_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorxe/gorxe/trace/internal/specs"
)

var update = flag.Bool("update", false, "write the captures to trace/testdata/specs")

func TestTheCommittedCapturesAreThoseOfTheSpecifications(t *testing.T) {
	dir := filepath.Join("..", "..", "testdata", "specs")
	if *update {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range specs.Captures() {
		path := filepath.Join(dir, c.Name+".pcap")
		if *update {
			if err := os.WriteFile(path, c.Data, 0o644); err != nil {
				t.Error(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, c.Data) {
			t.Errorf("%s differs (go test -update rewrites it): %v", path, err)
		}
	}
}
