package rpingcmd

import "github.com/gorxe/gorxe/internal/cli/clitest"

func newWorld() *clitest.World { return clitest.NewWorld(Command) }
