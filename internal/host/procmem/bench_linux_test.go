package procmem

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

var benchSizes = []int{64, 4 << 10, 64 << 10, 1 << 20}

func sizeName(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%dMiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%dKiB", n>>10)
	}
	return fmt.Sprintf("%dB", n)
}

// BenchmarkCopy compares copies through /proc/PID/mem with process_vm_readv and
// process_vm_writev, which need [AddressSpace.AllowDirect]: see "Identity" in the package
// comment.
func BenchmarkCopy(b *testing.B) {
	p, _, r := memoryOf(b, 1<<20)
	pid := p.cmd.Process.Pid
	for _, size := range benchSizes {
		buf := make([]byte, size)
		local := []unix.Iovec{{Base: &buf[0]}}
		local[0].SetLen(size)
		remote := []unix.RemoteIovec{{Base: uintptr(r.Addr()), Len: size}}
		for _, way := range []struct {
			name string
			copy func() error
		}{
			{"read/mem", func() error { return r.ReadAt(buf, 0) }},
			{"read/process_vm", func() error { _, err := unix.ProcessVMReadv(pid, local, remote, 0); return err }},
			{"write/mem", func() error { return r.WriteAt(buf, 0) }},
			{"write/process_vm", func() error { _, err := unix.ProcessVMWritev(pid, local, remote, 0); return err }},
		} {
			b.Run(way.name+"/"+sizeName(size), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					if err := way.copy(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkUnaligned stores bytes at an address that is not a multiple of the page size: split at
// the page boundary, and in one system call.
func BenchmarkUnaligned(b *testing.B) {
	_, s, r := memoryOf(b, 1<<20)
	buf := make([]byte, 64<<10)
	b.Run("split", func(b *testing.B) {
		for b.Loop() {
			if err := r.WriteAt(buf, 100); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("one_call", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.mem.write(buf, r.Addr()+100); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPieces stores 64 KiB in payloads of the path MTU: all with one pwritev, and each with
// its own call.
func BenchmarkPieces(b *testing.B) {
	_, s, r := memoryOf(b, 1<<20)
	for _, mtu := range []int{1 << 10, 4 << 10} {
		var pieces [][]byte
		for range 64 << 10 / mtu {
			pieces = append(pieces, make([]byte, mtu))
		}
		b.Run("together/"+sizeName(mtu), func(b *testing.B) {
			b.SetBytes(64 << 10)
			for b.Loop() {
				if err := writeAll(r, pieces, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("pwritev/"+sizeName(mtu), func(b *testing.B) {
			b.SetBytes(64 << 10)
			for b.Loop() {
				if _, err := unix.Pwritev(int(s.files.Mem.Fd()), pieces, int64(r.Addr())); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("each/"+sizeName(mtu), func(b *testing.B) {
			b.SetBytes(64 << 10)
			for b.Loop() {
				for i, p := range pieces {
					if err := r.WriteAt(p, uint64(i*mtu)); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkWriteFinal stores a message whose end is aligned, and one whose end is not.
func BenchmarkWriteFinal(b *testing.B) {
	_, _, r := memoryOf(b, 1<<20)
	for _, size := range []int{8, 64, 4 << 10} {
		buf := make([]byte, size)
		for _, off := range []uint64{0, 3} {
			b.Run(fmt.Sprintf("%s/offset%d", sizeName(size), off), func(b *testing.B) {
				for b.Loop() {
					if err := r.WriteFinalAt(buf, off); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkFetchAdd(b *testing.B) {
	_, _, r := memoryOf(b, page)
	for b.Loop() {
		if _, err := r.FetchAddAt(8, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRegister registers a region of a program with the given number of mappings below it,
// with PROCMAP_QUERY and with the text of maps.
func BenchmarkRegister(b *testing.B) {
	for _, mappings := range []int{50, 2000} {
		p := start(b)
		s := p.space()
		base := p.mapped(uint64(2*mappings)*page, protWrite)
		for i := range mappings / 2 {
			p.protect(base+uint64(4*i)*page, page, protRead)
		}
		for _, way := range []string{"query", "text"} {
			b.Run(fmt.Sprintf("%s/mappings%d", way, mappings), func(b *testing.B) {
				s.textMaps.Store(way == "text")
				for b.Loop() {
					r, err := s.Region(base+uint64(2*mappings-1)*page, page, allFlag)
					if err != nil {
						b.Fatal(err)
					}
					r.Close()
				}
			})
		}
	}
}
