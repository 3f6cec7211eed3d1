package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/internal/host/textfile"
	"github.com/gorxe/gorxe/internal/serve/daemon/config"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/internal/serve/respond"
	"github.com/gorxe/gorxe/packet"
)

// Served lists the services of the built-in server of this build.
var Served = config.Features{Rping: true, Perftest: true, Pingpong: true, Regions: true}

// Plan is a configuration together with the resources of the host that it selects.
type Plan struct {
	config.Config
	Places         []Place // of Devices, in the same order
	RegionToCreate []bool  // for each of Regions, whether its file does not exist and will be created
	Bytes          []byte  // payload; nil if there is none
	GID            int     // group of the control socket, -1 for that of the process

	ProgramsGID int // group of the programs socket, likewise
}

// Place is the network location of a device.
type Place struct {
	Addrs     []netip.Addr // present addresses that become GIDs
	Interface string
	MTU       int   // of the interface
	Missing   error // why there are no GIDs; the device waits for them
}

// A Host provides the information about the host for a plan.
type Host struct {
	// Suggest returns the interfaces or addresses of the default devices.
	Suggest func() []string
	// Addrs is [packet.HostAddrs].
	Addrs func(device string) (addrs []netip.Addr, mtu int, ifname string, err error)
	// GroupID returns the ID of a group.
	GroupID func(name string) (int, error)
}

// ThisHost returns the host of this process.
func ThisHost() Host { return Host{Suggest: suggest, Addrs: packet.HostAddrs, GroupID: groupID} }

func groupID(name string) (int, error) {
	if n, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(n), nil
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(g.Gid)
}

// MakePlan checks a configuration against a host. The error joins all mistakes. ctx ends the wait
// for a payload file that is a stream.
func MakePlan(ctx context.Context, c config.Config, h Host) (*Plan, error) {
	p := &Plan{Config: c, GID: -1, ProgramsGID: -1}
	if len(p.Devices) == 0 {
		for _, on := range h.Suggest() {
			d := config.DefaultDevice(on)
			d.At = "the default device"
			p.Devices = append(p.Devices, d)
		}
	}
	wrong := []error{p.Check(Served)}
	owner := map[netip.Addr]string{}
	for i := range p.Devices {
		d := &p.Devices[i]
		if d.On() == "" {
			p.Places = append(p.Places, Place{})
			continue
		}
		addrs, mtu, ifname, err := h.Addrs(d.On())
		if err != nil {
			err = errors.New(strings.TrimPrefix(err.Error(), "packet: "))
		}
		wanted := slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool { return !d.Wants(a) })
		if len(wanted) == 0 && err == nil {
			err = fmt.Errorf("%s has no address of the kind that gids allows, which is %s", d.On(),
				strings.Join(d.GIDs, ", "))
		}
		for _, a := range wanted {
			if other, taken := owner[a]; taken && other != d.On() {
				wrong = append(wrong, &config.Problem{At: d.At,
					Text: fmt.Sprintf("device %s: address %v is that of the device on %s: UDP port 4791 of an address is for one device", d.Name, a, other)})
			}
			owner[a] = d.On()
		}
		p.Places = append(p.Places, Place{wanted, ifname, mtu, err})
	}
	for i := range p.Regions {
		r := &p.Regions[i]
		made, err := checkMemory(r)
		if err != nil {
			wrong = append(wrong, &config.Problem{At: r.At, Text: fmt.Sprintf("region %s: %v", r.Name, err)})
		}
		p.RegionToCreate = append(p.RegionToCreate, made)
	}
	if p.Payload != "" {
		var err error
		if p.Bytes, err = payload(ctx, p.Payload); err != nil {
			wrong = append(wrong, &config.Problem{At: p.At("service.perftest.payload"),
				Text: fmt.Sprintf("service perftest: payload: %v", err)})
		}
	}
	if p.Control.Socket == "" {
		p.Control.Socket = control.DefaultSocket()
	}
	if p.Programs.Socket == "" {
		p.Programs.Socket = control.ProgramsSocket(p.Control.Socket)
	}
	for _, g := range []struct {
		key, name string
		to        *int
	}{{"control.group", p.Control.Group, &p.GID}, {"programs.group", p.Programs.Group, &p.ProgramsGID}} {
		if g.name == "" {
			continue
		}
		gid, err := h.GroupID(g.name)
		if err != nil {
			wrong = append(wrong, &config.Problem{At: p.At(g.key), Text: fmt.Sprintf("%s: %v", g.key, err)})
		}
		*g.to = gid
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return p, nil
}

// payload reads the payload in a file, and checks that it can be compared.
func payload(ctx context.Context, file string) ([]byte, error) {
	text, err := textfile.Read(ctx, file, perftest.MaxPayloadFile)
	if err != nil {
		return nil, err
	}
	b, err := perftest.ParsePayload(file, string(text))
	if err != nil {
		return nil, err
	}
	if err := respond.CheckPayload(b); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return b, nil
}

// Print prints what the daemon is going to do.
func (p *Plan) Print(w io.Writer) {
	for i := range p.Devices {
		d, at := &p.Devices[i], &p.Places[i]
		on := d.On()
		if d.Address != "" && at.Interface != "" {
			on += " (" + at.Interface + ")"
		}
		fmt.Fprintf(w, "device %s on %s: link %s", d.Name, on, d.Link)
		if at.MTU > 0 {
			fmt.Fprintf(w, ", path MTU %s", d.PathMTU(at.MTU))
		}
		fmt.Fprintln(w)
		if at.Missing != nil {
			fmt.Fprintf(w, "  port down until the interface is available: %v\n", at.Missing)
		}
		for _, a := range at.Addrs {
			fmt.Fprintf(w, "  GID of %v\n", a)
		}
		fmt.Fprintf(w, "  at most %s queue pairs and %s memory regions\n", most(d.MaxQP, "1048560"),
			most(d.MaxMR, "524288"))
		fmt.Fprintf(w, "  peers: %s\n", orElse(joined(d.Peers), "all"))
	}
	for _, s := range p.Services() {
		fmt.Fprintf(w, "service %s: port %d\n", s.Name, s.Port)
		if s.Name == "perftest" && p.Bytes != nil {
			fmt.Fprintf(w, "  clients must write and send the payload of %s, which has %d bytes\n", p.Payload,
				len(p.Bytes))
		}
	}
	p.printRegions(w)
	fmt.Fprintf(w, "control: %s, mode %04o%s\n", p.Control.Socket, uint32(p.Control.Mode),
		ifSet(", group ", p.Control.Group))
	if p.Programs.Enabled {
		fmt.Fprintf(w, "programs: %s, mode %04o%s%s\n", p.Programs.Socket, uint32(p.Programs.Mode),
			ifSet(", group ", p.Programs.Group), p.idleText())
	} else {
		fmt.Fprintln(w, "programs: off")
	}
	fmt.Fprintf(w, "metrics: %s\n", orElse(ifSet("http://", p.Metrics.Listen, "/metrics"), "off"))
	if p.Trace.File != "" {
		fmt.Fprintf(w, "trace: %s and, when that has %s, %[1]s.1\n", p.Trace.File, config.Size(p.Trace.Size))
	}
	fmt.Fprintf(w, "log: %s and above, as %s\n", strings.ToLower(p.Log.Level.String()), p.Log.Format)
	fmt.Fprintf(w, "stop: wait up to %v for peers and sessions\n", p.Drain)
}

func (p *Plan) idleText() string {
	if p.Programs.IdleTimeout == 0 {
		return ""
	}
	return fmt.Sprintf(", stops %v after the last program", p.Programs.IdleTimeout)
}

// Services returns the enabled services of the built-in server.
func (p *Plan) Services() []control.Service {
	all := []control.Service{}
	for _, s := range []struct {
		name string
		of   config.Service
	}{{"rping", p.Rping}, {"perftest", p.Perftest}, {"pingpong", p.Pingpong}} {
		if s.of.Enabled {
			all = append(all, control.Service{Name: s.name, Port: s.of.Port})
		}
	}
	return all
}

func most(n int, all string) string {
	if n == 0 {
		return all
	}
	return strconv.Itoa(n)
}

func joined(list []netip.Prefix) string {
	var words []string
	for _, p := range list {
		words = append(words, p.String())
	}
	return strings.Join(words, ", ")
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// ifSet returns text between before and behind, or "" if text is empty.
func ifSet(before, text string, behind ...string) string {
	if text == "" {
		return ""
	}
	return before + text + strings.Join(behind, "")
}
