package bth

import (
	"hash/crc32"
	"testing"

	"golang.org/x/sys/unix"
)

// The page after the buffer is not readable: the function must not read past the packet.
func TestAnUpdateReadsNothingOutsideItsInput(t *testing.T) {
	if !canFold {
		t.Skip("this processor lacks VPCLMULQDQ, or the build has the tag purego")
	}
	page := unix.Getpagesize()
	area, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(area); err != nil {
			t.Error(err)
		}
	}()
	for _, outside := range [][]byte{area[:page], area[2*page:]} {
		if err := unix.Mprotect(outside, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	inside := area[page : 2*page]
	for n := 16; n <= page; n++ {
		for _, b := range [][]byte{inside[:n], inside[page-n:]} {
			if got, want := updateFolded(1, b), crc32.Update(1, crc32.IEEETable, b); got != want {
				t.Fatalf("%d bytes: %#08x, want %#08x", n, got, want)
			}
			if got, want := ICRCStartWith(1, b[:BTHLen], b[BTHLen:]), ICRCStart(1, b); got != want {
				t.Fatalf("packet of %d bytes: %#08x, want %#08x", n, got, want)
			}
		}
	}
}
