package broker

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gorxe/gorxe/verbs"
)

// A Description holds what programs can learn of a device without opening it. Its methods return
// the same as the methods of [verbs.Device] with these names.
type Description struct {
	DeviceName string
	Interface  string
	DeviceAttr verbs.DeviceAttr
	Port       verbs.PortAttr
	GIDTable   []verbs.GIDEntry
}

// Describe returns the current description of a device.
func Describe(d *verbs.Device) Description {
	return Description{d.Name(), d.NetDev(), d.Attr(), d.PortAttr(), d.GIDs()}
}

// Attr returns the attributes of the device.
func (d *Description) Attr() verbs.DeviceAttr { return d.DeviceAttr }

// PortAttr returns the attributes of the device's port.
func (d *Description) PortAttr() verbs.PortAttr { return d.Port }

// GIDs returns the entries of the device's GID table.
func (d *Description) GIDs() []verbs.GIDEntry { return d.GIDTable }

// is reports whether name names the device: its own name, that of its interface, one of its
// addresses, or "".
func (d *Description) is(name string) bool {
	return name == "" || name == d.DeviceName || name == d.Interface ||
		slices.ContainsFunc(d.GIDTable, func(g verbs.GIDEntry) bool { return g.Addr.String() == name })
}

// A Request selects a device.
type Request struct {
	Device string // name, network interface or address of the device; "" for the first one
	NetNS  string // number of the network namespace that the daemon must be in; "" for any
}

// hello is the data of HELLO.
type hello struct {
	Version int
	Request
}

// encode returns v as the data of a message. JSON can represent all values of the types that are
// passed.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("broker: %T as JSON: %v", v, err))
	}
	return b
}

func decode[T any](data []byte) (v T, err error) {
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("broker: data of a message: %w", err)
	}
	return v, nil
}
