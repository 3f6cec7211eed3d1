package procmem

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
)

var someMaps = strings.Join([]string{
	"00400000-00401000 r--p 00000000 fe:00 12345                              /usr/bin/program",
	"00401000-00402000 r-xp 00001000 fe:00 12345                              /usr/bin/program",
	"00403000-00404000 rw-p 00003000 fe:00 12345                              /usr/bin/" + strings.Repeat("long", 2000),
	"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 ",
	`7f0000001000-7f0000002000 rw-s 00000000 00:01 7                          /memfd:\012400000-500000 rw-p (deleted)`,
	"7f0000002000-7f0000003000 -w-p 00000000 00:00 0 ",
	"7f0000003000-7f0000004000 ---p 00000000 00:00 0                          [guard]",
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
	"",
}, "\n")

func checkText(r io.Reader, addr, end uint64, write bool) (uint64, Kind, error) {
	return checkMaps(newMapsReader(r).above, addr, end, write)
}

func TestEachPageIsLookedUp(t *testing.T) {
	const high = 0x7f0000000000
	for _, c := range []struct {
		addr, end uint64
		write     bool
		at        uint64
		want      Kind
	}{
		{0x400000, 0x402000, false, 0x402000, 0},
		{0x400123, 0x400124, false, 0x400124, 0},
		{0x400fff, 0x401001, false, 0x401001, 0},
		{0x400fff, 0x401001, true, 0x400fff, NotWritable},
		{0x401800, 0x403800, false, 0x402000, Unmapped},
		{0x402000, 0x402001, false, 0x402000, Unmapped},
		{0x403000, 0x404000, true, 0x404000, 0},
		{0x403000, 0x404001, true, 0x404000, Unmapped},
		{0x3fffff, 0x400001, false, 0x3fffff, Unmapped},
		{0, 1, false, 0, Unmapped},
		{high, high + 0x2000, true, high + 0x2000, 0},
		{high + 0xfff, high + 0x2001, false, high + 0x2000, NotReadable},
		{high + 0x3000, high + 0x3001, false, high + 0x3000, NotReadable},
		{high, high + 0x5000, false, high + 0x2000, NotReadable},
		{0xffffffffff600000, 0xffffffffff600001, false, 0xffffffffff600000, NotReadable},
		{0xffffffffff601000, math.MaxUint64, false, 0xffffffffff601000, Unmapped},
	} {
		at, k, err := checkText(strings.NewReader(someMaps), c.addr, c.end, c.write)
		if at != c.at || k != c.want || err != nil {
			t.Errorf("[%#x, %#x) write %v: %v at %#x, %v, want %v at %#x",
				c.addr, c.end, c.write, k, at, err, c.want, c.at)
		}
	}
}

func TestMapsThatAreNotThoseOfTheKernelAreRefused(t *testing.T) {
	const first = "1000-2000 rw-p 0 0:0 0\n"
	for _, text := range []string{
		"\n", "hello\n", "1000-2000\n", "1000-2000 rw-p\n", "1000-2000 rw-pX\n", "1000 rw-p 0 0:0 0\n",
		"2000-1000 rw-p 0 0:0 0\n", "1000-1000 rw-p 0 0:0 0\n", "-1000 rw-p 0 0:0 0\n", "1000- rw-p 0 0:0 0\n",
		"0x1000-0x2000 rw-p 0 0:0 0\n", "+1000-+2000 rw-p 0 0:0 0\n", "1_000-2_000 rw-p 0 0:0 0\n",
		"10000000000000000-20000000000000000 rw-p 0 0:0 0\n", " 1000-2000 rw-p 0 0:0 0\n",
		"1000-2000 wr-p 0 0:0 0\n", "1000-2000 RW-p 0 0:0 0\n", "1000-2000 rw p 0 0:0 0\n",
		first + "1fff-3000 rw-p 0 0:0 0\n", first + "0-1000 rw-p 0 0:0 0\n", first + "\n", first + "x",
		"1000-2000 " + strings.Repeat("r", 2*mapsBuffer) + "\n", strings.Repeat("1", 2*mapsBuffer) + "\n",
	} {
		if at, k, err := checkText(strings.NewReader(text), 0x1000, 0x3000, false); k != System || err == nil {
			t.Errorf("%.40q: %v at %#x, %v", text, k, at, err)
		}
	}
	failing := errors.New("failing")
	r := io.MultiReader(strings.NewReader(first), iotest.ErrReader(failing))
	if _, k, err := checkText(r, 0x1000, 0x3000, false); k != System || err != failing {
		t.Errorf("%v, %v, want the error of the reader", k, err)
	}
	if at, k, err := checkText(strings.NewReader(first+"rubbish"), 0x1000, 0x2000, true); k != 0 ||
		at != 0x2000 || err != nil {
		t.Errorf("what lies behind the range was read: %v at %#x, %v", k, at, err)
	}
}

func TestALineMayBeTheLastWithoutItsEnd(t *testing.T) {
	for _, r := range []io.Reader{strings.NewReader("1000-2000 rw-p 0"),
		iotest.OneByteReader(strings.NewReader("1000-2000 rw-p 0"))} {
		if at, k, err := checkText(r, 0x1000, 0x2000, true); k != 0 || at != 0x2000 || err != nil {
			t.Errorf("%v at %#x, %v", k, at, err)
		}
	}
}

// If a range is accepted, so is each part of it; an error names an address in the range.
func FuzzMaps(f *testing.F) {
	f.Add(someMaps, uint64(0x400000), uint64(0x402000), true)
	f.Add("1000-2000 rw-p 0\n1000-2000 rw-p 0\n", uint64(0x1000), uint64(0x3000), false)
	f.Fuzz(func(t *testing.T, text string, addr, end uint64, write bool) {
		if addr >= end {
			return
		}
		at, k, err := checkText(strings.NewReader(text), addr, end, write)
		if (k == System) != (err != nil) || k == 0 && at != end || k != 0 && (at < addr || at >= end) {
			t.Fatalf("[%#x, %#x): %v at %#x, %v", addr, end, k, at, err)
		}
		middle := addr + (end-addr)/2
		if k == 0 && middle > addr {
			if _, k, _ := checkText(strings.NewReader(text), middle, end, write); k != 0 {
				t.Fatalf("[%#x, %#x) passes, from %#x on it is %v", addr, end, middle, k)
			}
		}
	})
}
