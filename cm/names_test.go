package cm_test

import (
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/cm"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		v    fmt.Stringer
		want string
	}{
		{cm.AttrREQ, "REQ"},
		{cm.AttrMRA, "MRA"},
		{cm.AttrREJ, "REJ"},
		{cm.AttrREP, "REP"},
		{cm.AttrRTU, "RTU"},
		{cm.AttrDREQ, "DREQ"},
		{cm.AttrDREP, "DREP"},
		{cm.AttrSIDRREQ, "SIDR_REQ"},
		{cm.AttrSIDRREP, "SIDR_REP"},
		{cm.AttrLAP, "LAP"},
		{cm.AttrAPR, "APR"},
		{cm.StateREQSent, "REQ_SENT"},
		{cm.StateSIDRREPSent, "SIDR_REP_SENT"},
		{cm.StateSIDRREPSent + 1, "state 10"},
		{cm.Requested, "REQUESTED"},
		{cm.Resolved, "RESOLVED"},
		{cm.Resolved + 1, "event 8"},
		{cm.VerdictHalfOpen, "half_open"},
		{cm.Verdict(cm.NumVerdicts), "unknown"},
		{cm.AttrREQ - 1, "attribute 0xf"},
		{cm.AttrAPR + 1, "attribute 0x1b"},
		{cm.AnsweredREQ, "REQ"},
		{cm.AnsweredREP, "REP"},
		{cm.AnsweredOther, "other"},
		{cm.Answered(3), "reserved"},
		{cm.TransportRC, "RC"},
		{cm.TransportUC, "UC"},
		{cm.TransportRD, "RD"},
		{cm.TransportExtended, "extended"},
		{cm.TransportService(4), "unknown"},
		{cm.RejectReason(0), "reason 0"},
		{cm.RejectInvalidServiceID, "invalid service ID"},
		{cm.RejectStaleConn, "stale connection"},
		{cm.RejectConsumerDefined, "consumer reject"},
		{cm.RejectReason(34), "reason 34"},
		{cm.RejectVendorOptionNotSupported, "vendor option not supported"},
		{cm.RejectReason(36), "reason 36"},
		{cm.RejectReason(65535), "reason 65535"},
		{cm.SIDRSuccess, "QPN valid"},
		{cm.SIDRUnsupportedVersion, "unsupported version"},
		{cm.SIDRStatus(6), "status 6"},
		{cm.GUID(0x505400fffe000002), "5054:00ff:fe00:0002"},
		{cm.PortSpaceTCP, "TCP"},
		{cm.PortSpaceUDP, "UDP"},
		{cm.PortSpace(0x13f), "port space 0x013f"},
		{cm.IPServiceID(cm.PortSpaceTCP, 7174), "TCP port 7174"},
		{cm.ServiceID(0x1000000001061c06), "0x1000000001061c06"},
	} {
		if got := tt.v.String(); got != tt.want {
			t.Errorf("%#v is called %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestEveryRejectReasonHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for r := cm.RejectNoQP; r <= cm.RejectVendorOptionNotSupported; r++ {
		name := r.String()
		if named := name != fmt.Sprintf("reason %d", r); named == (r == 34) || seen[name] {
			t.Errorf("reason %d is called %q", r, name)
		}
		seen[name] = true
	}
}

func TestServiceIDsOfPorts(t *testing.T) {
	for _, tt := range []struct {
		id   cm.ServiceID
		ps   cm.PortSpace
		port uint16
	}{
		{0x01061c06, cm.PortSpaceTCP, 7174},
		{0x01060000, cm.PortSpaceTCP, 0},
		{0x0111ffff, cm.PortSpaceUDP, 65535},
	} {
		if got := cm.IPServiceID(tt.ps, tt.port); got != tt.id {
			t.Errorf("IPServiceID(%v, %d) = %#x, want %#x", tt.ps, tt.port, uint64(got), uint64(tt.id))
		}
		if ps, port, ok := tt.id.IP(); ps != tt.ps || port != tt.port || !ok {
			t.Errorf("%#x is %v, %d, %t, want %v, %d", uint64(tt.id), ps, port, ok, tt.ps, tt.port)
		}
	}
	for _, id := range []cm.ServiceID{0, 0x1061c06 >> 8, 0x01051c06, 0x013f1c06, 0x0101061c06, 1<<63 | 0x01061c06} {
		if ps, port, ok := id.IP(); ok {
			t.Errorf("%#x is %v port %d", uint64(id), ps, port)
		}
	}
}
