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

// Auto is the name that makes [Listen] open the best kind of link; see [Choose].
const Auto = "auto"

// A kind describes a kind of link that can be opened at an address of the host.
type kind struct {
	name string // Caps.Name of the link
	open func(addr netip.Addr) (packet.Link, error)
	// best opens the link for [Choose]. It fails if the link would not be better than the kinds
	// before it in the list.
	best      func(addr netip.Addr) (packet.Link, error)
	advantage string // advantage over the kinds before it in the list
}

// kinds are ordered by preference, the best last. The first one has the fewest requirements.
var kinds = []kind{
	{"udp", listenUDPUsual, listenUDPUsual, "it needs no privileges"},
	{"raw", listenRawUsual, listenRawUsual, "it sees IP headers, so it checks every ICRC in full"},
	{"xdp", func(addr netip.Addr) (packet.Link, error) { return xdp.Listen(addr, xdp.Options{}) },
		xdp.ListenZeroCopy, "it is zero-copy"},
}

func listenUDPUsual(addr netip.Addr) (packet.Link, error) {
	return socket.ListenUDP(addr, socket.UDPOptions{})
}
func listenRawUsual(addr netip.Addr) (packet.Link, error) {
	return socket.ListenRaw(addr, socket.RawOptions{})
}

// Kinds returns the names of the kinds that [Listen] opens.
func Kinds() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return append(out, Auto)
}

// KindList returns the names of the kinds as text: "udp, raw, xdp or auto".
func KindList() string {
	list := Kinds()
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// CheckKind returns an error if kind is not the name of a kind; "" is valid.
func CheckKind(kind string) error {
	if kind == "" || slices.Contains(Kinds(), kind) {
		return nil
	}
	return fmt.Errorf("packet: no link of kind %q: choose %s", kind, KindList())
}

// Listen opens a link of the given kind on addr with default options: "udp" and "" call
// [socket.ListenUDP], "raw" calls [socket.ListenRaw], "xdp" calls [xdp.Listen] and [Auto] calls
// [Choose].
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

// A Choice tells why a kind of link was selected or not.
type Choice struct {
	Kind string
	Err  error // why the kind was not selected, nil if it was
}

func (c Choice) String() string {
	if c.Err == nil {
		return c.Kind + ": chosen"
	}
	return fmt.Sprintf("%s: not chosen: %v", c.Kind, c.Err)
}

// Choose opens a link of the best kind on addr. It also returns its decision about each kind,
// best first.
//
// The best kind is "xdp" if the network driver supports zero-copy and the link has the largest path
// MTU that the interface permits; otherwise "raw" if the process has CAP_NET_RAW; otherwise "udp".
// Without zero-copy, AF_XDP is slower than the other two: it passes every frame to the kernel
// separately, while they send many at once. "raw" costs the same as "udp" and checks every ICRC in
// full. If "xdp" is not selected, nothing is attached to the interface.
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
			link, better = l, k.name+" is better: "+k.advantage
		case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, syscall.EADDRNOTAVAIL):
			// No other kind can succeed.
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
