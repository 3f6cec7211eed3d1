package regioncmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/region"
)

// maxWatched is the maximum number of bytes to watch; two copies of them are kept in memory.
const maxWatched = 64 << 20

func watchCommand(a *app.App) *cobra.Command {
	var f flags
	var at byteRange
	var interval time.Duration
	c := &cobra.Command{
		Use:   "watch HOST/NAME",
		Short: "Print the changes of a region",
		Long: `Reads a region, or a part of it, repeatedly and prints the lines of 16 bytes that have
changed, with the time and in the manner of 'hexdump -C', until interrupted. A change
that is reverted between two reads is not detected.`,
		Example: `  gorxe region watch 192.0.2.7/scratch --length 64
  gorxe region watch 192.0.2.7/scratch --offset 1M --length 4K --interval 100ms`,
		Args: oneRegion(0),
		RunE: func(c *cobra.Command, args []string) error {
			if interval <= 0 {
				return app.Usagef("--interval %v: it must be more than 0", interval)
			}
			return withRegion(a, c, &f, args[0], func(ctx context.Context, r *region.Conn) error {
				return watch(ctx, a, r, &at, interval)
			})
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	at.add(fs)
	fs.DurationVar(&interval, "interval", time.Second, "`duration` between reads")
	f.add(fs)
	return c
}

func watch(ctx context.Context, a *app.App, r *region.Conn, at *byteRange, interval time.Duration) error {
	off, n := at.of(r.Len())
	if err := r.Fits(region.Read, off, n); err != nil {
		return err
	}
	if n > maxWatched {
		return fmt.Errorf("%d bytes are too many to watch: choose %d at most with --offset and --length", n, maxWatched)
	}
	look := func(into *bytes.Buffer) error {
		into.Reset()
		return r.Read(ctx, into, off, n)
	}
	var before, after bytes.Buffer
	if err := look(&before); err != nil {
		return err
	}
	fmt.Fprintf(a.Stderr, "watching %d bytes at offset %d\n", n, off)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	lives := time.NewTicker(session.KeepAliveInterval)
	defer lives.Stop()
	for {
		select {
		case <-tick.C:
		case <-lives.C:
			if err := r.Ping(ctx); err != nil && ctx.Err() == nil {
				return err
			}
			continue
		case <-r.Done():
			if ctx.Err() != nil {
				return nil // the interrupt ended an operation, which ended the connection
			}
			return region.ErrEnded
		case <-ctx.Done():
			return nil
		}
		if err := look(&after); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := printChanges(a.Stdout, time.Now(), before.Bytes(), after.Bytes(), off); err != nil {
			return err
		}
		before, after = after, before
	}
}

const lineBytes = 16

// printChanges prints the lines that differ between two reads of the bytes from off on. Lines
// begin at multiples of 16 in the region.
func printChanges(w io.Writer, now time.Time, before, after []byte, off uint64) error {
	for i := 0; i < len(after); {
		n := min(lineBytes-int((off+uint64(i))%lineBytes), len(after)-i)
		if !bytes.Equal(before[i:i+n], after[i:i+n]) {
			if _, err := fmt.Fprintf(w, "%s  %s\n", now.Format("15:04:05.000"),
				hexLine(off+uint64(i), after[i:i+n])); err != nil {
				return err
			}
		}
		i += n
	}
	return nil
}

// hexLine formats a line like hexdump -C. Bytes outside the range are blank.
func hexLine(at uint64, p []byte) string {
	var hex, text strings.Builder
	first := int(at % lineBytes)
	for i := range lineBytes {
		if i%8 == 0 {
			hex.WriteByte(' ')
		}
		if i < first || i >= first+len(p) {
			hex.WriteString("   ")
			text.WriteByte(' ')
			continue
		}
		b := p[i-first]
		fmt.Fprintf(&hex, " %02x", b)
		if b < ' ' || b > '~' {
			b = '.'
		}
		text.WriteByte(b)
	}
	return fmt.Sprintf("%08x%s  |%s|", at-uint64(first), hex.String(), text.String())
}
