package netdev

import (
	"errors"
	"net"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// WatchCarrier calls changed with the state of a network interface and with every change
// of it, until stop is called, which waits for the last call. An interface is up when it is
// set up and has a carrier, as rxe counts its port as active. Where the host does not tell of
// changes, it stays as it was.
func WatchCarrier(name string, changed func(up bool)) (stop func()) {
	none := func() {}
	s, err := nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK)
	if err != nil {
		return none
	}
	// After the subscription, so that no change is missed in between.
	i, err := net.InterfaceByName(name)
	if err != nil {
		s.Close()
		return none
	}
	changed(running(i))
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			messages, from, err := s.Receive()
			switch {
			case errors.Is(err, unix.ENOBUFS):
				// Changes were lost: look for ourselves.
				if i, err := net.InterfaceByName(name); err == nil {
					changed(running(i))
				}
				continue
			case err != nil:
				return
			case from.Pid != nl.PidKernel:
				continue
			}
			for _, m := range messages {
				if up, ok := interfaceState(m.Header.Type, m.Data, i.Index); ok {
					changed(up)
				}
			}
		}
	}()
	return func() {
		s.Close()
		<-over
	}
}

func running(i *net.Interface) bool {
	const up = net.FlagUp | net.FlagRunning
	return i.Flags&up == up
}

// interfaceState says whether a message of rtnetlink(7) leaves the interface with the given
// index up; ok is false for one about something else.
func interfaceState(typ uint16, data []byte, index int) (up, ok bool) {
	if len(data) < unix.SizeofIfInfomsg || typ != unix.RTM_NEWLINK && typ != unix.RTM_DELLINK {
		return false, false
	}
	info := nl.DeserializeIfInfomsg(data)
	if info.Family != unix.AF_UNSPEC {
		// A bridge tells of its ports: it has lost one, not the host its interface.
		return false, false
	}
	const carrier = unix.IFF_UP | unix.IFF_LOWER_UP
	return typ == unix.RTM_NEWLINK && info.Flags&carrier == carrier, int(info.Index) == index
}
