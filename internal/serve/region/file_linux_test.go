package region

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorxe/gorxe/internal/host/hostmem"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/verbs"
)

func TestAFileThatShrinksOrGoesIsARefusalAndAllElseGoesOn(t *testing.T) {
	const size = 64 << 10
	w := newWorld(t, Options{}, fault.Config{})
	path := filepath.Join(t.TempDir(), "f")
	file, err := hostmem.File(path, hostmem.FileOptions{Size: size, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	w.export(Export{Name: "f", Kind: "file", Memory: file, Access: allAccess})
	t.Cleanup(func() { _ = w.server.Unexport("f") })
	w.export(Export{Name: "other", Memory: mr.Bytes(make([]byte, 8)), Access: allAccess})
	d := w.client("192.0.2.2")
	other := w.dial(d, "other")

	want := noise(size)
	if _, err := w.dial(d, "f").Write(t.Context(), bytes.NewReader(want), 0); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("the file has something else: %v", err)
	}
	if err := os.Truncate(path, 4096+100); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		var status *StatusError
		if !errors.As(err, &status) || status.Status != verbs.WCRemOpErr {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("READ of all", w.dial(d, "f").Read(t.Context(), io.Discard, 0, size))
	refused("READ of the last page's rest", w.dial(d, "f").Read(t.Context(), io.Discard, 4096+100, 1))
	_, err = w.dial(d, "f").Write(t.Context(), bytes.NewReader(want[:8]), size-8)
	refused("WRITE", err)
	// The NAK arrives while there is no more to write yet.
	input, source := io.Pipe()
	go source.Write(want[:8])
	_, err = w.dial(d, "f").Write(t.Context(), input, size-8)
	refused("WRITE whose input is idle", err)
	if err := input.Close(); err != nil {
		t.Error(err)
	}
	c := w.dial(d, "f")
	add := c.raw(verbs.WRFetchAdd, 8)
	add.RemoteAddr += size - 8
	if s := c.do(t, add); s != verbs.WCRemOpErr {
		t.Errorf("an atomic: %v", s)
	}
	if !errors.Is(file.Err(), hostmem.ErrLost) {
		t.Errorf("the memory says %v", file.Err())
	}
	if got := w.read(w.dial(d, "f"), 0, 4096+100); !bytes.Equal(got, want[:4096+100]) {
		t.Error("what is left is something else")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.read(w.dial(d, "f"), 0, 4096+100)
	w.read(other, 0, 8)
}
