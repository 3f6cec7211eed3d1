package verbs_test

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

func TestAProtectionDomainTellsItsOwnerUntilItEnds(t *testing.T) {
	l, err := pipe.NewNet().Open(netip.MustParseAddr("192.0.2.1"), 1500)
	if err != nil {
		t.Fatal(err)
	}
	d, err := verbs.Open(verbs.Config{Links: []packet.Link{l}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c := d.OpenContext(verbs.ContextLimits{})
	defer c.Close()
	before, err := c.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	c.SetOwner("42 ib_write_bw")
	p, err := c.AllocPD()
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[uint32]string{p.ID(): "42 ib_write_bw", before.ID(): "", d.AllocPD().ID(): ""} {
		if got := d.Owner(id); got != want {
			t.Errorf("domain %d is that of %q, want %q", id, got, want)
		}
	}
	if err := p.Dealloc(); err != nil {
		t.Fatal(err)
	}
	if got := d.Owner(p.ID()); got != "" {
		t.Errorf("a domain that has ended is that of %q", got)
	}
}
