// Package extcapcmd implements 'gorxe extcap', with which Wireshark captures the packets of a
// running daemon. Wireshark runs a program of its extcap folder once for each question: which
// interfaces there are, which link types and options an interface has, and to capture. See
// doc/extcap.4 and "Adding Capture Interfaces" in the Developer's Guide of Wireshark.
package extcapcmd

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/trace/filter"
	"github.com/gorxe/gorxe/trace/text"
)

// params are the parameters of 'gorxe extcap'. Those with a prefix are Wireshark's.
type params struct {
	interfaces, dlts, config, capture bool
	iface, fifo, filter               string

	socket, peer string
	comments     bool
}

// Command makes the command 'gorxe extcap'.
func Command(a *app.App) *cobra.Command {
	p := &params{}
	var fs *pflag.FlagSet
	c := &cobra.Command{
		Use:   "extcap",
		Short: "Let Wireshark capture the packets of the daemon",
		Long: `Makes the devices of a running 'gorxe daemon' interfaces of Wireshark and tshark. Wireshark runs
this command itself; to install it, write an executable file into Wireshark's personal extcap
folder, which Wireshark shows in Help > About Wireshark > Folders:

  #!/bin/sh
  exec gorxe extcap "$@"

The interface of a device is called gorxe-DEVICE. Its capture filter is a filter of 'gorxe trace'.`,
		Example: `  tshark -D
  tshark -i gorxe-eth0
  tshark -i gorxe-eth0 -f 'qp 0x11 or error'
  gorxe extcap --capture --extcap-interface gorxe-eth0 --fifo /tmp/fifo`,
		Args: app.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), a, p, fs) },
	}
	fs = c.Flags()
	fs.SortFlags = false
	fs.BoolVar(&p.interfaces, "extcap-interfaces", false, "list the interfaces")
	fs.BoolVar(&p.dlts, "extcap-dlts", false, "list the link types of an interface")
	fs.BoolVar(&p.config, "extcap-config", false, "list the options of an interface")
	fs.BoolVar(&p.capture, "capture", false, "capture on an interface until interrupted")
	fs.StringVar(&p.iface, "extcap-interface", "", "`name` of the interface")
	fs.StringVar(&p.fifo, "fifo", "", "`path` of a FIFO or a file for the packets (pcapng)")
	fs.StringVar(&p.filter, "extcap-capture-filter", "",
		"capture only packets that the `expression` matches; see 'gorxe trace --help'. Without --capture: check it")
	fs.StringVar(&p.peer, "peer", "", "capture only packets to and from an `address`")
	fs.BoolVar(&p.comments, "comments", false, "write the meaning of each packet as a comment")
	fs.StringVar(&p.socket, "socket", "", "`path` of the daemon's control socket (default: as for 'gorxe status')")
	addIgnored(fs)
	return c
}

// addIgnored adds the flags of the protocol that have no effect here.
func addIgnored(fs *pflag.FlagSet) {
	for _, name := range []string{"extcap-version", "extcap-control-in", "extcap-control-out", "extcap-reload-option",
		"log-level", "log-file"} {
		fs.String(name, "", "accepted and ignored")
		fs.Lookup(name).Hidden = true
	}
	fs.Lookup("extcap-version").NoOptDefVal = " " // Wireshark's version follows only after =
}

// run answers the question of Wireshark that p contains.
func run(ctx context.Context, a *app.App, p *params, fs *pflag.FlagSet) error {
	if p.peer != "" {
		if _, err := netip.ParseAddr(p.peer); err != nil {
			return app.Usagef("--peer %q: give an IP address", p.peer)
		}
	}
	switch {
	case p.interfaces:
		return listInterfaces(ctx, a, p)
	case p.iface == "":
		return app.Usagef("Wireshark runs this command; 'gorxe extcap --help' tells how to install it")
	case p.config:
		return listOptions(a)
	case p.dlts:
		return listLinkTypes(a)
	case p.capture && p.fifo == "":
		return app.Usagef("--capture needs --fifo")
	case p.capture:
		return runCapture(ctx, a, p)
	case fs.Changed("extcap-capture-filter"):
		return checkFilter(a, p)
	}
	return app.Usagef("--extcap-interface needs --extcap-config, --extcap-dlts or --capture")
}

// devices returns the devices of the daemon.
func devices(ctx context.Context, a *app.App, p *params) ([]control.Device, error) {
	var s control.Status
	err := a.Control(p.socket).Get(ctx, "/v1/status", nil, &s)
	return s.Devices, err
}

// interfaceName returns the name of a device's interface in Wireshark. Devices are often called as
// the network interface that they are on, so that the name needs a prefix.
func interfaceName(device string) string { return "gorxe-" + word(device) }

// listInterfaces lists the devices of the daemon. Without a daemon there are none, which is not an
// error: Wireshark asks whenever it starts.
func listInterfaces(ctx context.Context, a *app.App, p *params) error {
	_, err := fmt.Fprintf(a.Stdout, "extcap {version=%s}{display=gorxe daemon}\n", word(app.BuildVersion()))
	if err != nil {
		return err
	}
	all, err := devices(ctx, a, p)
	if err != nil {
		fmt.Fprintln(a.Stderr, "gorxe: no interfaces: "+app.OneLine(err))
		return nil
	}
	for _, d := range all {
		on := ""
		if d.Interface != "" && d.Interface != d.Name {
			on = " on " + d.Interface
		}
		_, err := fmt.Fprintf(a.Stdout, "interface {value=%s}{display=gorxe daemon: %s}\n", interfaceName(d.Name),
			word(d.Name+on))
		if err != nil {
			return err
		}
	}
	return nil
}

// listLinkTypes lists the only link type. Its number is DLT_RAW of Linux, see pcap-linktype(7).
func listLinkTypes(a *app.App) error {
	_, err := fmt.Fprintln(a.Stdout, "dlt {number=12}{name=RAW}{display=Raw IP}")
	return err
}

// listOptions lists the options that Wireshark offers.
func listOptions(a *app.App) error {
	_, err := fmt.Fprint(a.Stdout,
		"arg {number=0}{call=--peer}{display=Peer address}{type=string}",
		"{tooltip=Capture only packets to and from this address}\n",
		"arg {number=1}{call=--comments}{display=Packet comments}{type=boolflag}{default=false}",
		"{tooltip=Explain each packet in a packet comment}\n",
		"arg {number=2}{call=--socket}{display=Control socket}{type=string}",
		"{tooltip=Path of the daemon's control socket}\n")
	return err
}

// checkFilter writes what is wrong with a capture filter. Wireshark accepts the filter if nothing
// is written.
func checkFilter(a *app.App, p *params) error {
	if _, err := filter.Parse(p.filter); err != nil {
		_, err = fmt.Fprintln(a.Stdout, text.Plain(err.Error()))
		return err
	}
	return nil
}

// word returns s without control characters and without the braces that delimit values in the
// protocol.
func word(s string) string {
	b := []rune(text.Plain(s))
	for i, r := range b {
		switch r {
		case '{':
			b[i] = '('
		case '}':
			b[i] = ')'
		}
	}
	return string(b)
}
