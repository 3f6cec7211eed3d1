package conformcmd

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases"
	"github.com/gorxe/gorxe/conformance/device"
	"github.com/gorxe/gorxe/conformance/wire"
)

// params are the arguments and flags of a run.
type params struct {
	host              string
	addr, local, link string
	device            device.Stock
	wait              time.Duration
	only              []string
	selected          []*conformance.Case
	list, json        bool
	strict, keepAll   bool
	timeout, silence  time.Duration
	name, captures    string
	files             files
	baseline          string
	newBaseline       string
}

// env is what tests replace.
type env struct {
	cases  []*conformance.Case
	listen map[string]func(netip.Addr) (wire.Link, error) // by kind of link
	device func(*device.Stock) conformance.Device
	now    func() time.Time
}

func thisHost() *env {
	return &env{
		cases:  cases.All(),
		listen: map[string]func(netip.Addr) (wire.Link, error){"udp": wire.ListenUDP, "raw": wire.ListenRaw},
		device: func(s *device.Stock) conformance.Device { return s },
		now:    time.Now,
	}
}
