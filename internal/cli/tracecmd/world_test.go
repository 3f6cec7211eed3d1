package tracecmd

import (
	"testing"

	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/cli/daemoncmd"
	"github.com/gorxe/gorxe/internal/cli/rpingcmd"
	"github.com/gorxe/gorxe/internal/testnet"
)

func newWorld() *clitest.World { return clitest.NewWorld(Command, daemoncmd.Command, rpingcmd.Command) }

// withDaemon runs f while a daemon runs.
func withDaemon(t *testing.T, line string, f func(t *testing.T, w *clitest.World, s *testnet.Listener)) {
	t.Helper()
	clitest.WithDaemon(t, newWorld, line, f)
}

// told returns the output of 'gorxe trace'.
func told(t *testing.T, line string) string {
	t.Helper()
	line = "trace " + line
	r := newWorld().Run(t.Context(), line)
	clitest.MustSucceed(t, line, r)
	return r.Stdout.String()
}
