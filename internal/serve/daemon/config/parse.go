package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/gorxe/gorxe/internal/host/textfile"
)

// maxFile is the maximum size of a file in bytes.
const maxFile = 1 << 20

// A Problem is a mistake in a file or a flag.
type Problem struct {
	At   string // "gorxe.toml:12", or a flag
	Text string
}

func (p *Problem) Error() string { return p.At + ": " + p.Text }

// Load reads a file on top of the defaults. If the file is readable, the error joins all
// mistakes, each a [*Problem]. ctx ends the wait for a stream such as /dev/stdin.
func Load(ctx context.Context, file string) (Config, error) {
	data, err := textfile.Read(ctx, file, maxFile)
	if err != nil {
		return Default(), err
	}
	return Parse(file, data)
}

// Parse is Load for the contents of a file; file is used in messages.
func Parse(file string, data []byte) (Config, error) {
	c := Default()
	if len(data) > maxFile {
		return c, &Problem{file, fmt.Sprintf("the file is too long: the limit is %d bytes", maxFile)}
	}
	if line, what := tooMuch(data); what != "" {
		return c, &Problem{place(file, line), what}
	}
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		var syntax *toml.DecodeError
		if !errors.As(err, &syntax) {
			return c, &Problem{file, strings.TrimPrefix(err.Error(), "toml: ")}
		}
		line, _ := syntax.Position()
		return c, &Problem{place(file, line), strings.TrimPrefix(err.Error(), "toml: ")}
	}
	r := &reader{file: file, lines: positions(data), config: &c}
	r.top(tree)
	slices.SortStableFunc(r.problems, func(a, b found) int { return a.line - b.line })
	var all []error
	for _, p := range r.problems {
		all = append(all, &Problem{place(file, p.line), p.text})
	}
	if r.more > 0 {
		all = append(all, &Problem{file, fmt.Sprintf("%d more errors are not shown", r.more)})
	}
	return c, errors.Join(all...)
}

// maxProblems is the maximum number of problems reported per file. A file can have tens of
// thousands, each with its text.
const maxProblems = 100

// reader converts the tree of a document to a Config.
type reader struct {
	file     string
	lines    map[string]int
	config   *Config
	problems []found // at most maxProblems
	more     int     // problems beyond those
}

// found is a problem and its line.
type found struct {
	line int
	text string
}

func (r *reader) wrong(path, format string, args ...any) {
	if len(r.problems) == maxProblems {
		r.more++
		return
	}
	r.problems = append(r.problems, found{lineOf(r.lines, path), named(path) + ": " + fmt.Sprintf(format, args...)})
}

// named returns a path for display, without the indexes of tables and list elements.
func named(path string) string {
	words := strings.Split(path, ".")
	kept := words[:1]
	for _, w := range words[1:] {
		if _, err := strconv.Atoi(w); err != nil {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, ".")
}

// inOrder returns the keys of a table in the order of the file.
func (r *reader) inOrder(path string, t map[string]any) []string {
	return slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		la, lb := lineOf(r.lines, join(path, a)), lineOf(r.lines, join(path, b))
		if la != lb {
			return la - lb
		}
		return strings.Compare(a, b)
	})
}

// top reads the whole document.
func (r *reader) top(tree map[string]any) {
	for _, key := range r.inOrder("", tree) {
		switch key {
		case "device":
			tables(r, key, tree[key], deviceFields, &r.config.Devices, defaultDevice,
				func(d *Device, at string) { d.At = at })
		case "region":
			tables(r, key, tree[key], regionFields, &r.config.Regions, defaultRegion,
				func(g *Region, at string) { g.At = at })
		case "service":
			r.group(key, tree[key])
		default:
			r.section(key, tree[key])
		}
	}
}

// group reads the tables below a name that has no keys of its own.
func (r *reader) group(name string, v any) {
	t, ok := v.(map[string]any)
	if !ok {
		r.wrong(name, "expected tables such as [%s.rping], got %s", name, kindOf(v))
		return
	}
	for _, key := range r.inOrder(name, t) {
		r.section(join(name, key), t[key])
	}
}

// section reads one table, or a key at the top of the file.
func (r *reader) section(name string, v any) {
	top := &sections[0]
	for i := range top.fields {
		if f := &top.fields[i]; f.key == name {
			r.set(name, f.value(r.config), v)
			return
		}
	}
	i := slices.IndexFunc(sections[1:], func(s section) bool { return s.name == name })
	if i < 0 {
		r.unknown(name, topNames())
		return
	}
	t, ok := v.(map[string]any)
	if !ok {
		r.wrong(name, "expected a table [%s], got %s", name, kindOf(v))
		return
	}
	s := &sections[1+i]
	keyed(r, name, t, s.fields, r.config)
}

// keyed reads the keys of a table into c.
func keyed[T any](r *reader, path string, t map[string]any, fields []field[T], c *T) {
	for _, key := range r.inOrder(path, t) {
		at := join(path, key)
		i := slices.IndexFunc(fields, func(f field[T]) bool { return f.key == key })
		if i < 0 {
			r.unknown(at, keysOf(fields))
			continue
		}
		r.set(at, fields[i].value(c), t[key])
	}
}

// tables reads an array of tables.
func tables[T any](r *reader, name string, v any, fields []field[T], to *[]T, def func() T, place func(*T, string)) {
	list, ok := v.([]any)
	if !ok {
		r.wrong(name, "expected [[%s]], got %s", name, kindOf(v))
		return
	}
	for i, e := range list {
		path := join(name, strconv.Itoa(i))
		t, ok := e.(map[string]any)
		if !ok {
			r.wrong(path, "expected a table, got %s", kindOf(e))
			continue
		}
		item := def()
		place(&item, r.at(path))
		keyed(r, path, t, fields, &item)
		*to = append(*to, item)
	}
}

func (r *reader) at(path string) string { return place(r.file, lineOf(r.lines, path)) }

// set sets an option to its value in the file.
func (r *reader) set(path string, to Value, v any) {
	r.config.at[path] = r.at(path)
	if list, ok := v.([]any); ok && to.takes() == kindList {
		to.(interface{ clear() }).clear()
		for i, e := range list {
			at := join(path, strconv.Itoa(i))
			if text, ok := e.(string); !ok {
				r.wrong(at, "expected a string (%s), got %s", to.Allowed(), kindOf(e))
			} else if err := to.Set(text); err != nil {
				r.wrong(at, "%v", err)
			}
		}
		return
	}
	text, k := textOf(v)
	if want := to.takes(); k != want && (want != kindSize || k != kindString && k != kindInteger) {
		r.wrong(path, "expected %v (%s), got %s", want, to.Allowed(), kindOf(v))
		return
	}
	if err := to.Set(text); err != nil {
		r.wrong(path, "%v", err)
	}
}

const noKind = kind(255)

// textOf returns a scalar value as the text that a flag would have, and its type. The type is
// noKind if v is not a string, an integer or a boolean.
func textOf(v any) (string, kind) {
	switch v := v.(type) {
	case string:
		return v, kindString
	case int64:
		return strconv.FormatInt(v, 10), kindInteger
	case bool:
		return strconv.FormatBool(v), kindBoolean
	}
	return "", noKind
}

// kindOf returns the type of a value, for display.
func kindOf(v any) string {
	if _, k := textOf(v); k != noKind {
		return k.String()
	}
	switch v.(type) {
	case map[string]any:
		return "a table"
	case []any:
		return "a list"
	case float64:
		return "a number with a point"
	}
	return "a date or time"
}

func (r *reader) unknown(path string, have []string) {
	key := path[strings.LastIndexByte(path, '.')+1:]
	for _, h := range have {
		if last := h[strings.LastIndexByte(h, '.')+1:]; near(key, last) {
			r.wrong(path, "unknown key, did you mean %q?", h)
			return
		}
	}
	r.wrong(path, "unknown key; known keys: %s", strings.Join(have, ", "))
}

func topNames() []string {
	names := keysOf(sections[0].fields)
	for _, s := range sections[1:] {
		names = append(names, s.name)
	}
	return append(names, "device", "region")
}

func keysOf[T any](fields []field[T]) (keys []string) {
	for _, f := range fields {
		keys = append(keys, f.key)
	}
	return keys
}

// near reports whether two words differ by one inserted, deleted, replaced or transposed letter.
func near(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || len(b) < 3 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	return i == len(a) || a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// Lines returns the text of each error that err joins.
func Lines(err error) (lines []string) {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			lines = append(lines, Lines(e)...)
		}
		return lines
	}
	return []string{err.Error()}
}
