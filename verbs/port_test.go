package verbs_test

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// watchedLink is a link whose state the test sets.
type watchedLink struct {
	packet.Link
	changed func(up bool)
}

func (l *watchedLink) WatchState(changed func(up bool)) {
	l.changed = changed
	changed(true)
}

// A port is active while one of its links is up, even if the links are wrapped.
func TestPortFollowsItsLinks(t *testing.T) {
	n := pipe.NewNet()
	var links []*watchedLink
	cfg := verbs.Config{Wrap: func(l packet.Link) packet.Link {
		return packet.Tap(fault.New(l, fault.Config{}), func(packet.Direction, packet.TapFrame) {})
	}}
	for _, a := range []string{"192.0.2.1", "192.0.2.2"} {
		l, err := n.Open(netip.MustParseAddr(a), 1500)
		if err != nil {
			t.Fatal(err)
		}
		w := &watchedLink{Link: l}
		links = append(links, w)
		cfg.Links = append(cfg.Links, w)
	}
	d, err := verbs.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	port := func(want, phys string) {
		t.Helper()
		if a := d.PortAttr(); a.State != want || a.PhysState != phys {
			t.Errorf("the port is %s, %s, want %s, %s", a.State, a.PhysState, want, phys)
		}
	}
	event := func(want verbs.EventType, text string) {
		t.Helper()
		e, err := d.Event(t.Context())
		if err != nil || e != (verbs.AsyncEvent{Type: want, Port: 1}) || e.String() != text {
			t.Errorf("Event = %+v, %v, want %v", e, err, want)
		}
	}
	port("PORT_ACTIVE", "LINK_UP")
	links[0].changed(false)
	port("PORT_ACTIVE", "LINK_UP")
	links[1].changed(false)
	port("PORT_DOWN", "DISABLED")
	event(verbs.EventPortErr, "port 1: port error")
	links[0].changed(true)
	port("PORT_ACTIVE", "LINK_UP")
	event(verbs.EventPortActive, "port 1: port active")
}
