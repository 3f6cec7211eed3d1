//go:build !linux

package bench

import (
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

const mtu = 0

var addresses [2]string

type host struct{ cores []int }

func (*host) start(*exec.Cmd) error     { return nil }
func (*host) listens(int) (bool, error) { return false, nil }

func endGroup(c *exec.Cmd) error { return c.Process.Kill() }

func terminate(c *exec.Cmd) error { return c.Process.Kill() }

func pause(*exec.Cmd) {}

func resume(*exec.Cmd) {}

func groupOf(*exec.Cmd) []int { return nil }

func spent([]int) (ran, waited time.Duration) { return 0, 0 }

type ground struct {
	hosts, inside [2]*host
	shared        *host
	dir           string
}

func (*ground) close() error { return nil }

func newGround([]int, int) (*ground, error) {
	return nil, fmt.Errorf("two hosts are made of network namespaces, which need Linux; this is %s", runtime.GOOS)
}
