package mad_test

import (
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/cm/mad"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		v    fmt.Stringer
		want string
	}{
		{mad.AttrREQ, "REQ"},
		{mad.AttrMRA, "MRA"},
		{mad.AttrREJ, "REJ"},
		{mad.AttrREP, "REP"},
		{mad.AttrRTU, "RTU"},
		{mad.AttrDREQ, "DREQ"},
		{mad.AttrDREP, "DREP"},
		{mad.AttrSIDRREQ, "SIDR_REQ"},
		{mad.AttrSIDRREP, "SIDR_REP"},
		{mad.AttrLAP, "LAP"},
		{mad.AttrAPR, "APR"},
		{mad.AttrREQ - 1, "attribute 0xf"},
		{mad.AttrAPR + 1, "attribute 0x1b"},
		{mad.MessageREQ, "REQ"},
		{mad.MessageREP, "REP"},
		{mad.MessageOther, "other"},
		{mad.MessageType(3), "reserved"},
		{mad.TransportRC, "RC"},
		{mad.TransportUC, "UC"},
		{mad.TransportRD, "RD"},
		{mad.TransportExtended, "extended"},
		{mad.TransportService(4), "unknown"},
		{mad.RejectReason(0), "reason 0"},
		{mad.RejectInvalidServiceID, "invalid service ID"},
		{mad.RejectStaleConn, "stale connection"},
		{mad.RejectConsumerDefined, "consumer reject"},
		{mad.RejectReason(34), "reason 34"},
		{mad.RejectVendorOptionNotSupported, "vendor option not supported"},
		{mad.RejectReason(36), "reason 36"},
		{mad.RejectReason(65535), "reason 65535"},
		{mad.SIDRSuccess, "QPN valid"},
		{mad.SIDRUnsupportedVersion, "unsupported version"},
		{mad.SIDRStatus(6), "status 6"},
		{mad.GUID(0x505400fffe000002), "5054:00ff:fe00:0002"},
		{mad.PortSpaceTCP, "TCP"},
		{mad.PortSpaceUDP, "UDP"},
		{mad.PortSpace(0x13f), "port space 0x013f"},
		{mad.IPServiceID(mad.PortSpaceTCP, 7174), "TCP port 7174"},
		{mad.ServiceID(0x1000000001061c06), "0x1000000001061c06"},
	} {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("%#v is called %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestEveryRejectReasonHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for r := mad.RejectNoQP; r <= mad.RejectVendorOptionNotSupported; r++ {
		name := r.String()
		if named := name != fmt.Sprintf("reason %d", r); named == (r == 34) || seen[name] {
			t.Errorf("reason %d is called %q", r, name)
		}
		seen[name] = true
	}
}

func TestServiceIDsOfPorts(t *testing.T) {
	for _, tt := range []struct {
		id   mad.ServiceID
		ps   mad.PortSpace
		port uint16
	}{
		{0x01061c06, mad.PortSpaceTCP, 7174},
		{0x01060000, mad.PortSpaceTCP, 0},
		{0x0111ffff, mad.PortSpaceUDP, 65535},
	} {
		if got := mad.IPServiceID(tt.ps, tt.port); got != tt.id {
			t.Errorf("IPServiceID(%v, %d) = %#x, want %#x", tt.ps, tt.port, uint64(got), uint64(tt.id))
		}
		if ps, port, ok := tt.id.IP(); ps != tt.ps || port != tt.port || !ok {
			t.Errorf("%#x is %v, %d, %t, want %v, %d", uint64(tt.id), ps, port, ok, tt.ps, tt.port)
		}
	}
	for _, id := range []mad.ServiceID{0, 0x1061c06 >> 8, 0x01051c06, 0x013f1c06, 0x0101061c06, 1<<63 | 0x01061c06} {
		if ps, port, ok := id.IP(); ok {
			t.Errorf("%#x is %v port %d", uint64(id), ps, port)
		}
	}
}

func TestOnlyServicesOfTheUDPPortSpaceTakeNoConnections(t *testing.T) {
	for _, tt := range []struct {
		id       mad.ServiceID
		connects bool
	}{
		{mad.IPServiceID(mad.PortSpaceTCP, 7174), true},
		{mad.IPServiceID(mad.PortSpaceUDP, 7174), false},
		{0x1000000001061c06, true},
		{0x1000000001111c06, true},
	} {
		if got := tt.id.Connects(); got != tt.connects {
			t.Errorf("%v takes connections: %t, want %t", tt.id, got, tt.connects)
		}
	}
}
