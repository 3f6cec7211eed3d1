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

// A Watcher tells when something may have become of an interface or an address. What it is
// [Watcher.Look] says: messages of rtnetlink(7) only make it look again, so none that is lost
// is missed.
type Watcher struct {
	name    string     // of the interface, "" where it is an address that is watched
	addr    netip.Addr // not valid where it is an interface
	socket  *nl.NetlinkSocket
	changes chan struct{}
	over    chan struct{}

	index   atomic.Int64  // of the interface that the last Look found, 0 for none
	looking atomic.Bool   // Look is under way: every message counts
	deaths  atomic.Uint64 // how often the interface was deleted
}

// Watch begins to watch an interface, by its name, or the text of one address, in the network
// namespace of the calling thread. It need not exist.
func Watch(device string) (*Watcher, error) {
	w := newWatcher(device)
	var err error
	w.socket, err = nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR)
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

// Changes has something to receive when a Look may find another state than the last.
func (w *Watcher) Changes() <-chan struct{} { return w.changes }

// Close ends the watcher and returns when nothing of it is left.
func (w *Watcher) Close() {
	w.socket.Close()
	<-w.over
}

// maxFailures is how often in a row receiving may fail before it is given up.
const maxFailures = 100

// listen takes messages until the socket is closed.
func (w *Watcher) listen(receive func() ([]syscall.NetlinkMessage, *unix.SockaddrNetlink, error)) {
	for failures := 0; failures < maxFailures; {
		messages, from, err := receive()
		switch {
		case errors.Is(err, os.ErrClosed), errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			// Messages were lost (ENOBUFS), or one cannot be read.
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

// concerns says whether a message may be about what is watched.
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
			// A bridge tells of its ports: DELLINK says that the interface is not one any more.
			return false
		}
		ours := w.name != "" && nameOf(data) == w.name
		if typ == unix.RTM_DELLINK && (ours && w.looking.Load() || int64(info.Index) == w.index.Load()) {
			w.deaths.Add(1)
		}
		return ours || w.isIndex(int64(info.Index))
	}
	return false
}

// isIndex is true for the index of the interface, or any while that is not known.
func (w *Watcher) isIndex(i int64) bool {
	known := w.index.Load()
	return known == 0 || known == i || w.looking.Load()
}

// nameOf returns the name of the interface that a message of RTM_NEWLINK or RTM_DELLINK is about.
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
