package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/rdmacore"
)

// runRDMACore runs rdma-core's tests on rxe instead of the matrix.
func (f *flags) runRDMACore(ctx context.Context, out io.Writer) error {
	if f.Filter != nil {
		return fmt.Errorf("-rdma-core-tests runs all tests: leave out -run, and choose a kernel with -kernel %s",
			strings.Join(cell.Suites, " or "))
	}
	return rdmacore.Run(ctx, f.Options.Options, rdmacore.Options{
		Suites: f.Suites, Dir: f.rdmaCoreTests,
		Say: func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) },
	})
}
