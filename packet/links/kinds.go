package links

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/socket"
	"github.com/gorxe/gorxe/packet/xdp"
)

// Auto stands for the kind that [Choose] chooses.
const Auto = "auto"

// A kind is a link that stands on an address of the host.
type kind struct {
	name string // that Caps gives it
	open func(addr netip.Addr) (packet.Link, error)
	// best opens it where it is better than those before it.
	best  func(addr netip.Addr) (packet.Link, error)
	merit string // what it is better in
}

// kinds are those that there are, the one that needs least first, and the best last.
var kinds = []kind{
	{"udp", listenUDPUsual, listenUDPUsual, "it takes nothing"},
	{"raw", listenRawUsual, listenRawUsual, "it sees IP headers, so that every ICRC is checked in full"},
	{"xdp", func(addr netip.Addr) (packet.Link, error) { return xdp.Listen(addr, xdp.Options{}) }, xdp.ListenZeroCopy, "frames are moved without copying"},
}

func listenUDPUsual(addr netip.Addr) (packet.Link, error) {
	return socket.ListenUDP(addr, socket.UDPOptions{})
}
func listenRawUsual(addr netip.Addr) (packet.Link, error) {
	return socket.ListenRaw(addr, socket.RawOptions{})
}

// Kinds are the kinds of links that [Listen] opens.
func Kinds() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return append(out, Auto)
}

// KindList is a text that names the kinds.
func KindList() string {
	list := Kinds()
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// CheckKind says what is wrong with the name of a kind; "" is right.
func CheckKind(kind string) error {
	if kind == "" || slices.Contains(Kinds(), kind) {
		return nil
	}
	return fmt.Errorf("packet: no link of kind %q: choose %s", kind, KindList())
}

// Listen opens a link of a kind on addr with the options that are right for most: "udp" is [socket.ListenUDP], and so is "";
// "raw" is [socket.ListenRaw], "xdp" [xdp.Listen], and [Auto] is [Choose].
func Listen(kind string, addr netip.Addr) (packet.Link, error) {
	if err := CheckKind(kind); err != nil {
		return nil, err
	}
	if kind == Auto {
		l, _, err := Choose(addr)
		return l, err
	}
	for _, k := range kinds {
		if k.name == kind {
			return k.open(addr)
		}
	}
	return kinds[0].open(addr)
}

// A Choice says of a kind of link why it was chosen or not.
type Choice struct {
	Kind string
	Why  error // why it was not, nil if it was
}

func (c Choice) String() string {
	if c.Why == nil {
		return c.Kind + ": chosen"
	}
	return fmt.Sprintf("%s: not chosen: %v", c.Kind, c.Why)
}

// Choose opens a link on addr of the best kind that works there, and says what became of each kind, the best first.
//
// That is "xdp" where the network driver moves frames without copying them, and of as long a path MTU as the interface
// carries; else "raw" where the process has CAP_NET_RAW; else "udp". With copying, AF_XDP is slower than the other two: it
// hands the kernel every frame by itself, and they send many at once. "raw" costs what "udp" does, and checks every ICRC in full. Where it is not chosen nothing is
// attached to the interface.
func Choose(addr netip.Addr) (packet.Link, []Choice, error) { return choose(addr, kinds) }

func choose(addr netip.Addr, kinds []kind) (packet.Link, []Choice, error) {
	var link packet.Link
	var better string
	var choices []Choice
	var refused []error
	for _, k := range slices.Backward(kinds) {
		if link != nil {
			choices = append(choices, Choice{k.name, errors.New(better)})
			continue
		}
		l, err := k.best(addr)
		choices = append(choices, Choice{k.name, err})
		switch {
		case err == nil:
			link, better = l, k.name+" is better: "+k.merit
		case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, syscall.EADDRNOTAVAIL):
			// No other kind will fare better.
			return nil, choices, err
		default:
			refused = append(refused, err)
		}
	}
	if link == nil {
		return nil, choices, fmt.Errorf("packet: no kind of link works on %v: %w", addr, errors.Join(refused...))
	}
	return link, choices, nil
}
