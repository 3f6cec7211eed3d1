package daemoncmd

import (
	"testing"

	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/testnet"
)

func newWorld() *clitest.World {
	return clitest.NewWorld(Command, statusCommand, qpsCommand, mrsCommand, cmsCommand, statsCommand, loglevelCommand)
}

// withDaemon runs f while a daemon runs.
func withDaemon(t *testing.T, line string, f func(t *testing.T, w *clitest.World, s *testnet.Listener)) {
	t.Helper()
	clitest.WithDaemon(t, newWorld, line, f)
}
