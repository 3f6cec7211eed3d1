package rping

import (
	"net/netip"
	"testing"
	"unsafe"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

func TestBuffersAreNotAtTheirOwnAddress(t *testing.T) {
	l, err := pipe.NewNet().Open(netip.MustParseAddr("192.0.2.1"), 1500)
	if err != nil {
		t.Fatal(err)
	}
	d, err := verbs.Open(verbs.Config{Links: []packet.Link{l}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	buf := make([]byte, 64)
	m, err := (&endpoint{}).register(d.AllocPD(), buf, verbs.RemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	own := uint64(uintptr(unsafe.Pointer(&buf[0])))
	if m.Addr() == own || m.Addr()&4095 != own&4095 {
		t.Errorf("a buffer at %#x is a region at %#x", own, m.Addr())
	}
}
