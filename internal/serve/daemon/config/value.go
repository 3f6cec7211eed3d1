package config

import (
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/internal/serve/region"
)

// A Value is one option's place in a Config. It is a pflag.Value, so that it can be a flag.
type Value interface {
	Set(text string) error // the error lists what is allowed
	String() string
	Type() string
	Allowed() string // values that Set accepts, for display

	takes() kind       // type in TOML
	inUsage() string   // part of Allowed for the usage of a flag
	inReference() bool // whether Allowed is part of the reference
}

// kind is a type of TOML.
type kind uint8

const (
	kindString kind = iota
	kindInteger
	kindBoolean
	kindList // of strings
	kindSize // a string or an integer
)

var kindNames = [...]string{"a string", "an integer", "a boolean", "a list of strings", "a string or an integer"}

func (k kind) String() string { return kindNames[k] }

// about holds the properties of a type of values.
type about struct {
	typ, allow string
	kind       kind
	usage      string
	reference  bool
}

func (a about) Type() string      { return a.typ }
func (a about) Allowed() string   { return a.allow }
func (a about) takes() kind       { return a.kind }
func (a about) inUsage() string   { return a.usage }
func (a about) inReference() bool { return a.reference }

func (a about) refuse(text string) error {
	return fmt.Errorf("invalid value %q: use %s", text, a.allow)
}

// option is a [Value] that is not a list: each text replaces the previous one.
type option[T any] struct {
	about
	to    *T
	parse func(string) (v T, ok bool)
	show  func(T) string
}

func (o option[T]) String() string { return o.show(*o.to) }
func (o option[T]) Set(s string) error {
	v, ok := o.parse(s)
	if !ok {
		return o.refuse(s)
	}
	*o.to = v
	return nil
}

// list is a [Value] to which each text adds an element.
type list[T comparable] struct {
	about
	once  bool // duplicates are not added
	to    *[]T
	parse func(string) (v T, ok bool)
	show  func(T) string
}

func (l list[T]) clear() { *l.to = nil }
func (l list[T]) String() string {
	var all []string
	for _, v := range *l.to {
		all = append(all, l.show(v))
	}
	return strings.Join(all, ",")
}
func (l list[T]) Set(s string) error {
	v, ok := l.parse(s)
	if !ok {
		return l.refuse(s)
	}
	if !l.once || !slices.Contains(*l.to, v) {
		*l.to = append(*l.to, v)
	}
	return nil
}

func same(s string) string { return s }

// text returns a string value, restricted to those that check accepts.
func text(to *string, allow string, check func(string) bool) Value {
	return option[string]{about{typ: "string", allow: allow}, to,
		func(s string) (string, bool) { return s, check == nil || check(s) }, same}
}

// choice returns a value that is one of the words.
func choice(to *string, of ...string) Value {
	return option[string]{about{"word", oneOf(of), kindString, ": " + oneOf(of), true}, to, among(of), same}
}

// choices returns a value that is a subset of the words.
func choices(to *[]string, of ...string) Value {
	return list[string]{about{"words", oneOf(of), kindList, "", true}, true, to, among(of), same}
}

func among(words []string) func(string) (string, bool) {
	return func(s string) (string, bool) { return s, slices.Contains(words, s) }
}

func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// prefixes returns a value that is a list of networks and addresses.
func prefixes(to *[]netip.Prefix) Value {
	return list[netip.Prefix]{about{typ: "networks", allow: "a network such as 192.0.2.0/24 or an address",
		kind: kindList}, false, to, parsePrefix, netip.Prefix.String}
}

func parsePrefix(s string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(s); err == nil && !p.Addr().Is4In6() {
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(s)
	return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), err == nil && a.Zone() == ""
}

// number returns an integer value from least to most. If zero is not "", 0 is also allowed and
// means what zero says.
func number(to *int, least, most int, zero string) Value {
	allow := fmt.Sprintf("%d to %d", least, most)
	if zero != "" {
		allow += ", or 0 for " + zero
	}
	return option[int]{about{"number", allow, kindInteger, "", true}, to, func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil && (n >= least && n <= most || n == 0 && zero != "")
	}, strconv.Itoa}
}

// mtu returns a value that is a path MTU.
func mtu(to *int) Value {
	mtus := []string{"256", "512", "1024", "2048", "4096"}
	return option[int]{about{"bytes", oneOf(mtus) + ", or 0 for the largest that the network carries", kindInteger, "",
		true}, to, func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil && (s == "0" || slices.Contains(mtus, s))
	}, strconv.Itoa}
}

// switched returns a boolean value.
func switched(to *bool) Value {
	return option[bool]{about{typ: "bool", allow: "true or false", kind: kindBoolean}, to, func(s string) (bool, bool) {
		b, err := strconv.ParseBool(s)
		return b, err == nil
	}, strconv.FormatBool}
}

// duration returns a value that is a non-negative duration, up to most unless that is 0.
func duration(to *time.Duration, most time.Duration) Value {
	a := about{typ: "duration", allow: "a duration such as 10s or 1m30s", usage: ", such as 10s"}
	if most != 0 {
		a = about{typ: "duration", allow: "a duration of 0s to " + most.String()}
	}
	return option[time.Duration]{a, to, func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && d >= 0 && (most == 0 || d <= most)
	}, time.Duration.String}
}

// size returns a value that is a number of bytes.
func size(to *uint64) option[uint64] {
	return option[uint64]{about{"bytes", "a number of bytes, or a number followed by KiB, MiB, GiB or TiB", kindSize,
		"", true}, to, parseSize, Size}
}

// limitedSize is a size whose limits Check applies.
type limitedSize struct {
	option[uint64]
	least, most uint64 // most is 0 if there is no upper limit
}

// sizeWithin returns a value that is a number of bytes from least to most; if most is 0, there is
// no upper limit.
func sizeWithin(to *uint64, least, most uint64) Value {
	return limitedSize{size(to), least, most}
}

func (s limitedSize) within() bool { return *s.to >= s.least && (s.most == 0 || *s.to <= s.most) }

// limits returns the limits, for display.
func (s limitedSize) limits() string {
	if s.most == 0 {
		return Size(s.least) + " at least"
	}
	return Size(s.least) + " to " + Size(s.most)
}

type unit struct {
	suffix string
	bytes  uint64
}

var units = []unit{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"", 1}}

func parseSize(s string) (uint64, bool) {
	i := slices.IndexFunc(units, func(u unit) bool { return strings.HasSuffix(s, u.suffix) })
	n, err := strconv.ParseUint(strings.TrimSuffix(s, units[i].suffix), 10, 64)
	return n * units[i].bytes, err == nil && n <= math.MaxInt64/units[i].bytes
}

// Size formats a number of bytes with the largest unit that represents it exactly.
func Size(n uint64) string {
	for _, u := range slices.Backward(units[:len(units)-1]) {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatUint(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatUint(n, 10)
}

// mode returns a value that is a file mode.
func mode(to *fs.FileMode) Value {
	return option[fs.FileMode]{about{"mode", `an octal mode such as "0600" or "0660" with read and write for the owner`,
		kindString, "", true}, to, func(s string) (fs.FileMode, bool) {
		n, err := strconv.ParseUint(s, 8, 32)
		return fs.FileMode(n), err == nil && len(s) >= 3 && fs.FileMode(n)&^0o777 == 0 && n&0o600 == 0o600
	}, func(m fs.FileMode) string { return fmt.Sprintf("%04o", uint32(m)) }}
}

// Levels are the names of the log levels, lowest first.
var Levels = []string{"debug", "info", "warn", "error"}

// ParseLevel returns the level with a name of [Levels].
func ParseLevel(name string) (l slog.Level, err error) {
	err = level(&l).Set(name)
	return l, err
}

// level returns a value that is a log level.
func level(to *slog.Level) Value {
	return option[slog.Level]{about{"level", oneOf(Levels), kindString, ": " + oneOf(Levels), true}, to,
		func(s string) (slog.Level, bool) {
			i := slices.Index(Levels, s)
			return slog.LevelDebug + slog.Level(i)*(slog.LevelInfo-slog.LevelDebug), i >= 0
		}, func(l slog.Level) string { return strings.ToLower(l.String()) }}
}

// listenable reports whether s is "" or host:port with a numeric port.
func listenable(s string) bool {
	host, port, err := net.SplitHostPort(s)
	n, perr := strconv.ParseUint(port, 10, 16)
	return s == "" || err == nil && perr == nil && n > 0 && !strings.ContainsAny(host, " /")
}

func isAddr(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// isName reports whether s is valid as a name, which is used in file names, metrics and commands.
func isName(s string) bool {
	const punctuation = "._-"
	return len(s) > 0 && len(s) <= 64 && !strings.HasPrefix(s, "-") && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
			!strings.ContainsRune(punctuation, r)
	}) < 0
}

func isRegion(s string) bool { return region.CheckName(s) == nil }

const nameAllowed = "1 to 64 letters, digits, dots, dashes and underscores"
