package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// positions returns the line of every key in a valid TOML document, and of every element of a
// list: "device.1.peers.0" is the first element of peers of the second device.
func positions(data []byte) map[string]int {
	w := &walker{lines: map[string]int{}, tables: map[string]int{}, ends: lineEnds(data)}
	w.parser.Reset(data)
	for w.parser.NextExpression() {
		switch n := w.parser.Expression(); n.Kind {
		case unstable.Table:
			w.prefix = w.enter(n, false)
		case unstable.ArrayTable:
			w.prefix = w.enter(n, true)
		case unstable.KeyValue:
			w.pair(w.prefix, n)
		}
	}
	return w.lines
}

type walker struct {
	parser unstable.Parser
	ends   []int // of lines
	lines  map[string]int
	tables map[string]int // number of tables so far in each array of tables
	prefix string         // of the keys that follow
}

// enter records the header of a table and returns its path.
func (w *walker) enter(n *unstable.Node, array bool) string {
	path := ""
	for it := n.Key(); it.Next(); {
		path = join(path, string(it.Node().Data))
		last := it.IsLast()
		if count, ok := w.tables[path]; last && array {
			w.note(path, it.Node())
			w.tables[path] = count + 1
			path = join(path, strconv.Itoa(count))
		} else if ok {
			path = join(path, strconv.Itoa(count-1))
		}
		w.note(path, it.Node())
	}
	return path
}

// pair records a key and the contents of its value.
func (w *walker) pair(prefix string, n *unstable.Node) {
	path := prefix
	for it := n.Key(); it.Next(); {
		path = join(path, string(it.Node().Data))
		w.note(path, it.Node())
	}
	w.inside(path, n.Value())
}

// inside records the elements of a list and the keys of an inline table.
func (w *walker) inside(path string, n *unstable.Node) {
	switch n.Kind {
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			w.pair(path, it.Node())
		}
	case unstable.Array:
		i := 0
		for it := n.Children(); it.Next(); {
			e := it.Node()
			if e.Kind == unstable.Comment {
				continue
			}
			at := join(path, strconv.Itoa(i))
			w.note(at, e)
			w.inside(at, e)
			i++
		}
	}
}

// maxLevels is the maximum nesting of a key with its value: parts of the key, lists and tables. No
// valid file has more. Thousands of levels take the parser seconds, and their paths gigabytes.
const maxLevels = 32

// maxKeys is the maximum number of keys in a file, counting each part of a dotted key. The parser
// compares each key with the earlier ones: 60,000 tables take it seconds.
const maxKeys = 10_000

// tooMuch returns the line and a description of the first key that exceeds maxLevels, alone or with
// its value, or maxKeys; "" if there is none. It ignores syntax errors, which the parser reports.
func tooMuch(data []byte) (line int, what string) {
	var p unstable.Parser
	p.Reset(data)
	keys := 0
	for p.NextExpression() {
		n := p.Expression()
		switch {
		case !fits(n, maxLevels, &keys):
			what = fmt.Sprintf("a key or value has more than %d levels", maxLevels)
		case keys > maxKeys:
			what = fmt.Sprintf("the file has more than %d keys", maxKeys)
		default:
			continue
		}
		key := n.Key()
		key.Next()
		return lineAt(lineEnds(data), key.Node()), what
	}
	return 0, ""
}

// fits reports whether n, a table header, a key with its value or a value, has at most left levels.
// It adds the number of keys in n to keys.
func fits(n *unstable.Node, left int, keys *int) bool {
	if n.Kind == unstable.Table || n.Kind == unstable.ArrayTable || n.Kind == unstable.KeyValue {
		for it := n.Key(); it.Next(); {
			left--
			*keys++
		}
	}
	if left < 0 {
		return false
	}
	switch n.Kind {
	case unstable.KeyValue:
		return fits(n.Value(), left, keys)
	case unstable.InlineTable, unstable.Array:
		for it := n.Children(); it.Next(); {
			if !fits(it.Node(), left-1, keys) {
				return false
			}
		}
	}
	return true
}

// note records the line of n, unless the path is known.
func (w *walker) note(path string, n *unstable.Node) {
	if _, known := w.lines[path]; known || n.Raw.Length == 0 {
		return
	}
	w.lines[path] = lineAt(w.ends, n)
}

// lineAt returns the line in which a node begins.
func lineAt(ends []int, n *unstable.Node) int {
	before, _ := slices.BinarySearch(ends, int(n.Raw.Offset))
	return before + 1
}

// lineEnds returns the offsets of all line feeds.
func lineEnds(data []byte) (ends []int) {
	for i, c := range data {
		if c == '\n' {
			ends = append(ends, i)
		}
	}
	return ends
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// lineOf returns the line of a path, or of the nearest enclosing path that has one.
func lineOf(lines map[string]int, path string) int {
	for {
		if n, ok := lines[path]; ok {
			return n
		}
		i := strings.LastIndexByte(path, '.')
		if i < 0 {
			return 1
		}
		path = path[:i]
	}
}

func place(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }
