package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Flags holds the options of the command line, which override those of a file: a single option
// replaces the file's, the first --device or --region replaces all of the file's.
type Flags struct {
	given   []given
	devices []string
	regions []string
	scratch Config // destination of values that are only validated
}

type given struct {
	key   string // as in a file
	flag  string
	text  string
	value func(*Config) Value
}

// Add defines a flag for every option.
func (f *Flags) Add(fs *pflag.FlagSet) {
	f.scratch = Default()
	for i := range sections {
		for j := range sections[i].fields {
			o := &sections[i].fields[j]
			v := &optionFlag{flags: f, key: join(sections[i].name, o.key), field: o, Value: o.value(&f.scratch)}
			g := fs.VarPF(v, o.flag, "", o.usage+v.inUsage())
			if v.takes() == kindBoolean {
				g.NoOptDefVal = "true"
			}
		}
	}
	fs.Var(&spec[Device]{all: &f.devices, fields: deviceFields, def: defaultDevice, bare: bareDevice}, "device",
		"a `device`: an interface or address, such as eth0, or keys separated by commas, or both, as in eth0,mtu=1024; keys: "+
			specUsage(deviceFields)+
			"; a list, such as gids=v4,gids=v6, repeats its key; give the flag again for another")
	fs.Var(&spec[Region]{all: &f.regions, fields: regionFields, def: defaultRegion}, "region",
		"a `region`: "+specUsage(regionFields)+
			"; a list, such as access=read,access=write, repeats its key; give the flag again for another")
}

func specUsage[T any](fields []field[T]) string {
	return strings.Join(keysOf(fields), "=,") + "="
}

// optionFlag is the flag of an option: it validates and records its values.
type optionFlag struct {
	Value
	flags *Flags
	key   string
	field *field[Config]
}

// Explains marks a flag whose Set returns errors that say what is allowed.
func (v *optionFlag) Explains() {}

func (v *optionFlag) Set(text string) error {
	if err := v.Value.Set(text); err != nil {
		return err
	}
	v.flags.given = append(v.flags.given, given{v.key, "--" + v.field.flag, text, v.field.value})
	return nil
}

// spec is a flag that describes a whole table as key=value,key=value; the key of a list occurs
// once per element.
type spec[T any] struct {
	all    *[]string
	fields []field[T]
	def    func() T
	bare   func(*T, string) // handles a word without "="; nil if there must be none
}

func (v *spec[T]) Explains()      {}
func (v *spec[T]) String() string { return "" }
func (v *spec[T]) Type() string   { return "description" }

func (v *spec[T]) Set(text string) error {
	if _, err := v.parse(text); err != nil {
		return err
	}
	*v.all = append(*v.all, text)
	return nil
}

func (v *spec[T]) parse(text string) (T, error) {
	t := v.def()
	seen := map[string]bool{}
	for word := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			if v.bare == nil || word == "" || seen[""] {
				return t, fmt.Errorf("%q is not key=value: the keys are %s", word, strings.Join(keysOf(v.fields), ", "))
			}
			seen[""] = true
			v.bare(&t, word)
			continue
		}
		i := slices.IndexFunc(v.fields, func(f field[T]) bool { return f.key == key })
		if i < 0 {
			return t, fmt.Errorf("there is no key %q: the keys are %s", key, strings.Join(keysOf(v.fields), ", "))
		}
		to := v.fields[i].value(&t)
		if list, ok := to.(interface{ clear() }); ok && !seen[key] {
			list.clear()
		} else if !ok && seen[key] {
			return t, fmt.Errorf("%s is given twice", key)
		}
		seen[key] = true
		if err := to.Set(value); err != nil {
			return t, fmt.Errorf("%s: %w", key, err)
		}
	}
	return t, nil
}

// bareDevice handles --device eth0 or --device 192.0.2.1.
func bareDevice(d *Device, word string) {
	if text(&d.Address, "", isAddr).Set(word) != nil {
		d.Interface = word
	}
}

// Apply applies the flags to c.
func (f *Flags) Apply(c *Config) error {
	lists := map[string]bool{}
	for _, g := range f.given {
		v := g.value(c)
		// The first value replaces the list of the file; later values are added.
		if list, ok := v.(interface{ clear() }); ok && !lists[g.key] {
			list.clear()
			lists[g.key] = true
		}
		if err := v.Set(g.text); err != nil {
			return &Problem{g.flag, err.Error()}
		}
		c.at[g.key] = g.flag
	}
	if err := replace(f.devices, "--device", &c.Devices,
		&spec[Device]{fields: deviceFields, def: defaultDevice, bare: bareDevice},
		func(d *Device, at string) { d.At = at }); err != nil {
		return err
	}
	return replace(f.regions, "--region", &c.Regions, &spec[Region]{fields: regionFields, def: defaultRegion},
		func(r *Region, at string) { r.At = at })
}

// replace replaces the tables in to with those that the texts of a flag describe, unless there are
// no texts. at stores the position of a table in it.
func replace[T any](texts []string, flag string, to *[]T, v *spec[T], at func(*T, string)) error {
	if len(texts) == 0 {
		return nil
	}
	*to = nil
	for _, text := range texts {
		t, err := v.parse(text)
		if err != nil {
			return &Problem{flag, err.Error()}
		}
		at(&t, flag+" "+text)
		*to = append(*to, t)
	}
	return nil
}
