package netdev

import (
	"errors"
	"net"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// WatchCarrier calls changed with the state of the network interface name, once at first and again
// after every change, until stop is called. stop waits for the last call of changed to return. An
// interface is up when it is administratively up and has a carrier, the condition under which rxe
// reports its port as active. If the host does not report changes, changed is not called.
func WatchCarrier(name string, changed func(up bool)) (stop func()) {
	none := func() {}
	s, err := nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK)
	if err != nil {
		return none
	}
	// The subscription precedes the query, so that no change in between is missed.
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
				// Changes were lost: query the state.
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

// interfaceState returns the state of the interface with the given index according to a message of
// rtnetlink(7). typ is the message type, data the message without its header. ok is false if the
// message is not about this interface.
func interfaceState(typ uint16, data []byte, index int) (up, ok bool) {
	if len(data) < unix.SizeofIfInfomsg || typ != unix.RTM_NEWLINK && typ != unix.RTM_DELLINK {
		return false, false
	}
	info := nl.DeserializeIfInfomsg(data)
	if info.Family != unix.AF_UNSPEC {
		// This is a message of a bridge about its port: the interface has left the bridge and still
		// exists.
		return false, false
	}
	const carrier = unix.IFF_UP | unix.IFF_LOWER_UP
	return typ == unix.RTM_NEWLINK && info.Flags&carrier == carrier, int(info.Index) == index
}
