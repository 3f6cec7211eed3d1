package cli

import (
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/pflag"
)

// parseBytes reads a number of bytes; K, M and G behind it, or k, m and g, stand for 2^10, 2^20 and 2^30.
func parseBytes(s string) (uint64, error) {
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

// sizeFlag is an int that is a number of bytes as a flag.
type sizeFlag int

func (f *sizeFlag) Explains()      {}
func (f *sizeFlag) Type() string   { return "bytes" }
func (f *sizeFlag) String() string { return strconv.Itoa(int(*f)) }

func (f *sizeFlag) Set(s string) error {
	n, err := parseBytes(s)
	if err != nil {
		return err
	}
	*f = sizeFlag(min(n, math.MaxInt))
	return nil
}

// addSize adds a flag for a size in bytes.
func addSize(fs *pflag.FlagSet, size *int, name, letter string, value int, usage string) {
	*size = value
	fs.VarP((*sizeFlag)(size), name, letter, usage)
}
