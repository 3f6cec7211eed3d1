package cli

import (
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
)

// withDaemon runs f while a daemon runs.
func withDaemon(t *testing.T, line string, f func(t *testing.T, w *world, s *testnet.Listener)) {
	t.Helper()
	withDaemonIn(t, newWorld, line, f)
}

func newWorld() *world { return newWorldOf(commands...) }
