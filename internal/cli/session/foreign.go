package session

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/verbs"
)

// ForeignGIDs are the networks of GIDs that a peer may use although its TCP connection has
// another address.
type ForeignGIDs []netip.Prefix

// AddForeignGIDsFlag adds the flag --foreign-gids, for peers whose TCP and RDMA addresses differ.
func AddForeignGIDsFlag(fs *pflag.FlagSet, f *ForeignGIDs) {
	fs.Var(f, "foreign-gids",
		"`networks` and addresses, such as 192.0.2.0/24 or 2001:db8::7, that the peer may name as its GID, "+
			"in addition to the address of its TCP connection")
}

// Set adds networks and addresses, separated by commas.
func (f *ForeignGIDs) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		if p, err := netip.ParsePrefix(word); err == nil && !p.Addr().Is4In6() {
			*f = append(*f, p.Masked())
			continue
		}
		a, err := netip.ParseAddr(word)
		if err != nil || a.Zone() != "" {
			return fmt.Errorf("%q is not a network such as 192.0.2.0/24 or an address", word)
		}
		*f = append(*f, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
	}
	return nil
}

// Explains marks the errors of Set as complete messages.
func (f *ForeignGIDs) Explains() {}

// Type returns the kind of value for the help text.
func (f *ForeignGIDs) Type() string { return "networks" }

// String returns the networks, separated by commas.
func (f *ForeignGIDs) String() string {
	var all []string
	for _, p := range *f {
		all = append(all, p.String())
	}
	return strings.Join(all, ",")
}

// CheckNamed rejects a GID that is not the address of the peer's TCP connection, unless
// --foreign-gids allows it. gidFlag is the flag that selects a GID.
func (s *Session) CheckNamed(gid verbs.GID, gidFlag string) error {
	tcp := exchange.Address(s.Conn.RemoteAddr())
	if s.peers == nil {
		s.peers = &exchange.Peers{Foreign: s.foreign, Own: exchange.HostAddrs(exchange.Zones(tcp, s.GID.Addr)...)}
		for _, g := range s.Device.GIDs() {
			s.peers.Own = append(s.peers.Own, exchange.HostAddr{Addr: g.Addr, Bits: g.Addr.BitLen()})
		}
	}
	err := s.peers.Check(tcp, gid, s.GID.Addr.Zone())
	var refused *exchange.PeerError
	if errors.As(err, &refused) && refused.Never == "" {
		return fmt.Errorf("%w: choose the GID of that address at the peer with %s or, if both addresses are the peer's, give --foreign-gids %v here", err, gidFlag, refused.GID.WithZone(""))
	}
	return err
}
