package netdev

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// A Watcher signals when the state of an interface or an address may have changed. [Watcher.Look]
// queries the state: messages of rtnetlink(7) only trigger a query. The loss of messages also
// triggers a query.
type Watcher struct {
	name    string     // interface name; "" if an address is watched
	addr    netip.Addr // watched address; invalid if an interface is watched
	socket  *nl.NetlinkSocket
	changes chan struct{}
	over    chan struct{}

	index     atomic.Int64  // interface index that the last Look found, 0 if none
	looking   atomic.Bool   // a Look is running: every message is relevant
	deletions atomic.Uint64 // number of deletions of the interface
}

// Watch watches an interface, given by name, or an address, given as text, in the network namespace
// of the calling thread. The interface or address need not exist yet.
func Watch(device string) (*Watcher, error) {
	w := newWatcher(device)
	var err error
	w.socket, err = nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR,
		unix.RTNLGRP_IPV6_IFADDR)
	if err != nil {
		return nil, fmt.Errorf("following %s: subscribing to changes of addresses and interfaces: %w", device, err)
	}
	go func() {
		defer close(w.over)
		w.listen(w.socket.Receive)
	}()
	return w, nil
}

func newWatcher(device string) *Watcher {
	w := &Watcher{changes: make(chan struct{}, 1), over: make(chan struct{})}
	if a, err := netip.ParseAddr(device); err == nil {
		w.addr = a.Unmap()
	} else {
		w.name = device
	}
	return w
}

// Changes returns a channel that receives a value when the result of Look may have changed.
func (w *Watcher) Changes() <-chan struct{} { return w.changes }

// Close stops the watcher and waits for its goroutine to end.
func (w *Watcher) Close() {
	w.socket.Close()
	<-w.over
}

// maxFailures is the number of consecutive receive errors after which the watcher stops reporting
// changes.
const maxFailures = 100

// listen receives messages until the socket is closed.
func (w *Watcher) listen(receive func() ([]syscall.NetlinkMessage, *unix.SockaddrNetlink, error)) {
	for failures := 0; failures < maxFailures; {
		messages, from, err := receive()
		switch {
		case errors.Is(err, os.ErrClosed), errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			// Messages were lost (ENOBUFS), or one could not be parsed.
			failures++
			w.tell()
			continue
		}
		failures = 0
		if from.Pid != nl.PidKernel {
			continue
		}
		for i := range messages {
			if w.concerns(messages[i].Header.Type, messages[i].Data) {
				w.tell()
			}
		}
	}
}

func (w *Watcher) tell() {
	select {
	case w.changes <- struct{}{}:
	default:
	}
}

// concerns reports whether a message may be about the watched interface or address.
func (w *Watcher) concerns(typ uint16, data []byte) bool {
	switch typ {
	case unix.RTM_NEWADDR, unix.RTM_DELADDR:
		return len(data) >= unix.SizeofIfAddrmsg &&
			(w.addr.IsValid() || w.isIndex(int64(nl.DeserializeIfAddrmsg(data).Index)))
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		if len(data) < unix.SizeofIfInfomsg {
			return false
		}
		info := nl.DeserializeIfInfomsg(data)
		if info.Family != unix.AF_UNSPEC {
			// This is a message of a bridge about its port: the interface has left the bridge.
			return false
		}
		ours := w.name != "" && nameOf(data) == w.name
		if typ == unix.RTM_DELLINK && (ours && w.looking.Load() || int64(info.Index) == w.index.Load()) {
			w.deletions.Add(1)
		}
		return ours || w.isIndex(int64(info.Index))
	}
	return false
}

// isIndex reports whether i may be the index of the interface. While that index is unknown, it
// returns true for any i.
func (w *Watcher) isIndex(i int64) bool {
	known := w.index.Load()
	return known == 0 || known == i || w.looking.Load()
}

// nameOf returns the interface name in an RTM_NEWLINK or RTM_DELLINK message, "" if there is
// none.
func nameOf(data []byte) string {
	attrs, err := nl.ParseRouteAttr(data[unix.SizeofIfInfomsg:])
	if err != nil {
		return ""
	}
	for _, a := range attrs {
		if a.Attr.Type == unix.IFLA_IFNAME {
			return nl.BytesToString(a.Value)
		}
	}
	return ""
}
