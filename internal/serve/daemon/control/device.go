package control

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/verbs"
)

// DeviceOf describes a device. peers are the networks that may communicate with it.
func DeviceOf(d *verbs.Device, peers []netip.Prefix) Device {
	attr, port := d.Attr(), d.PortAttr()
	out := Device{
		Name: d.Name(), Interface: d.NetDev(), NodeGUID: GUID(attr.NodeGUID),
		Port: port.State, MTU: int(port.ActiveMTU),
		GIDs: []GID{}, Skipped: []string{}, Peers: peers, MaxQPs: attr.MaxQP, MaxMRs: attr.MaxMR,
	}
	if out.Peers == nil {
		out.Peers = []netip.Prefix{}
	}
	for _, g := range d.GIDs() {
		out.GIDs = append(out.GIDs, GID{g.Index, g.GID.String(), g.Addr, g.Link, int(g.MTU)})
	}
	for _, err := range d.Skipped() {
		out.Skipped = append(out.Skipped, err.Error())
	}
	if err := d.SendError(); err != nil {
		out.SendError = err.Error()
	}
	for range d.QPs() {
		out.QPs++
	}
	for m := range d.MRs() {
		if m.Kind == verbs.MRRegion || m.Kind == verbs.MRFast {
			out.MRs++
		}
	}
	return out
}

// GUID formats a GUID as ibv_devinfo does: "5054:00ff:fe12:3456".
func GUID(g uint64) string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", g>>48&0xffff, g>>32&0xffff, g>>16&0xffff, g&0xffff)
}
