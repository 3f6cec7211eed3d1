package tracecmd

import (
	"context"
	"fmt"

	"github.com/gorxe/gorxe/internal/cli/app"
)

// runLive captures until ctx is done, or the daemon ends, which is not a failure.
func runLive(ctx context.Context, a *app.App, p *params, t *tracing) error {
	c, err := p.live.Open(ctx, a, t.Flush)
	if err != nil {
		return err
	}
	defer c.Close()
	if err = t.open(a, p); err != nil {
		return err
	}
	fmt.Fprintln(a.Stderr, c.Banner)
	if err := t.run(context.WithoutCancel(ctx), c); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	printSummary(a, c.Name, t)
	if missed := c.Dropped(); missed > 0 {
		fmt.Fprintf(a.Stderr, "%s: %s missed: they came faster than they could be read\n", c.Name,
			app.Plural(int(missed), "frame"))
	}
	return nil
}
