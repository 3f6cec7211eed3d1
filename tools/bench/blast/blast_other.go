//go:build !linux

package blast

import (
	"errors"
	"net/netip"
)

var errLinux = errors.New("trains of datagrams need Linux")

type receiver struct{ port int }

func listen(netip.Addr) (*receiver, error)         { return nil, errLinux }
func (*receiver) count(Config) (r Result, e error) { return r, errLinux }
func (*receiver) close()                           {}

func sendUntil(netip.Addr, uint16, Config, <-chan error) error { return errLinux }
