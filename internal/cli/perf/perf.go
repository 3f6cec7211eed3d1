// Package perf implements 'gorxe perf': the bandwidth and latency tests of perftest. params are
// the flags of a test, end is one end of it: a line (TCP, or rdma_cm with -R) carries the
// exchange, bandwidthRun and latencyRun the traffic, and printer prints the result.
package perf

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gorxe/gorxe/internal/cli/app"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
)

// Command makes the command 'gorxe perf'.
func Command(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "perf",
		Short: "Measure bandwidth or latency, as perftest's ib_* tools do",
		Long: `Measures bandwidth or latency between two ends, each of which may be gorxe or the tool of
perftest with the same name: "gorxe perf write_bw" speaks to ib_write_bw. Start the server
without a host argument, then the client with the server's address as host argument
("gorxe perf write_bw 192.0.2.7"). Give both ends the same parameters: the tools do not
exchange them.`,
		Args: app.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	for _, t := range wire.Tests {
		c.AddCommand(testCommand(a, t))
	}
	return c
}

// verb returns the operation of a test, in words and as in the heading of perftest.
func verb(t wire.Test) (words, heading string) {
	switch {
	case t.Atomic():
		return "atomic operations", "Atomic"
	case t.Fetches():
		return "RDMA READ", "RDMA_Read"
	case t.Send():
		return "SEND", "Send"
	}
	return "RDMA WRITE", "RDMA_Write"
}

func testCommand(a *app.App, t wire.Test) *cobra.Command {
	p := &params{test: t}
	words, _ := verb(t)
	what := "bandwidth"
	if t.Latency() {
		what = "latency"
	}
	example, hint := "-a 192.0.2.7", fmt.Sprintf("all sizes, against \"ib_%v -x 1 -a\" on 192.0.2.7", t)
	if t.Atomic() {
		example, hint = "192.0.2.7", fmt.Sprintf("against \"ib_%v -x 1\" on 192.0.2.7", t)
	}
	c := &cobra.Command{
		Use:   fmt.Sprintf("%v [flags] [host]", t),
		Short: fmt.Sprintf("%s %s, as ib_%v", words, what, t),
		Long: fmt.Sprintf(`Measures the %s of %s. The other end may be gorxe or perftest's ib_%v;
flags are those of ib_%v. Give both ends the same parameters.`, what, words, t, t),
		Example: fmt.Sprintf(`  gorxe perf %[1]v -d 127.0.0.1                server
  gorxe perf %[1]v -d 127.0.0.2 127.0.0.1      client on the same host
  gorxe perf %[1]v %-27s %s`, t, example, hint),
		Args: app.OptionalHost,
		RunE: func(c *cobra.Command, args []string) error {
			p.host = app.HostArg(args)
			if err := p.complete(c.Context(), c.Flags()); err != nil {
				return err
			}
			return app.Profiled(p.cpuProfile, func() error { return run(c.Context(), a, p) })
		},
	}
	p.addFlags(c.Flags())
	if t.Atomic() {
		// The only possible error is that the flag does not exist.
		_ = c.RegisterFlagCompletionFunc("atomic_type",
			app.FixedCompletions(func() []cobra.Completion { return []cobra.Completion{fetchAndAdd, cmpAndSwap} }))
	}
	return c
}
