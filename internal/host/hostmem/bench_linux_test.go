package hostmem

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The methods to access a file's bytes that docs/decisions/host-memory.md compares: 1 MiB in
// packets of 4 KiB, and a fetch and add.
func BenchmarkAccess(b *testing.B) {
	const size, packet = 1 << 20, 4096
	path := fileOf(b, make([]byte, size))
	m, a := openFile(b, path, FileOptions{}), anonymous(b, size)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	fd, p, word := int(f.Fd()), make([]byte, packet), make([]byte, 8)
	for _, c := range []struct {
		name   string
		access func(off uint64) error
	}{
		{"write/mapped", func(off uint64) error { return m.WriteAt(p, off) }},
		{"write/mapped, anonymous", func(off uint64) error { return a.WriteAt(p, off) }},
		{"write/pwrite", func(off uint64) error { _, err := unix.Pwrite(fd, p, int64(off)); return err }},
		{"read/mapped", func(off uint64) error { return m.ReadAt(p, off) }},
		{"read/pread", func(off uint64) error { _, err := unix.Pread(fd, p, int64(off)); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				for off := uint64(0); off < size; off += packet {
					if err := c.access(off); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	b.Run("add/mapped", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.FetchAddAt(64, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("add/pread and pwrite", func(b *testing.B) {
		for b.Loop() {
			if _, err := unix.Pread(fd, word, 64); err != nil {
				b.Fatal(err)
			}
			if _, err := unix.Pwrite(fd, word, 64); err != nil {
				b.Fatal(err)
			}
		}
	})
}
