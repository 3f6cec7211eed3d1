package links

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
)

// offer returns kinds that can be opened if their err is nil; the best is the last.
func offer(errs ...error) (kinds []kind) {
	net := pipe.NewNet()
	for i, err := range errs {
		open := func(addr netip.Addr) (packet.Link, error) {
			if err != nil {
				return nil, err
			}
			l, oerr := net.Open(addr, 1500)
			return named{l, fmt.Sprint("kind", i)}, oerr
		}
		kinds = append(kinds, kind{fmt.Sprint("kind", i), nil, open, fmt.Sprint("merit ", i)})
	}
	return kinds
}

// named is a link with another name.
type named struct {
	packet.Link
	name string
}

func (n named) Caps() packet.Caps { return packet.Caps{Name: n.name} }

func TestTheBestKindThatWorksIsChosen(t *testing.T) {
	addr := netip.MustParseAddr("192.0.2.1")
	no := errors.New("no such driver")
	busy := fmt.Errorf("port taken: %w", syscall.EADDRINUSE)
	away := fmt.Errorf("not there: %w", syscall.EADDRNOTAVAIL)
	for _, c := range []struct {
		name    string
		offered []error
		want    string // texts of the choices, separated by "; "
		err     error
	}{
		{"all work", []error{nil, nil, nil},
			"kind2: chosen; kind1: not chosen: kind2 is better: merit 2; kind0: not chosen: kind2 is better: merit 2",
			nil},
		{"the best does not", []error{nil, nil, no},
			"kind2: not chosen: no such driver; kind1: chosen; kind0: not chosen: kind1 is better: merit 1", nil},
		{"only the last does", []error{nil, no, no},
			"kind2: not chosen: no such driver; kind1: not chosen: no such driver; kind0: chosen", nil},
		{"none does", []error{no, no, no},
			"kind2: not chosen: no such driver; kind1: not chosen: no such driver; kind0: not chosen: no such driver",
			no},
		{"the port is taken", []error{nil, busy, no},
			"kind2: not chosen: no such driver; kind1: not chosen: port taken: " + syscall.EADDRINUSE.Error(),
			syscall.EADDRINUSE},
		{"the address is not there", []error{nil, nil, away},
			"kind2: not chosen: not there: " + syscall.EADDRNOTAVAIL.Error(), syscall.EADDRNOTAVAIL},
	} {
		t.Run(c.name, func(t *testing.T) {
			kinds := offer(c.offered...)
			l, choices, err := choose(addr, kinds)
			var said []string
			for _, ch := range choices {
				said = append(said, ch.String())
			}
			if got := strings.Join(said, "; "); got != c.want {
				t.Errorf("choices:\n%s\nwant\n%s", got, c.want)
			}
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("error %v, want %v", err, c.err)
			}
			if (l == nil) != (err != nil) {
				t.Errorf("link %v with error %v", l, err)
			}
			if l != nil && !strings.Contains(c.want, l.Caps().Name+": chosen") {
				t.Errorf("the link is of kind %s", l.Caps().Name)
			}
		})
	}
}
