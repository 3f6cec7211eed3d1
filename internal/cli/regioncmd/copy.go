package regioncmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/region"
)

func readCommand(a *app.App) *cobra.Command {
	var f flags
	var at byteRange
	var out string
	c := &cobra.Command{
		Use:   "read HOST/NAME",
		Short: "Read a region, or a part of it",
		Long: `Reads a region, or a part of it, to standard output or a file. Data that is not
UTF-8 text is not written to a terminal unless -o - is given.`,
		Example: `  gorxe region read 192.0.2.7/scratch -o scratch.img
  gorxe region read 192.0.2.7/scratch --offset 4K --length 16 | hexdump -C`,
		Args: oneRegion(0),
		RunE: func(c *cobra.Command, args []string) error {
			return withRegion(a, c, &f, args[0], func(ctx context.Context, r *region.Conn) error {
				off, n := at.of(r.Len())
				if err := r.Fits(region.Read, off, n); err != nil {
					return err
				}
				switch out {
				case "":
					if !a.Terminal(a.Stdout) {
						return r.Read(ctx, a.Stdout, off, n)
					}
					t := &textOnly{w: a.Stdout}
					if err := r.Read(ctx, t, off, n); err != nil {
						return err
					}
					return t.end()
				case "-":
					return r.Read(ctx, a.Stdout, off, n)
				}
				return toFile(out, func(w io.Writer) error { return r.Read(ctx, w, off, n) })
			})
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	at.add(fs)
	fs.StringVarP(&out, "output", "o", "", "write to a `file`; - is standard output, even if it is a terminal")
	f.add(fs)
	return c
}

// toFile creates or truncates a file and calls fill to write it.
func toFile(name string, fill func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(fill(file), file.Close())
}

func writeCommand(a *app.App) *cobra.Command {
	var f flags
	var offset byteCount
	c := &cobra.Command{
		Use:   "write HOST/NAME [FILE]",
		Short: "Write to a region",
		Long: `Writes FILE to a region, or standard input without FILE or if FILE is -. A file that does not
fit is refused; of standard input, what fits is written. Data from a pipe is written as it
arrives.`,
		Example: `  gorxe region write 192.0.2.7/scratch scratch.img
  echo hello | gorxe region write 192.0.2.7/scratch --offset 4K`,
		Args: oneRegion(1),
		RunE: func(c *cobra.Command, args []string) error {
			in, size, err := input(a, args[1:])
			if err != nil {
				return err
			}
			defer in.Close()
			return withRegion(a, c, &f, args[0], func(ctx context.Context, r *region.Conn) error {
				if err := r.Fits(region.Write, uint64(offset), size); err != nil {
					return err
				}
				// The input may be slow, so the connection is kept alive meanwhile.
				ctx, stop := context.WithCancel(ctx)
				defer stop()
				go r.KeepAlive(ctx, session.KeepAliveInterval)
				n, err := r.Write(ctx, in, uint64(offset))
				fmt.Fprintf(a.Stderr, "%d bytes written\n", n)
				return err
			})
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.Var(&offset, "offset", "`bytes` from the start of the region; suffixes K, M and G stand for 2^10, 2^20 and 2^30")
	f.add(fs)
	return c
}

// input opens the input and returns its length in bytes, 0 if it is not known.
func input(a *app.App, args []string) (io.ReadCloser, uint64, error) {
	if len(args) == 0 || args[0] == "-" {
		return io.NopCloser(a.Stdin), 0, nil
	}
	file, err := os.Open(args[0])
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory", args[0])
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	if !info.Mode().IsRegular() {
		return file, 0, nil
	}
	return file, uint64(info.Size()), nil
}
