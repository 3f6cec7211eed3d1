package app

import (
	"math"
	"strconv"

	"github.com/spf13/pflag"
)

// sizeFlag is the flag value of an int that is a number of bytes.
type sizeFlag int

func (f *sizeFlag) Explains() {}

func (f *sizeFlag) Type() string { return "bytes" }

func (f *sizeFlag) String() string { return strconv.Itoa(int(*f)) }

func (f *sizeFlag) Set(s string) error {
	n, err := ParseBytes(s)
	if err != nil {
		return err
	}
	*f = sizeFlag(min(n, math.MaxInt))
	return nil
}

// AddSize adds a flag for a size in bytes.
func AddSize(fs *pflag.FlagSet, size *int, name, letter string, value int, usage string) {
	*size = value
	fs.VarP((*sizeFlag)(size), name, letter, usage)
}

// Range is the value of a flag with its limits; see InRange.
type Range struct {
	flag            string
	value, min, max int
}

// InRange returns the range check of a flag whose value must be least to most.
func InRange(flag string, value, least, most int) Range {
	return Range{flag, value, least, most}
}

// CheckRanges returns a usage error for the first value out of its range.
func CheckRanges(ranges ...Range) error {
	for _, r := range ranges {
		if r.value < r.min || r.value > r.max {
			return Usagef("%s %d: must be %d to %d", r.flag, r.value, r.min, r.max)
		}
	}
	return nil
}

// CheckGIDFlag rejects a negative GID index that was given on the command line.
func CheckGIDFlag(fs *pflag.FlagSet, name string) error {
	f := fs.Lookup(name)
	if v, _ := fs.GetInt(name); f.Changed && v < 0 {
		return Usagef("-%s %d: GID indexes start at 0; 'gorxe devinfo -v' lists them", f.Shorthand, v)
	}
	return nil
}

// DefaultInWords hides the numeric default of flags whose description already names the default.
func DefaultInWords(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		fs.Lookup(name).DefValue = "0"
	}
}

// refused is the annotation of flags that the original tool has and gorxe does not support. Its
// value is the reason.
const refused = "gorxe_refused"

// AddAccepted adds a hidden flag of the original tool that has no effect in gorxe.
func AddAccepted(fs *pflag.FlagSet, name, letter string) {
	fs.BoolP(name, letter, false, "accepted and ignored")
	fs.Lookup(name).Hidden = true
}

// AddRefused adds a hidden flag of the original tool that gorxe does not support. CheckRefused
// reports why.
func AddRefused(fs *pflag.FlagSet, name, letter, why string) {
	fs.StringP(name, letter, "", why)
	f := fs.Lookup(name)
	f.Hidden, f.NoOptDefVal = true, "set"
	f.Annotations = map[string][]string{refused: {why}}
}

// CheckRefused returns a usage error for the first flag that is set and was added by AddRefused.
func CheckRefused(fs *pflag.FlagSet) error {
	var err error
	fs.Visit(func(f *pflag.Flag) {
		if why, ok := f.Annotations[refused]; ok && err == nil {
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			err = Usagef("%s is not supported: %s; omit it", name, why[0])
		}
	})
	return err
}
