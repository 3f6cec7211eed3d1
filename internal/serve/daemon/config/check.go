package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Features are the optional services that a build supports.
type Features struct{ Rping, Perftest, Pingpong, Regions bool }

// Check applies the limits of sizes and the rules that involve several options, names unnamed
// devices, and disables or rejects what the build does not support. The error joins all mistakes.
func (c *Config) Check(has Features) error {
	var wrong []error
	add := func(at, format string, args ...any) {
		wrong = append(wrong, &Problem{at, fmt.Sprintf(format, args...)})
	}
	for _, s := range []struct {
		name    string
		service *Service
		served  bool
	}{{"rping", &c.Rping, has.Rping}, {"perftest", &c.Perftest, has.Perftest},
		{"pingpong", &c.Pingpong, has.Pingpong}} {
		if at := c.at["service."+s.name+".enabled"]; s.service.Enabled && !s.served && at != "" {
			add(at, "service %s: this gorxe has no built-in server for it: leave it out or set enabled to false",
				s.name)
		}
		s.service.Enabled = s.service.Enabled && s.served
	}
	c.checkSizes(add)
	c.checkDevices(add)
	c.checkRegions(add, has.Regions)
	if len(c.Regions) > 0 && c.Rping.Enabled && c.Rping.Port == c.Export.Port {
		add(cmp.Or(c.at["service.region.port"], c.at["service.rping.port"]),
			"service region: port %d is that of the service rping: give another", c.Export.Port)
	}
	return errors.Join(wrong...)
}

type complain func(at, format string, args ...any)

// checkSizes reports sizes outside their limits. Set accepts them, because a flag may override
// the file.
func (c *Config) checkSizes(add complain) {
	for _, s := range sections {
		for _, f := range s.fields {
			if v, ok := f.value(c).(limitedSize); ok && !v.within() {
				table := strings.ReplaceAll(s.name, ".", " ")
				add(c.at[join(s.name, f.key)], "%s: %s is %s: it must be %s", table, f.key, v, v.limits())
			}
		}
	}
}

func (c *Config) checkDevices(add complain) {
	names, places := map[string]string{}, map[string]string{}
	for i := range c.Devices {
		d := &c.Devices[i]
		if d.Name == "" {
			d.Name = d.Interface
			if _, taken := names[d.Name]; taken || d.Name == "" {
				d.Name = fmt.Sprintf("gorxe%d", i)
			}
		}
		if before, taken := names[d.Name]; taken {
			add(d.At, "device %s: name already used at %s", d.Name, before)
		}
		names[d.Name] = d.At
		switch {
		case d.Interface == "" && d.Address == "":
			add(d.At, "device %s: it needs an interface or an address", d.Name)
			continue
		case d.Interface != "" && d.Address != "":
			add(d.At, "device %s: it has an interface and an address: give one", d.Name)
			continue
		}
		if before, taken := places[d.On()]; taken {
			add(d.At, "device %s: %s is that of the device of %s: UDP port 4791 of an address is for one device",
				d.Name, d.On(), before)
		}
		places[d.On()] = d.At
		if len(d.GIDs) == 0 {
			add(d.At, "device %s: gids must not be empty: use v4, v6 or both", d.Name)
		} else if a, err := netip.ParseAddr(d.Address); err == nil && !d.Wants(a) {
			add(d.At, "device %s: address %v is not of the kind that gids allows, which is %s", d.Name, a,
				strings.Join(d.GIDs, ", "))
		}
	}
}

// Wants reports whether an address should be among the device's GIDs.
func (d *Device) Wants(a netip.Addr) bool {
	family := "v6"
	if a.Unmap().Is4() {
		family = "v4"
	}
	for _, g := range d.GIDs {
		if g == family {
			return true
		}
	}
	return false
}

func (c *Config) checkRegions(add complain, served bool) {
	names := map[string]string{}
	for i := range c.Regions {
		r := &c.Regions[i]
		who := "region " + r.Name
		if r.Name == "" {
			who = fmt.Sprintf("region %d", i+1)
			add(r.At, "%s: a name is required", who)
		} else if before, taken := names[r.Name]; taken {
			add(r.At, "%s: name already used at %s", who, before)
		}
		names[r.Name] = r.At
		switch r.Kind {
		case "anonymous":
			if r.Path != "" {
				add(r.At, "%s: anonymous memory has no path: leave it out, or choose kind file or shm", who)
			}
		case "file":
			if r.Path == "" {
				add(r.At, "%s: a file needs its path", who)
			}
		case "shm":
			if !isName(r.Path) {
				add(r.At, "%s: shared memory needs the name of the object as path, %s", who, nameAllowed)
			}
		}
		if r.Size == 0 && r.Kind != "file" {
			add(r.At, "%s: it needs a size", who)
		}
		if len(r.Access) == 0 {
			add(r.At, "%s: access is empty: give read, write, atomic or several", who)
		}
		if !served {
			add(r.At, "%s: this gorxe does not export regions: leave it out", who)
		}
	}
}
