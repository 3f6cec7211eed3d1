package verbs

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
)

// A peer's RTU may arrive after this end has given up the connection that it would establish.
func TestAnRTUAfterTheEndEstablishesNothing(t *testing.T) {
	link, err := pipe.NewNet().Open(netip.MustParseAddr("192.0.2.1"), 1500)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := Open(Config{Links: []packet.Link{link}})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	cq, err := dev.CreateCQ(1)
	if err != nil {
		t.Fatal(err)
	}
	q, err := dev.AllocPD().CreateQP(QPInitAttr{SendCQ: cq})
	if err != nil {
		t.Fatal(err)
	}
	c := &Conn{qp: q, ready: make(chan struct{}), over: make(chan struct{}), disconnecting: true}
	c.end(nil)
	c.event(&cm.Event{Kind: cm.Established})
	if c.established {
		t.Error("established")
	}
}
