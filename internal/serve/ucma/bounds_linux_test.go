package ucma

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/uapi"
)

func TestAllChannelsTogetherHaveALimitedNumberOfIdentifiers(t *testing.T) {
	s := hosts(t)[0]
	s.allIDs = 3
	p := start(t, s)
	first, second := p.open(), p.open()
	ids := []uint32{first.create(uapi.PortSpaceTCP, 1), first.create(uapi.PortSpaceTCP, 2),
		second.create(uapi.PortSpaceTCP, 3)}
	for _, c := range []*channel{first, second} {
		_, err := ask[uapi.UCMCreateIDResp](c, uapi.UCMCmdCreateID, func(a uint64) any {
			return uapi.UCMCreateID{UID: 4, Response: a, PS: uint16(uapi.PortSpaceTCP)}
		})
		if uapi.ErrnoOf(err) != uapi.ENOMEM {
			t.Errorf("one more identifier: %v, want ENOMEM", err)
		}
	}
	first.destroy(ids[0])
	second.create(uapi.PortSpaceTCP, 4)
}

// However events leave the queues, there is space for others afterwards.
func TestAllChannelsTogetherHaveALimitedNumberOfEvents(t *testing.T) {
	s := hosts(t)[0]
	s.allEvents = 2
	p := start(t, s)
	to := netip.AddrPortFrom(netip.MustParseAddr("239.1.2.3"), 7) // is resolved at once
	waits := func() (c *channel, id uint32) {
		c = p.open()
		id = c.create(uapi.PortSpaceUDP, 1)
		if err := c.resolve(id, to); err != nil {
			t.Fatal(err)
		}
		return c, id
	}
	refused := func() {
		t.Helper()
		c := p.open()
		defer c.close()
		id := c.create(uapi.PortSpaceUDP, 1)
		if err := c.resolve(id, to); uapi.ErrnoOf(err) != uapi.ENOMEM {
			t.Errorf("one more event: %v, want ENOMEM", err)
		}
		c.destroy(id)
	}
	waits()
	fetched, _ := waits()
	refused()
	fetched.event()
	destroyed, id := waits()
	refused()
	destroyed.destroy(id)
	closed, _ := waits()
	refused()
	if err := closed.ch.Close(); err != nil {
		t.Fatal(err)
	}
	waits()
	refused()
}
