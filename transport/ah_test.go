package transport

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

func TestAddressHandleTellsWhatItWasMadeOf(t *testing.T) {
	pd := &mr.PD{ID: 1}
	vector := qp.AddressVector{FlowLabel: 7}
	for dst, multicast := range map[string]bool{
		"192.0.2.1": false, "224.0.0.1": true, "2001:db8::1": false, "ff0e::7": true} {
		a := NewAH(pd, vector, 0, packet.Path{Dst: netip.MustParseAddr(dst)}, 1024, nil)
		if a.PD() != pd || a.Vector() != vector || a.Multicast() != multicast {
			t.Errorf("%s: domain %v, vector %+v, multicast %v", dst, a.PD(), a.Vector(), a.Multicast())
		}
	}
}

func TestNoAddressHandleTellsNothing(t *testing.T) {
	var a *AH
	if a.PD() != nil || a.Vector() != (qp.AddressVector{}) || a.Multicast() {
		t.Errorf("domain %v, vector %+v, multicast %v", a.PD(), a.Vector(), a.Multicast())
	}
}
