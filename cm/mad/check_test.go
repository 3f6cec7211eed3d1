package mad_test

import (
	"testing"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

func TestCheckSaysWhyARequestCannotBeAccepted(t *testing.T) {
	peer, local := qp.GID{15: 1}, qp.GID{15: 2}
	good := mad.REQ{PKey: 0xffff, PathMTU: 3, Primary: mad.Path{LocalGID: peer, RemoteGID: local}}
	for _, tt := range []struct {
		name   string
		change func(*mad.REQ)
		reason mad.RejectReason
		ari    string
	}{
		{"a good one", func(*mad.REQ) {}, 0, ""},
		{"limited membership", func(r *mad.REQ) { r.PKey = 0x7fff }, 0, ""},
		{
			"an unreliable connection", func(r *mad.REQ) { r.TransportService = mad.TransportUC },
			mad.RejectInvalidTransportType, "",
		},
		{"XRC", func(r *mad.REQ) { r.TransportService = mad.TransportExtended }, mad.RejectInvalidTransportType, ""},
		{"another port of ours", func(r *mad.REQ) { r.Primary.RemoteGID[0] = 1 }, mad.RejectInvalidGID,
			string(local[:])},
		{"another partition", func(r *mad.REQ) { r.PKey = 0x8001 }, mad.RejectInvalidGID, string(local[:])},
		{"a queue pair elsewhere", func(r *mad.REQ) { r.Primary.LocalGID[0] = 1 }, mad.RejectUnsupported, ""},
		{"a path MTU of no meaning", func(r *mad.REQ) { r.PathMTU = 0 }, mad.RejectInvalidMTU, "\x04"},
		{"another", func(r *mad.REQ) { r.PathMTU = 6 }, mad.RejectInvalidMTU, "\x04"},
		{"the largest path MTU", func(r *mad.REQ) { r.PathMTU = 4 }, 0, ""},
		{"more than the link carries", func(r *mad.REQ) { r.PathMTU = 5 }, mad.RejectInvalidMTU, "\x04"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := good
			tt.change(&r)
			refuse, ok := r.Check(peer, local, 2048)
			if ok != (tt.reason == 0) || refuse.Reason != tt.reason || string(refuse.ARI()) != tt.ari {
				t.Errorf("%v, refused with %v %x", ok, refuse.Reason, refuse.ARI())
			}
		})
	}
}
