//go:build linux && (amd64 || arm64)

package programs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/internal/trap"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// Directories of the kernel that describe RDMA devices.
const (
	classDevices = "/sys/class/infiniband"
	classVerbs   = "/sys/class/infiniband_verbs"
	classCM      = "/sys/class/misc/rdma_cm"
	deviceFiles  = "/dev/infiniband"
)

// Device files.
const (
	verbsFile = deviceFiles + "/uverbs0"
	cmFile    = deviceFiles + "/rdma_cm"
)

// Numbers of the device files. Those of uverbs0 are the same as in Linux, where the minor number of
// rdma_cm is dynamic.
const (
	verbsMajor = 231
	verbsMinor = 192
	cmMajor    = 10
	cmMinor    = 122
)

// described is a device that can be described: a [verbs.Device], or a daemon's description of
// one.
type described interface {
	Attr() verbs.DeviceAttr
	PortAttr() verbs.PortAttr
	GIDs() []verbs.GIDEntry
}

// newDeviceTree creates the tree of a device, with its device files (libibverbs/sysfs.c, device.c;
// providers/rxe; librdmacm/cma.c).
func newDeviceTree(name string) (*trap.Tree, error) {
	if !strings.HasPrefix(name, "rxe") || strings.ContainsAny(name, "/ ") {
		return nil, fmt.Errorf("programs: device name %q: it must begin with rxe", name)
	}
	t, err := trap.NewTree("", classDevices, classVerbs, "/sys/class/infiniband_cm", "/sys/class/infiniband_mad",
		classCM, deviceFiles)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		t.AddDevice(verbsFile, trap.Device{Major: verbsMajor, Minor: verbsMinor, Slot: trap.SlotControl}),
		t.AddDevice(cmFile, trap.Device{Major: cmMajor, Minor: cmMinor, Slot: trap.SlotChannel}),
	)
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// files returns the sysfs attributes that rdma-core reads of a device, by path (libibverbs/sysfs.c,
// device.c; providers/rxe).
func files(dev described, name string) map[string]string {
	attr, port := dev.Attr(), dev.PortAttr()
	d, p := classDevices+"/"+name, classDevices+"/"+name+"/ports/1"
	out := map[string]string{
		classVerbs + "/abi_version":         "6",
		classVerbs + "/uverbs0/ibdev":       name,
		classVerbs + "/uverbs0/dev":         fmt.Sprintf("%d:%d", verbsMajor, verbsMinor),
		classVerbs + "/uverbs0/abi_version": "1",
		classCM + "/abi_version":            strconv.Itoa(uapi.UCMABIVersion),
		classCM + "/dev":                    fmt.Sprintf("%d:%d", cmMajor, cmMinor),
		d + "/node_type":                    "1: CA",
		d + "/node_guid":                    guid(attr.NodeGUID),
		d + "/sys_image_guid":               guid(attr.SysImageGUID),
		d + "/node_desc":                    "gorxe",
		d + "/fw_ver":                       attr.FWVer,
		d + "/hca_type":                     "",
		d + "/device/numa_node":             "-1",
		p + "/state":                        "4: ACTIVE",
		p + "/phys_state":                   "5: LinkUp",
		p + "/rate":                         "40 Gb/sec (4X QDR)",
		p + "/link_layer":                   port.LinkLayer,
		p + "/lid":                          "0x0",
		p + "/sm_lid":                       "0x0",
		p + "/sm_sl":                        "0",
		p + "/lid_mask_count":               "0",
		p + "/cap_mask":                     "0x04010000",
		p + "/pkeys/0":                      "0xffff",
	}
	if port.State != "PORT_ACTIVE" {
		out[p+"/state"], out[p+"/phys_state"] = "1: DOWN", "3: Disabled"
	}
	for _, g := range dev.GIDs() {
		i := strconv.Itoa(g.Index)
		out[p+"/gids/"+i] = gid(g.GID)
		out[p+"/gid_attrs/types/"+i] = "RoCE v2"
		out[p+"/gid_attrs/ndevs/"+i] = g.NetDev
	}
	return out
}

// guid formats a GUID as in sysfs: four groups of four digits.
func guid(g uint64) string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", g>>48, g>>32&0xffff, g>>16&0xffff, g&0xffff)
}

func gid(g verbs.GID) string {
	var groups []string
	for i := 0; i < len(g); i += 2 {
		groups = append(groups, fmt.Sprintf("%02x%02x", g[i], g[i+1]))
	}
	return strings.Join(groups, ":")
}
