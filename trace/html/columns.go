package html

import (
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"strconv"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/filter"
)

// column is a field of filter expressions with its values in the packets of the page, so that the
// page evaluates an expression as package filter does. Packets in a row with the same values are a
// run.
type column struct {
	Names   []string          `json:"n"`
	Type    filter.Type       `json:"t"`
	Bits    int               `json:"b,omitempty"`
	Wraps   bool              `json:"w,omitempty"`
	What    string            `json:"d,omitempty"`
	Example string            `json:"e,omitempty"`
	Named   map[string]uint64 `json:"m,omitempty"`
	Known   []string          `json:"k,omitempty"`
	// Same is 1 + the index of an earlier field with the same values; 0: none.
	Same int              `json:"s,omitempty"`
	Runs *json.RawMessage `json:"r,omitempty"` // [values, length, values, length, …]; see columns.values
}

// columns makes the columns.
type columns struct {
	page    *Page
	index   int            // of the next column
	known   map[string]int // index of the first column with these runs
	numbers []uint64
	addrs   []netip.Addr
	texts   []string
}

// of returns the column of f.
func (c *columns) of(f filter.Field) column {
	o := column{Names: f.Names, Type: f.Type, Bits: f.Bits, Wraps: f.Wraps, What: f.What, Example: f.Example,
		Named: f.Named, Known: f.Known}
	runs := c.runs(f)
	if c.known == nil {
		c.known = map[string]int{}
	}
	if i, ok := c.known[string(runs)]; ok {
		o.Same = i + 1
	} else {
		c.known[string(runs)] = c.index
		raw := json.RawMessage(runs)
		o.Runs = &raw
	}
	c.index++
	return o
}

// runs returns the JSON of the runs of f.
func (c *columns) runs(f filter.Field) []byte {
	out := []byte{'['}
	var last, now []byte
	n := 0
	end := func() {
		if n > 0 {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(append(append(out, last...), ','), int64(n), 10)
		}
	}
	for _, e := range c.page.kept.list {
		now = c.values(now[:0], f, c.page.asSeen(e))
		if n > 0 && string(now) == string(last) {
			n++
			continue
		}
		end()
		last, n = append(last[:0], now...), 1
	}
	end()
	return append(out, ']')
}

// values appends the values of f in k: null for none, one value, or a list. Flags are 1. Numbers
// above the integers that JavaScript represents exactly are strings. Addresses are strings of 8 or
// 32 hexadecimal digits.
func (c *columns) values(b []byte, f filter.Field, k *trace.Packet) []byte {
	n := 0
	next := func() {
		if n++; n > 1 {
			b = append(b, ',')
		}
	}
	b = append(b, '[')
	switch f.Type {
	case filter.Flag:
		if f.Has(k) {
			next()
			b = append(b, '1')
		}
	case filter.Number:
		c.numbers = f.Numbers(c.numbers[:0], k)
		for _, v := range c.numbers {
			next()
			if v < 1<<53 {
				b = strconv.AppendUint(b, v, 10)
			} else {
				b = append(strconv.AppendUint(append(b, '"'), v, 10), '"')
			}
		}
	case filter.Address:
		c.addrs = f.Addrs(c.addrs[:0], k)
		for _, a := range c.addrs {
			next()
			b = append(hex.AppendEncode(append(b, '"'), a.AsSlice()), '"')
		}
	case filter.Text:
		c.texts = f.Texts(c.texts[:0], k)
		for _, t := range c.texts {
			next()
			b = strconv.AppendQuote(b, t) // the known texts need no JSON escape
		}
	}
	switch n {
	case 0:
		return append(b[:len(b)-1], "null"...)
	case 1:
		return append(b[:0], b[1:]...)
	}
	return append(b, ']')
}
