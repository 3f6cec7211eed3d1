// Package regioncmd implements 'gorxe region', which lists, reads, writes and watches the regions
// of a daemon.
package regioncmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/serve/region"
	"github.com/gorxe/gorxe/verbs"
)

// flags are the flags of all commands that use regions.
type flags struct {
	device app.ManagedFlags
	source string
}

func (f *flags) add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.source, "source", "I", "", "local `address` to use, as --ib-dev")
	f.device.Add(fs)
	fs.Lookup("ib-dev").Usage = "network interface or local `address` to use (default: the address that routes to HOST)"
}

// check returns a usage error for the first flag with an invalid value.
func (f *flags) check() error {
	if err := f.device.CheckSource("-I", f.source); err != nil {
		return err
	}
	return f.device.Check()
}

// Command makes the command 'gorxe region'.
func Command(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "region",
		Short: "Use memory that a 'gorxe daemon' exports by name",
		Long: `Uses the regions that a 'gorxe daemon' exports, by RDMA READ and WRITE over rdma_cm. In HOST/NAME, HOST is
a host name or an address, followed by :PORT if that is not 7175; put an IPv6 address with a
port in brackets.`,
		Example: `  gorxe region ls 192.0.2.7
  gorxe region read 192.0.2.7/scratch --length 512 | hexdump -C
  echo hello | gorxe region write 192.0.2.7/scratch
  gorxe region watch 192.0.2.7/scratch --length 64`,
		Args: app.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(lsCommand(a), readCommand(a), writeCommand(a), watchCommand(a))
	return c
}

func lsCommand(a *app.App) *cobra.Command {
	var f flags
	var asJSON bool
	c := &cobra.Command{
		Use:   "ls HOST",
		Short: "List the regions that this host may use",
		Long:  `Lists the regions that HOST exports and this host may use, with their length in bytes.`,
		Example: `  gorxe region ls 192.0.2.7
  gorxe region ls --json [2001:db8::7]:7175`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" || strings.Contains(args[0], "/") {
				return app.Usagef("%s takes one HOST, got %q", c.CommandPath(), args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			dev, to, err := a.OpenToDial(c.Context(), &f.device, f.source, args[0], region.Port)
			if err != nil {
				return err
			}
			defer dev.Close()
			d, err := region.List(c.Context(), dev, to)
			if err != nil {
				return err
			}
			return printDirectory(a.Stdout, d, asJSON)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.BoolVar(&asJSON, "json", false, "print the list as JSON")
	f.add(fs)
	return c
}

func printDirectory(w io.Writer, d *region.Directory, asJSON bool) error {
	if asJSON {
		text, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", text)
		return err
	}
	rows := [][]string{{"REGION", "KIND", "LENGTH", "ACCESS"}}
	for _, e := range d.Regions {
		rows = append(rows, []string{e.Name, e.Kind, strconv.FormatUint(e.Length, 10), strings.Join(e.Access, ",")})
	}
	app.PrintTable(w, rows)
	return nil
}

// hostAndName splits HOST/NAME.
func hostAndName(c *cobra.Command, arg string) (host, name string, err error) {
	host, name, ok := strings.Cut(arg, "/")
	if !ok || host == "" {
		return "", "", app.Usagef("%s takes HOST/NAME, got %q; 'gorxe region ls HOST' lists the names",
			c.CommandPath(), arg)
	}
	if err := region.CheckName(name); err != nil {
		return "", "", app.Usagef("%w", err)
	}
	return host, name, nil
}

// withRegion connects to HOST/NAME and calls use.
func withRegion(a *app.App, c *cobra.Command, f *flags, arg string,
	use func(context.Context, *region.Conn) error) error {
	host, name, err := hostAndName(c, arg)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	ctx := c.Context()
	dev, to, err := a.OpenToDial(ctx, &f.device, f.source, host, region.Port)
	if err != nil {
		return err
	}
	defer func(dev *verbs.Device) { _ = dev.Close() }(dev)
	conn, err := region.Dial(ctx, dev, to, name)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := use(ctx, conn); err != nil {
		return fmt.Errorf("region %s: %w", name, err)
	}
	return nil
}

// oneRegion accepts HOST/NAME and at most more further arguments.
func oneRegion(more int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return app.Usagef("%s needs HOST/NAME", c.CommandPath())
		}
		if len(args) > 1+more {
			return app.Usagef("%s: one argument too many: %q", c.CommandPath(), args[1+more])
		}
		return nil
	}
}

// byteRange is a part of a region. Length 0 means everything from the offset on.
type byteRange struct {
	offset, length byteCount
}

func (r *byteRange) add(fs *pflag.FlagSet) {
	fs.Var(&r.offset, "offset",
		"`bytes` from the start of the region; suffixes K, M and G stand for 2^10, 2^20 and 2^30")
	fs.Var(&r.length, "length", "`bytes` (0: to the end)")
}

// of returns the range in a region of size bytes. It does not check that the range fits; the
// operation on the region does.
func (r *byteRange) of(size uint64) (off, n uint64) {
	off, n = uint64(r.offset), uint64(r.length)
	if n == 0 && off < size {
		n = size - off
	}
	return off, n
}

// byteCount is the flag value of a number of bytes.
type byteCount uint64

func (b *byteCount) Explains()      {}
func (b *byteCount) Type() string   { return "bytes" }
func (b *byteCount) String() string { return strconv.FormatUint(uint64(*b), 10) }

func (b *byteCount) Set(s string) error {
	n, err := app.ParseBytes(s)
	if err != nil {
		return err
	}
	*b = byteCount(n)
	return nil
}
