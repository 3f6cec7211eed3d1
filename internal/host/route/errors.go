package route

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Kind is the reason why a destination is unreachable.
type Kind uint8

const (
	NoRoute     Kind = iota // there is no route
	Unreachable             // a route of type unreachable
	Prohibit                // a route of type prohibit
	Blackhole               // a route of type blackhole
	Broadcast               // the destination is a broadcast address
	Anycast                 // the destination is an anycast address of this host, which is a router
	Refused                 // another error of the kernel: see Err
)

// An UnreachableError reports that this host cannot send to Dst.
type UnreachableError struct {
	Kind      Kind
	Dst       netip.Addr
	Interface string // requested interface, "" for any
	Err       error  // error of the kernel, such as syscall.ENETUNREACH; may be nil
}

func (e *UnreachableError) Error() string {
	var by string
	if e.Interface != "" {
		by = " by " + e.Interface
	}
	switch e.Kind {
	case NoRoute:
		return fmt.Sprintf("no route to %v%s: add one, or a default gateway", e.Dst, by)
	case Unreachable, Prohibit, Blackhole:
		word := [...]string{Unreachable: "unreachable", Prohibit: "prohibit", Blackhole: "blackhole"}[e.Kind]
		return fmt.Sprintf("%v is unreachable%s: its route is of type %s: delete it (ip route) or add a narrower one",
			e.Dst, by, word)
	case Broadcast:
		return fmt.Sprintf("%v is a broadcast address: name one host", e.Dst)
	case Anycast:
		return fmt.Sprintf("%v is an anycast address of this host: name one host", e.Dst)
	}
	return fmt.Sprintf("%v is unreachable%s: %v", e.Dst, by, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// A SourceError reports that none of the requested addresses can be the source of packets to Dst.
type SourceError struct {
	Dst     netip.Addr
	Refused []Refusal // empty if Options.Sources is empty
}

// A Refusal is the reason why Addr cannot be the source.
type Refusal struct {
	Addr netip.Addr
	Err  error
}

func (e *SourceError) Error() string {
	if len(e.Refused) == 0 {
		return fmt.Sprintf("no address to send to %v from", e.Dst)
	}
	var list []string
	for _, r := range e.Refused {
		list = append(list, fmt.Sprintf("%v (%v)", r.Addr, r.Err))
	}
	return fmt.Sprintf("cannot send to %v from %s", e.Dst, strings.Join(list, " or "))
}

func (e *SourceError) Unwrap() []error {
	var out []error
	for _, r := range e.Refused {
		out = append(out, r.Err)
	}
	return out
}

// A NeighbourError reports that the link-layer address of the next hop is not known.
type NeighbourError struct {
	Addr      netip.Addr // address of the next hop
	Interface string
	// Err is syscall.EHOSTUNREACH if the kernel's solicitation had no answer, the error of the
	// context if it ended before, or the reason why the kernel sent no solicitation.
	Err error

	solicited bool // the kernel sent a solicitation
}

func (e *NeighbourError) Error() string {
	protocol := "ARP"
	if e.Addr.Is6() {
		protocol = "neighbour discovery"
	}
	at := fmt.Sprintf("%s from %v on %s", protocol, e.Addr.WithZone(""), e.Interface)
	switch {
	case !e.solicited:
		return fmt.Sprintf("no %s: %v", at, e.Err)
	case e.waiting():
		return fmt.Sprintf("no answer to %s so far: %v", at, e.Err)
	}
	return "no answer to " + at
}

func (e *NeighbourError) Unwrap() error { return e.Err }

// Timeout reports whether the neighbour did not answer in time.
func (e *NeighbourError) Timeout() bool {
	return e.solicited && !errors.Is(e.Err, context.Canceled)
}

func (e *NeighbourError) waiting() bool {
	return errors.Is(e.Err, context.Canceled) || errors.Is(e.Err, context.DeadlineExceeded)
}
