package hostmem

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// fileOf makes a file with content and returns its path.
func fileOf(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "region")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func openFile(t testing.TB, path string, o FileOptions) *Memory {
	t.Helper()
	m, err := File(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func init() { kinds["file"] = someFile }

// someFile returns memory of a file with size zero bytes.
func someFile(t testing.TB, size uint64) *Memory {
	t.Helper()
	return openFile(t, fileOf(t, make([]byte, size)), FileOptions{})
}

func read(t *testing.T, m *Memory, off uint64, n int) string {
	t.Helper()
	p := make([]byte, n)
	if err := m.ReadAt(p, off); err != nil {
		t.Fatal(err)
	}
	return string(p)
}

func TestSizeOfAFile(t *testing.T) {
	path := fileOf(t, make([]byte, 5000))
	for _, c := range []struct {
		ask, want uint64
		words     []string
	}{
		{0, 5000, nil},
		{1, 1, nil},
		{4096, 4096, nil},
		{5000, 5000, nil},
		{5001, 0, []string{path, "has 5000 bytes", "5001"}},
		{1 << 63, 0, []string{path, "has 5000 bytes"}},
	} {
		m, err := File(path, FileOptions{Size: c.ask})
		if c.words != nil {
			saysAll(t, err, c.words...)
			continue
		}
		if err != nil {
			t.Errorf("%d bytes: %v", c.ask, err)
			continue
		}
		if m.Size() != c.want {
			t.Errorf("asked for %d bytes it has %d, want %d", c.ask, m.Size(), c.want)
		}
		if err := m.WriteAt([]byte{1}, c.want); err == nil {
			t.Errorf("of %d bytes the one behind can be written", c.want)
		}
		m.Close()
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 5000 {
		t.Errorf("the file's size was changed: %v, %v", info.Size(), err)
	}
}

func saysAll(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one that says %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error is %q, it should say %q", err, w)
		}
	}
}

func TestWhatIsNoOrdinaryFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.WriteFile(in("target"), []byte("content"), 0o600),
		os.WriteFile(in("empty"), nil, 0o600),
		os.Symlink("target", in("link")),
		os.Symlink("nowhere", in("dangling")),
		unix.Mkfifo(in("fifo"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	whole, made := FileOptions{}, FileOptions{Create: true, Size: 4096}
	for _, c := range []struct {
		name  string
		o     FileOptions
		words []string
	}{
		{"missing", whole, []string{"missing", "no such file"}},
		{"empty", whole, []string{"empty", "size"}},
		{"link", whole, []string{"link", "symbolic link"}},
		{"link", made, []string{"link", "symbolic link"}},
		{"dangling", made, []string{"dangling", "symbolic link"}},
		{"fifo", whole, []string{"fifo", "not a regular file"}},
		{"fifo", FileOptions{ReadOnly: true}, []string{"fifo", "not a regular file"}},
		{".", FileOptions{ReadOnly: true}, []string{"not a regular file"}},
		{"no/folder", made, []string{"no/folder", "no such file"}},
		{"made", FileOptions{Create: true}, []string{"made", "needs a size"}},
		{"made", FileOptions{Create: true, Size: 1, ReadOnly: true}, []string{"reading only"}},
		{"made", FileOptions{Create: true, Size: 1, Mode: 0o4600}, []string{"04600"}},
		{"made", FileOptions{Create: true, Size: 1 << 63}, []string{"made", "9223372036854775808"}},
		{"made", FileOptions{Create: true, Size: 1<<63 - 1}, []string{"made", "9223372036854775807"}},
	} {
		m, err := File(in(c.name), c.o)
		saysAll(t, err, c.words...)
		if err == nil {
			m.Close()
		}
	}
	for _, name := range []string{"made", "nowhere"} {
		if _, err := os.Lstat(in(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was left behind: %v", name, err)
		}
	}
	if m, err := Shared("a/b", made); err == nil {
		m.Close()
		t.Error("shared memory with a slash in its name was opened")
	}
}

func TestFileThatIsMadeHasItsSizeModeAndSpace(t *testing.T) {
	const size = 1 << 20
	for _, mode := range []fs.FileMode{0, 0o600, 0o640, 0o666} {
		path := filepath.Join(t.TempDir(), "made")
		m := openFile(t, path, FileOptions{Create: true, Size: size, Mode: mode})
		want := mode
		if want == 0 {
			want = 0o600
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want || info.Size() != size || m.Size() != size {
			t.Errorf("made with mode %v: %v, %d bytes", mode, info.Mode(), info.Size())
		}
		if got := info.Sys().(*syscall.Stat_t).Blocks * 512; got < size {
			t.Errorf("%d bytes of %d have their place on the disk", got, size)
		}
		if err := m.WriteAt([]byte("kept"), 0); err != nil {
			t.Fatal(err)
		}
		again := openFile(t, path, FileOptions{Create: true, Size: size, Mode: 0o644})
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("the mode of an existing file was changed: %v, %v", info.Mode(), err)
		}
		if got := read(t, again, 0, 4); got != "kept" {
			t.Errorf("the content of an existing file is %q", got)
		}
	}
}

func TestExistingFileKeepsItsHoles(t *testing.T) {
	path := fileOf(t, nil)
	if err := os.Truncate(path, 1<<20); err != nil {
		t.Fatal(err)
	}
	m := openFile(t, path, FileOptions{Create: true, Size: 1 << 20})
	read(t, m, 0, 4096)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Sys().(*syscall.Stat_t).Blocks; got != 0 {
		t.Errorf("%d blocks of the disk were taken", got)
	}
}

func TestFileAndMemoryAreTheSameBytes(t *testing.T) {
	name := fmt.Sprintf("/gorxe-test-%d", os.Getpid())
	path := sharedDir + name
	shared, err := Shared(name, FileOptions{Create: true, Size: 8192})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shared.Close(); os.Remove(path) })
	ordinary := fileOf(t, make([]byte, 8192))
	for _, c := range []struct {
		path string
		m    *Memory
	}{{ordinary, openFile(t, ordinary, FileOptions{})}, {path, shared}} {
		b := secondMapping(t, c.path)
		copy(b[100:], "from a local program")
		if got := read(t, c.m, 100, 20); got != "from a local program" {
			t.Errorf("%s: read %q", c.path, got)
		}
		if err := errors.Join(c.m.WriteAt([]byte("from a peer"), 4090),
			c.m.WriteFinalAt([]byte("the end of it"), 5001)); err != nil {
			t.Fatal(err)
		}
		if got := b[4090:4101]; string(got) != "from a peer" {
			t.Errorf("%s: the mapping has %q", c.path, got)
		}
		if all, err := os.ReadFile(c.path); err != nil || !bytes.Equal(all, b) ||
			string(all[5001:5014]) != "the end of it" {
			t.Errorf("%s: the file has other bytes than the mapping: %v", c.path, err)
		}
	}
}

// secondMapping maps the file as another program would.
func secondMapping(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	return b
}

func TestReadOnlyFileIsRead(t *testing.T) {
	path := fileOf(t, []byte("sixteen bytes..."))
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	m := openFile(t, path, FileOptions{ReadOnly: true})
	if !m.ReadOnly() {
		t.Error("it does not say that it can only be read")
	}
	each(m, 0, 16, func(name string, writes bool, err error) {
		if writes != errors.Is(err, os.ErrPermission) || !writes && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	if got := read(t, m, 8, 8); got != "bytes..." {
		t.Errorf("read %q", got)
	}
	if os.Getuid() != 0 {
		if w, err := File(path, FileOptions{}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("opened for writing: %v, %v", w, err)
		}
	}
}

func TestDeletedFileStaysInUse(t *testing.T) {
	path := fileOf(t, []byte("old content"))
	m := openFile(t, path, FileOptions{})
	b := secondMapping(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.WriteAt([]byte("new"), 0), m.Flush(0, 3, true)); err != nil {
		t.Error(err)
	}
	if got := read(t, m, 0, 11) + string(b); got != "new contentnew content" {
		t.Errorf("the memory and another mapping have %q", got)
	}
}

func TestReplacedFileIsFoundWhenItIsOpenedAnew(t *testing.T) {
	path := fileOf(t, []byte("the old file"))
	m := openFile(t, path, FileOptions{})
	other := fileOf(t, []byte("the new file"))
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if err := m.WriteFinalAt([]byte("THE"), 0); err != nil {
		t.Fatal(err)
	}
	if got := read(t, m, 0, 12); got != "THE old file" {
		t.Errorf("the memory has %q", got)
	}
	if got := read(t, openFile(t, path, FileOptions{}), 0, 12); got != "the new file" {
		t.Errorf("opened anew it has %q", got)
	}
}
