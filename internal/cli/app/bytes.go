package app

import (
	"fmt"
	"strconv"
)

// ParseBytes parses a number of bytes. The suffixes K, M and G, or k, m and g, stand for 2^10,
// 2^20 and 2^30.
func ParseBytes(s string) (uint64, error) {
	digits, by := s, 0
	if n := len(s); n > 1 {
		switch s[n-1] {
		case 'k', 'K':
			digits, by = s[:n-1], 10
		case 'm', 'M':
			digits, by = s[:n-1], 20
		case 'g', 'G':
			digits, by = s[:n-1], 30
		}
	}
	n, err := strconv.ParseUint(digits, 0, 64)
	if err != nil || n<<by>>by != n {
		return 0, fmt.Errorf("%q is not a number of bytes: such as 4096, 0x1000, 4K, 16M or 1G", s)
	}
	return n << by, nil
}

// FirstDiff returns the index of the first byte in which two slices of the same length differ, -1
// if there is none.
func FirstDiff(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
