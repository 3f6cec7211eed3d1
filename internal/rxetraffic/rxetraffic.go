// Package rxetraffic provides captures of two Linux rxe hosts for tests. testdata/README.md
// describes them.
package rxetraffic

import (
	"compress/gzip"
	"embed"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/*.pcap.gz
var packed embed.FS

// Unpack writes the named captures, or all if there are no names, to a temporary directory of the
// test, as NAME.pcap. It returns their paths in the order of names.
func Unpack(t testing.TB, names ...string) []string {
	t.Helper()
	if len(names) == 0 {
		files, err := packed.ReadDir("testdata")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			names = append(names, strings.TrimSuffix(f.Name(), ".pcap.gz"))
		}
	}
	dir := t.TempDir()
	var paths []string
	for _, name := range names {
		path := filepath.Join(dir, name+".pcap")
		if err := unpack(name, path); err != nil {
			t.Fatalf("capture %s: %v", name, err)
		}
		paths = append(paths, path)
	}
	return paths
}

func unpack(name, path string) error {
	in, err := packed.Open("testdata/" + name + ".pcap.gz")
	if err != nil {
		return err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, z)
	return errors.Join(err, out.Close())
}
