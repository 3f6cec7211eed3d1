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

// A Value is one option's place in a Config. It is a pflag.Value, so that a flag can be one.
type Value interface {
	Set(text string) error // says what is allowed where text is not
	String() string
	Type() string
	Allowed() string // for people: what Set takes

	takes() kind // of TOML
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

// refused is the error of a Set.
func refused(v Value, text string) error {
	return fmt.Errorf("%q is not allowed: give %s", text, v.Allowed())
}

// text is any string, or one that check takes.
type text struct {
	p     *string
	allow string
	check func(string) bool
}

func (v text) Set(s string) error {
	if v.check != nil && !v.check(s) {
		return refused(v, s)
	}
	*v.p = s
	return nil
}
func (v text) String() string  { return *v.p }
func (v text) Type() string    { return "string" }
func (v text) Allowed() string { return v.allow }
func (v text) takes() kind     { return kindString }

// choice is one of some words.
type choice struct {
	p  *string
	of []string
}

func (v choice) Set(s string) error {
	if !slices.Contains(v.of, s) {
		return refused(v, s)
	}
	*v.p = s
	return nil
}
func (v choice) String() string  { return *v.p }
func (v choice) Type() string    { return "word" }
func (v choice) Allowed() string { return oneOf(v.of) }
func (v choice) takes() kind     { return kindString }

func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// choices are some of some words.
type choices struct {
	p  *[]string
	of []string
}

func (v choices) Set(s string) error {
	if !slices.Contains(v.of, s) {
		return refused(v, s)
	}
	if !slices.Contains(*v.p, s) {
		*v.p = append(*v.p, s)
	}
	return nil
}
func (v choices) String() string  { return strings.Join(*v.p, ",") }
func (v choices) Type() string    { return "words" }
func (v choices) Allowed() string { return oneOf(v.of) }
func (v choices) takes() kind     { return kindList }
func (v choices) clear()          { *v.p = nil }

// prefixes are networks and addresses.
type prefixes struct{ p *[]netip.Prefix }

func (v prefixes) Set(s string) error {
	if p, err := netip.ParsePrefix(s); err == nil && !p.Addr().Is4In6() {
		*v.p = append(*v.p, p.Masked())
		return nil
	}
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		*v.p = append(*v.p, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
		return nil
	}
	return refused(v, s)
}
func (v prefixes) String() string {
	var all []string
	for _, p := range *v.p {
		all = append(all, p.String())
	}
	return strings.Join(all, ",")
}
func (v prefixes) Type() string    { return "networks" }
func (v prefixes) Allowed() string { return "a network such as 192.0.2.0/24 or an address" }
func (v prefixes) takes() kind     { return kindList }
func (v prefixes) clear()          { *v.p = nil }

// number is a whole number; 0 may stand for what zero says.
type number struct {
	p        *int
	min, max int
	zero     string
}

func (v number) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || (n < v.min || n > v.max) && (n != 0 || v.zero == "") {
		return refused(v, s)
	}
	*v.p = n
	return nil
}
func (v number) String() string { return strconv.Itoa(*v.p) }
func (v number) Type() string   { return "number" }
func (v number) Allowed() string {
	a := fmt.Sprintf("%d to %d", v.min, v.max)
	if v.zero != "" {
		a += ", or 0 for " + v.zero
	}
	return a
}
func (v number) takes() kind { return kindInteger }

// mtu is a path MTU.
type mtu struct{ p *int }

var mtus = []string{"256", "512", "1024", "2048", "4096"}

func (v mtu) Set(s string) error {
	if s != "0" && !slices.Contains(mtus, s) {
		return refused(v, s)
	}
	n, err := strconv.Atoi(s)
	*v.p = n
	return err
}
func (v mtu) String() string  { return strconv.Itoa(*v.p) }
func (v mtu) Type() string    { return "bytes" }
func (v mtu) Allowed() string { return oneOf(mtus) + ", or 0 for the largest that the network carries" }
func (v mtu) takes() kind     { return kindInteger }

// switched is true or false.
type switched struct{ p *bool }

func (v switched) Set(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return refused(v, s)
	}
	*v.p = b
	return nil
}
func (v switched) String() string   { return strconv.FormatBool(*v.p) }
func (v switched) Type() string     { return "bool" }
func (v switched) Allowed() string  { return "true or false" }
func (v switched) takes() kind      { return kindBoolean }
func (v switched) IsBoolFlag() bool { return true }

// duration is a time that is not negative.
type duration struct{ p *time.Duration }

func (v duration) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return refused(v, s)
	}
	*v.p = d
	return nil
}
func (v duration) String() string  { return v.p.String() }
func (v duration) Type() string    { return "duration" }
func (v duration) Allowed() string { return "a duration such as 10s or 1m30s" }
func (v duration) takes() kind     { return kindString }

// moment is a duration that is at most max.
type moment struct {
	duration
	max time.Duration
}

func (v moment) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > v.max {
		return refused(v, s)
	}
	*v.p = d
	return nil
}
func (v moment) Allowed() string { return "a duration of 0s to " + v.max.String() }

// size is a number of bytes.
type size struct{ p *uint64 }

var units = []struct {
	suffix string
	bytes  uint64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"", 1}}

func (v size) Set(s string) error {
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || n > math.MaxInt64/u.bytes {
			break
		}
		*v.p = n * u.bytes
		return nil
	}
	return refused(v, s)
}
func (v size) String() string { return Size(*v.p) }
func (v size) Type() string   { return "bytes" }
func (v size) Allowed() string {
	return "a number of bytes, or one with KiB, MiB, GiB or TiB behind it"
}
func (v size) takes() kind { return kindSize }

// Size writes a number of bytes as short as it can be without losing any.
func Size(n uint64) string {
	for _, u := range slices.Backward(units[:len(units)-1]) {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatUint(n/u.bytes, 10) + u.suffix
		}
	}
	return strconv.FormatUint(n, 10)
}

// mode is that of a file.
type mode struct{ p *fs.FileMode }

func (v mode) Set(s string) error {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || len(s) < 3 || fs.FileMode(n)&^0o777 != 0 || n&0o600 != 0o600 {
		return refused(v, s)
	}
	*v.p = fs.FileMode(n)
	return nil
}
func (v mode) String() string  { return fmt.Sprintf("%04o", uint32(*v.p)) }
func (v mode) Type() string    { return "mode" }
func (v mode) Allowed() string { return `an octal mode such as "0600" or "0660" that lets its user in` }
func (v mode) takes() kind     { return kindString }

// level is that of a log.
type level struct{ p *slog.Level }

// Levels are the names of what can be logged, least first.
var Levels = []string{"debug", "info", "warn", "error"}

// ParseLevel returns the level with a name of [Levels].
func ParseLevel(name string) (l slog.Level, err error) {
	err = level{&l}.Set(name)
	return l, err
}

func (v level) Set(s string) error {
	i := slices.Index(Levels, s)
	if i < 0 {
		return refused(v, s)
	}
	*v.p = slog.LevelDebug + slog.Level(i)*(slog.LevelInfo-slog.LevelDebug)
	return nil
}
func (v level) String() string  { return strings.ToLower(v.p.String()) }
func (v level) Type() string    { return "level" }
func (v level) Allowed() string { return oneOf(Levels) }
func (v level) takes() kind     { return kindString }

// listenable is true for host:port with a number for a port.
func listenable(s string) bool {
	host, port, err := net.SplitHostPort(s)
	n, perr := strconv.ParseUint(port, 10, 16)
	return s == "" || err == nil && perr == nil && n > 0 && !strings.ContainsAny(host, " /")
}

func isAddr(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// isName is true for what can be a name: it stands in file names, metrics and commands.
func isName(s string) bool {
	const punctuation = "._-"
	return len(s) > 0 && len(s) <= 64 && !strings.HasPrefix(s, "-") && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(punctuation, r)
	}) < 0
}

func isRegion(s string) bool { return region.CheckName(s) == nil }

const nameAllowed = "1 to 64 letters, digits, dots, dashes and underscores"
