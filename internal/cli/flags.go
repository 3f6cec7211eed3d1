package cli

import (
	"math"
	"strconv"

	"github.com/spf13/pflag"
)

// sizeFlag is an int that is a number of bytes as a flag.
type sizeFlag int

func (f *sizeFlag) Explains() {}

func (f *sizeFlag) Type() string { return "bytes" }

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

// flagRange is a flag's value with the least and the largest that it may have.
type flagRange struct {
	flag            string
	value, min, max int
}

// inRange is a flag whose value must be least to most.
func inRange(flag string, value, least, most int) flagRange {
	return flagRange{flag, value, least, most}
}

// checkRanges refuses the first flag whose value is out of its range.
func checkRanges(ranges ...flagRange) error {
	for _, r := range ranges {
		if r.value < r.min || r.value > r.max {
			return usagef("%s %d: must be %d to %d", r.flag, r.value, r.min, r.max)
		}
	}
	return nil
}

// checkGIDFlag refuses a negative GID index that was given; not giving one is another thing.
func checkGIDFlag(fs *pflag.FlagSet, name string) error {
	f := fs.Lookup(name)
	if v, _ := fs.GetInt(name); f.Changed && v < 0 {
		return usagef("-%s %d: GID indexes start at 0; 'gorxe devinfo -v' lists them", f.Shorthand, v)
	}
	return nil
}

// defaultInWords keeps the help text from repeating as a number what the description already says of the default.
func defaultInWords(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		fs.Lookup(name).DefValue = "0"
	}
}

// refused is the annotation of flags that the original tool has and gorxe does not; it says why.
const refused = "gorxe_refused"

// addAccepted adds a flag of the original tool that changes nothing here.
func addAccepted(fs *pflag.FlagSet, name, letter string) {
	fs.BoolP(name, letter, false, "accepted, changes nothing")
	fs.Lookup(name).Hidden = true
}

// addRefused adds a flag of the original tool that gorxe cannot serve, to refuse it with a reason instead of as unknown.
func addRefused(fs *pflag.FlagSet, name, letter, why string) {
	fs.StringP(name, letter, "", why)
	f := fs.Lookup(name)
	f.Hidden, f.NoOptDefVal = true, "set"
	f.Annotations = map[string][]string{refused: {why}}
}

func checkRefused(fs *pflag.FlagSet) error {
	var err error
	fs.Visit(func(f *pflag.Flag) {
		if why, ok := f.Annotations[refused]; ok && err == nil {
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			err = usagef("%s is not supported: %s; leave it out", name, why[0])
		}
	})
	return err
}
