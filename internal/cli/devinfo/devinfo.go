// Package devinfo implements 'gorxe devinfo', which prints devices, ports and GIDs as ibv_devinfo
// does.
package devinfo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/links"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
	"github.com/spf13/cobra"
)

type params struct {
	device  app.DeviceFlags
	verbose bool
	list    bool
	json    bool
}

// trafficFlags are the flags of a device that only matter when it sends and receives.
var trafficFlags = []string{"spin", "shards", "fault", "fault-in"}

// Command makes the command 'gorxe devinfo'.
func Command(a *app.App) *cobra.Command {
	p := &params{}
	c := &cobra.Command{
		Use:   "devinfo",
		Short: "Print what a device is and can do, as ibv_devinfo does",
		Long: `Prints a gorxe device's attributes in the layout of ibv_devinfo: one device, named
like its interface, for every network interface that could carry one, or only for the one that
-d names. Nothing is sent and no port is opened, so a daemon may be using the interface; only
--link raw, xdp and auto open links, to see whether that works. node_guid is derived from the
interface, as with rdma_rxe. A device that a daemon opens has a random node_guid instead, a new
one at each start; 'gorxe status' shows it.`,
		Example: `  gorxe devinfo                 every interface
  gorxe devinfo -v -d eth0      GID table and limits of a device on eth0
  gorxe devinfo -v -d 127.0.0.1 --json`,
		Args: app.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range trafficFlags {
				if c.Flags().Changed(name) {
					return app.Usagef("--%s has no effect on what devinfo prints: omit it", name)
				}
			}
			if err := p.device.Check(); err != nil {
				return err
			}
			return run(a, p)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	p.device.Add(fs)
	fs.Lookup("ib-dev").Usage = "network interface or local `address` (default: every interface)"
	for _, name := range trafficFlags {
		fs.Lookup(name).Hidden = true
	}
	fs.BoolVarP(&p.verbose, "verbose", "v", false, "all attributes, limits and the GID table")
	fs.BoolVarP(&p.list, "list", "l", false, "only the names of the interfaces")
	fs.BoolVar(&p.json, "json", false, "print all attributes, limits and the GID table as JSON")
	return c
}

// run prints the devices that p selects. Without -d it skips interfaces that cannot carry a device.
func run(a *app.App, p *params) error {
	names := []string{p.device.Interface}
	if p.device.Interface == "" {
		var err error
		if names, err = usableInterfaces(); err != nil {
			return err
		}
	}
	if p.list {
		fmt.Fprintf(a.Stdout, "%d interface(s) found:\n", len(names))
		for _, n := range names {
			fmt.Fprintf(a.Stdout, "\t%s\n", n)
		}
		return nil
	}
	var infos []deviceInfo
	var failed []error
	for _, name := range names {
		info, err := inspect(a, name, &p.device)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
			continue
		}
		infos = append(infos, info)
	}
	if len(infos) == 0 {
		return errors.Join(failed...)
	}
	for _, err := range failed {
		fmt.Fprintf(a.Stderr, "gorxe: skipped: %s\n", app.OneLine(err))
	}
	if p.json {
		enc := json.NewEncoder(a.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(infos)
	}
	for _, i := range infos {
		i.print(a.Stdout, p.verbose)
	}
	return nil
}

// usableInterfaces returns the names of the interfaces that are up and have an address.
func usableInterfaces() ([]string, error) {
	ifs, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("listing network interfaces: %w", err)
	}
	var names []string
	for _, i := range ifs {
		if _, _, _, err := packet.HostAddrs(i.Name); err == nil {
			names = append(names, i.Name)
		}
	}
	if len(names) == 0 {
		return nil, errors.New(
			"no network interface is up and has an IP address: bring one up, or name an address with -d")
	}
	return names, nil
}

// deviceInfo holds the output for one device.
type deviceInfo struct {
	Name      string           `json:"hca_id"`
	Transport string           `json:"transport"`
	Version   string           `json:"fw_ver"`
	NodeGUID  string           `json:"node_guid"`
	NetDev    string           `json:"netdev,omitempty"`
	Limits    map[string]any   `json:"limits"`
	Port      portInfo         `json:"port"`
	GIDs      []gidInfo        `json:"gids"`
	Links     []string         `json:"links"` // one line for each kind, or for each link
	attr      verbs.DeviceAttr // for printing
}

type portInfo struct {
	State      string `json:"state"`
	MaxMTU     int    `json:"max_mtu"`
	ActiveMTU  int    `json:"active_mtu"`
	LID        uint16 `json:"port_lid"`
	LinkLayer  string `json:"link_layer"`
	MaxMsgSize uint64 `json:"max_msg_sz"`
	PkeyTblLen int    `json:"pkey_tbl_len"`
	GIDTblLen  int    `json:"gid_tbl_len"`
	PhysState  string `json:"phys_state"`
}

type gidInfo struct {
	Index int    `json:"index"`
	GID   string `json:"gid"`
	Type  string `json:"type"`
	Addr  string `json:"address"`
	Link  string `json:"link"`
	MTU   int    `json:"mtu"`
}

// inspect describes the device that gorxe would open on an interface or address.
func inspect(a *app.App, name string, f *app.DeviceFlags) (deviceInfo, error) {
	addrs, mtu, netdev, err := a.Addrs(name)
	if err != nil {
		return deviceInfo{}, err
	}
	dev, inUse, err := openToLook(a, name, f.Link, addrs, mtu)
	if err != nil {
		return deviceInfo{}, err
	}
	defer dev.Close()
	attr, port := dev.Attr(), dev.PortAttr()
	attr.NodeGUID = interfaceGUID(netdev)
	attr.SysImageGUID = attr.NodeGUID
	info := deviceInfo{
		Name: cmp.Or(netdev, name), Transport: "InfiniBand (0)", Version: app.BuildVersion(),
		NodeGUID: guidText(attr.NodeGUID), NetDev: netdev,
		Limits: make(map[string]any), attr: attr,
		Port: portInfo{port.State, int(port.MaxMTU), int(port.ActiveMTU), port.LID, port.LinkLayer, port.MaxMsgSize,
			port.PkeyTblLen, port.GIDTableLen, port.PhysState},
	}
	for _, l := range deviceLimits(&attr) {
		info.Limits[l.name] = l.value
	}
	for _, g := range dev.GIDs() {
		if g.Link == memoryLink {
			g.Link, g.Detail = f.Link, ""
		}
		if inUse != nil {
			g.Detail = "not tried: " + app.OneLine(inUse)
		}
		info.GIDs = append(info.GIDs, gidInfo{g.Index, g.GID.String(), g.Type, g.Addr.String(), g.Link, int(g.MTU)})
		info.addLinks(&g, dev.LinkChoices(g.Addr))
	}
	return info, nil
}

// memoryLink is the kind of links in memory.
const memoryLink = "pipe"

// openToLook opens a device with the same attributes as one on the addresses of an interface. For
// --link udp, which works everywhere, its links are in memory. For the other kinds it opens real
// links; if another program uses their port, the links are in memory too, and inUse is the error.
func openToLook(a *app.App, name, link string, addrs []netip.Addr, mtu int) (dev *verbs.Device,
	inUse error, err error) {
	if link != "" && link != "udp" {
		dev, err = a.Open(verbs.Config{Device: name, Link: link})
		if !errors.Is(err, syscall.EADDRINUSE) {
			return dev, nil, err
		}
		inUse = err
	}
	net := pipe.NewNet()
	var links []packet.Link
	for _, addr := range addrs {
		l, err := net.Open(addr, min(mtu, 65535)) // lo has an MTU of 65536, more than any path MTU needs
		if err != nil {
			return nil, nil, err
		}
		links = append(links, l)
	}
	dev, err = verbs.Open(verbs.Config{Links: links})
	return dev, inUse, err
}

// interfaceGUID returns the node GUID that rdma_rxe gives the device of an interface: its MAC
// address as a modified EUI-64, with an inverted universal/local bit (RFC 4291, appendix A). For an
// interface without a MAC address it uses a MAC address of zeros.
func interfaceGUID(name string) uint64 {
	mac := make(net.HardwareAddr, 6)
	if i, err := net.InterfaceByName(name); err == nil && len(i.HardwareAddr) == len(mac) {
		mac = i.HardwareAddr
	}
	return uint64(mac[0]^2)<<56 | uint64(mac[1])<<48 | uint64(mac[2])<<40 | 0xfffe<<24 |
		uint64(mac[3])<<16 | uint64(mac[4])<<8 | uint64(mac[5])
}

// addLinks adds lines about the link of g: its kind, and why other kinds were not used. It skips
// lines that are already there.
func (i *deviceInfo) addLinks(g *verbs.GIDEntry, choices []links.Choice) {
	add := func(line string) {
		if !slices.Contains(i.Links, line) {
			i.Links = append(i.Links, line)
		}
	}
	kind := g.Link
	if g.Detail != "" {
		kind += ", " + g.Detail
	}
	add(kind)
	for _, c := range choices {
		if c.Err != nil {
			add(app.OneLine(errors.New(c.String())))
		}
	}
}

// attribute prints one line in ibv_devinfo's layout: a name and a value, indented by depth.
func attribute(w io.Writer, depth int, name string, value any) {
	const stop = 8
	column := 40
	if depth > 1 {
		column = 48
	}
	tabs := "\t\t\t"[:depth]
	at := depth*stop + len(name) + 1
	pad := "\t"
	for at = (at/stop + 1) * stop; at < column; at += stop {
		pad += "\t"
	}
	fmt.Fprintf(w, "%s%s:%s%v\n", tabs, name, pad, value)
}

func (i *deviceInfo) print(w io.Writer, verbose bool) {
	t := &i.attr
	fmt.Fprintf(w, "hca_id:\t%s\n", i.Name)
	attribute(w, 1, "transport", i.Transport)
	attribute(w, 1, "fw_ver", i.Version)
	attribute(w, 1, "node_guid", i.NodeGUID)
	attribute(w, 1, "sys_image_guid", guidText(t.SysImageGUID))
	attribute(w, 1, "vendor_id", fmt.Sprintf("0x%04x", t.VendorID))
	attribute(w, 1, "vendor_part_id", t.VendorPartID)
	attribute(w, 1, "hw_ver", fmt.Sprintf("0x%X", t.HWVer))
	if i.NetDev != "" {
		attribute(w, 1, "netdev", i.NetDev)
	}
	attribute(w, 1, "phys_port_cnt", t.PhysPortCnt)
	if verbose {
		for _, l := range deviceLimits(t) {
			attribute(w, 1, l.name, l)
		}
	}
	fmt.Fprintf(w, "\t\tport:\t1\n")
	p := &i.Port
	attribute(w, 3, "state", p.State+" (4)")
	attribute(w, 3, "max_mtu", mtuText(p.MaxMTU))
	attribute(w, 3, "active_mtu", mtuText(p.ActiveMTU))
	attribute(w, 3, "sm_lid", 0)
	attribute(w, 3, "port_lid", p.LID)
	attribute(w, 3, "port_lmc", "0x00")
	attribute(w, 3, "link_layer", p.LinkLayer)
	if verbose {
		attribute(w, 3, "max_msg_sz", fmt.Sprintf("%#x", p.MaxMsgSize))
		attribute(w, 3, "pkey_tbl_len", p.PkeyTblLen)
		attribute(w, 3, "gid_tbl_len", p.GIDTblLen)
		attribute(w, 3, "phys_state", p.PhysState+" (5)")
		for _, g := range i.GIDs {
			attribute(w, 3, fmt.Sprintf("GID[%3d]", g.Index), fmt.Sprintf("%s, %s", g.GID, g.Type))
		}
		for _, l := range i.Links {
			attribute(w, 3, "link", l)
		}
	}
	fmt.Fprintln(w)
}

func mtuText(m int) string { return fmt.Sprintf("%d (%d)", m, verbs.MTU(m).Enum()) }

// limit is one attribute that -v adds.
type limit struct {
	name   string
	value  any
	format string
}

func (l limit) String() string { return fmt.Sprintf(l.format, l.value) }

// deviceLimits returns the limits in ibv_devinfo's order. The value of unsupported features is 0,
// as in ibv_devinfo.
func deviceLimits(t *verbs.DeviceAttr) []limit {
	atomics := "ATOMIC_NONE (%d)"
	if t.AtomicCap == 1 {
		atomics = "ATOMIC_HCA (%d)"
	}
	return []limit{
		{"max_mr_size", t.MaxMRSize, "%#x"}, {"page_size_cap", t.PageSizeCap, "%#x"},
		{"max_qp", t.MaxQP, "%d"}, {"max_qp_wr", t.MaxQPWR, "%d"}, {"device_cap_flags", t.DeviceCapFlags, "0x%08x"},
		{"max_sge", t.MaxSGE, "%d"}, {"max_sge_rd", t.MaxSGERd, "%d"}, {"max_inline_data", t.MaxInline, "%d"},
		{"max_cq", t.MaxCQ, "%d"}, {"max_cqe", t.MaxCQE, "%d"}, {"max_mr", t.MaxMR, "%d"}, {"max_pd", t.MaxPD, "%d"},
		{"max_qp_rd_atom", t.MaxQPRdAtom, "%d"}, {"max_ee_rd_atom", t.MaxEERdAtom, "%d"},
		{"max_res_rd_atom", t.MaxResRdAtom, "%d"},
		{"max_qp_init_rd_atom", t.MaxQPInitRdAtom, "%d"},
		{"atomic_cap", t.AtomicCap, atomics}, {"max_mw", t.MaxMW, "%d"},
		{"max_mcast_grp", t.MaxMcastGrp, "%d"}, {"max_ah", t.MaxAH, "%d"},
		{"max_srq", t.MaxSRQ, "%d"}, {"max_pkeys", t.MaxPkeys, "%d"},
		{"local_ca_ack_delay", t.LocalCAAckDelay, "%d"}, {"device_cap_flags_ex", t.DeviceCapFlagsEx, "0x%X"},
	}
}

// guidText formats a GUID as ibv_devinfo does: "5054:00ff:fe12:3456".
func guidText(g uint64) string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", g>>48&0xffff, g>>32&0xffff, g>>16&0xffff, g&0xffff)
}
