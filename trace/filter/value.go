package filter

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/trace"
)

// value is the right side of a comparison: a range of numbers, a network, or a name.
type value struct {
	low, high uint64 // equal for a single number; low > high wraps around, for PSNs
	net       netip.Prefix
	text      string
}

// field is a property of packets. Exactly one of is, numbers, addrs and texts is set.
type field struct {
	names   []string // gorxe's own name first, if any; then Wireshark's
	example string
	what    string

	is      func(*trace.Packet) bool
	numbers func(*trace.Packet) numbers
	addrs   func(*trace.Packet) addrs
	// texts reports whether the value of the field is want, and whether p has the field (some).
	texts func(p *trace.Packet, want string) (is, some bool)

	bits   int      // width of the numbers
	around bool     // ranges may wrap around
	called names    // names of numbers
	known  []string // all values of texts
}

// numbers are the n values of a field in a packet, in an array to avoid allocation.
type numbers struct {
	v [4]uint64
	n int
}

type addrs struct {
	v [2]netip.Addr
	n int
}

// parse parses a value of f.
func (f *field) parse(text string) (value, error) {
	switch {
	case f.addrs != nil:
		return parseAddr(text)
	case f.texts != nil:
		for _, k := range f.known {
			if strings.EqualFold(k, text) {
				return value{text: k}, nil
			}
		}
		return value{}, fmt.Errorf("%q is unknown; the values are %s", text, strings.Join(f.known, ", "))
	}
	low, high, isRange := strings.Cut(text, "..")
	if isRange && low == "" || isRange && high == "" {
		return value{}, fmt.Errorf("%q is not a range: write both ends, such as 10..20", text)
	}
	var v value
	var err error
	if v.low, err = f.number(low); err != nil {
		return value{}, err
	}
	v.high = v.low
	if isRange {
		if v.high, err = f.number(high); err != nil {
			return value{}, err
		}
		if v.low > v.high && !f.around {
			return value{}, fmt.Errorf("the range %q is empty", text)
		}
	}
	return v, nil
}

func (f *field) number(text string) (uint64, error) {
	if n, ok := f.called[squeeze(text)]; ok {
		return n, nil
	}
	switch strings.ToLower(text) {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number: write for example %s", text, f.example)
	}
	if f.bits < 64 && n>>f.bits != 0 {
		return 0, fmt.Errorf("%s is more than the field's %d bits hold", text, f.bits)
	}
	return n, nil
}

func parseAddr(text string) (value, error) {
	if strings.Contains(text, "/") {
		net, err := netip.ParsePrefix(text)
		if err != nil {
			return value{}, fmt.Errorf("%q is not a network: write for example 198.18.0.0/16", text)
		}
		return value{net: net.Masked()}, nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return value{}, fmt.Errorf("%q is not an address", text)
	}
	addr = addr.WithZone("").Unmap()
	return value{net: netip.PrefixFrom(addr, addr.BitLen())}, nil
}

// present returns a matcher for packets that have f.
func (f *field) present() matcher {
	switch {
	case f.addrs != nil:
		return func(p *trace.Packet) bool {
			return f.addrs(p).n > 0
		}
	case f.texts != nil:
		return func(p *trace.Packet) bool {
			_, some := f.texts(p, "")
			return some
		}
	}
	return func(p *trace.Packet) bool {
		return f.numbers(p).n > 0
	}
}

// compare returns a matcher for packets that satisfy "f op v". op is not in.
func (f *field) compare(op string, v value) matcher {
	switch op {
	case "==":
		return func(p *trace.Packet) bool { return f.any(p, v) }
	case "!=":
		there := f.present()
		return func(p *trace.Packet) bool { return there(p) && !f.any(p, v) }
	}
	var holds func(n uint64) bool
	switch op {
	case "<":
		holds = func(n uint64) bool { return n < v.low }
	case "<=":
		holds = func(n uint64) bool { return n <= v.high }
	case ">":
		holds = func(n uint64) bool { return n > v.high }
	default:
		holds = func(n uint64) bool { return n >= v.low }
	}
	return func(p *trace.Packet) bool {
		all := f.numbers(p)
		for _, n := range all.v[:all.n] {
			if holds(n) {
				return true
			}
		}
		return false
	}
}

// any reports whether one of the packet's values of f matches v.
func (f *field) any(p *trace.Packet, v value) bool {
	switch {
	case f.addrs != nil:
		all := f.addrs(p)
		for _, a := range all.v[:all.n] {
			if v.net.Contains(a) {
				return true
			}
		}
		return false
	case f.texts != nil:
		is, _ := f.texts(p, v.text)
		return is
	}
	all := f.numbers(p)
	for _, n := range all.v[:all.n] {
		if v.low <= v.high && n >= v.low && n <= v.high || v.low > v.high && (n >= v.low || n <= v.high) {
			return true
		}
	}
	return false
}
