package nic

import (
	"errors"
	"net"
	"slices"
	"sync"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// attachedLink is a link of the device, from when it is added until nothing receives from it any
// more.
type attachedLink struct {
	link packet.Link
	gone chan struct{} // closed when removal of the link begins

	receivers sync.WaitGroup // goroutines that receive from the link
}

// AddLink adds a link to an open device and returns its index in the GID table. An address that
// the device had before gets its former index, and queue pairs and address handles that use that
// entry can send again. If there is no error, the device owns the link.
func (d *Device) AddLink(l packet.Link) (index int, err error) {
	g, err := newGID(l, d.maxMTU, len(d.shards))
	if err != nil {
		return 0, err
	}
	d.linking.Lock()
	defer d.linking.Unlock()
	if err := d.enterLink(g); err != nil {
		return 0, err
	}
	d.rejoin()
	// After rejoin: a program that reads the event finds the link complete.
	d.events.raise(AsyncEvent{Type: qp.EventGIDChange, Port: port})
	d.port.linksChanged(d, 1)
	return g.index, nil
}

// enterLink adds g to the table, or g's link to the entry that its address has, and sets g.index.
// linking is held.
func (d *Device) enterLink(g *gid) error {
	d.lockAll()
	defer d.unlockAll()
	if d.shard0().closed {
		return ErrClosed
	}
	d.table.Lock()
	defer d.table.Unlock()
	var err error
	if g.index, err = d.place(g); err != nil {
		return err
	}
	w, ok := d.addLink(g.link)
	if !ok {
		return ErrClosed
	}
	d.connect(g, w)
	return nil
}

// enterAll fills the GID table of a device that is being opened.
func (d *Device) enterAll(gids []*gid) {
	d.lockAll()
	defer d.unlockAll()
	d.table.Lock()
	defer d.table.Unlock()
	d.port.links = len(gids)
	for _, g := range gids {
		if w, ok := d.addLink(g.link); ok {
			d.connect(g, w)
		}
	}
}

// connect adds g, whose index is set, to the table, or g's link to the entry that its address
// has, and starts to receive. linking, all shards' locks and table are held.
func (d *Device) connect(g *gid, w *attachedLink) {
	isNew := g.index == len(d.gids)
	switch {
	case isNew:
		d.gids = append(d.gids, g)
	case d.gids[g.index].addr() == g.addr():
		// Queue pairs refer to the existing entry.
		old := d.gids[g.index]
		old.link, old.queues, old.caps, old.mtu = g.link, g.queues, g.caps, g.mtu
		g = old
	default:
		d.gids[g.index], isNew = g, true
	}
	g.wire, g.errAbsent = w, nil
	for _, s := range d.shards {
		if isNew {
			s.out = setEntry(s.out, &outbox{gid: g})
		}
		s.out[g.index].connect(s)
		if !d.loopback {
			continue
		}
		if isNew {
			s.loops = setEntry(s.loops, &outbox{gid: g, loops: true})
		}
		s.loops[g.index].connect(s)
	}
	if g.queues == nil {
		d.receive(newInbox(g, d.shard0()))
	}
	for i, queue := range g.queues {
		d.receive(newQueueInbox(g, d.shards[i], queue))
	}
}

// setEntry returns out with o at the index of o's entry in the GID table, which is at most
// len(out).
func setEntry(out []*outbox, o *outbox) []*outbox {
	if o.index < len(out) {
		out[o.index] = o
		return out
	}
	return append(out, o)
}

// receive starts in's goroutine. All shards' locks are held.
func (d *Device) receive(in *inbox) {
	d.pollable.add(in)
	in.wire.receivers.Add(1)
	d.running.Go(in.run)
}

// RemoveLink removes the link with the given index from the device and closes it. It returns when
// no goroutine uses the link any more. The index remains reserved for the address, which may come
// back, until the GID table is full and nothing refers to the entry. While the address is absent,
// packets of its queue pairs are lost and counted (tx_refused, Device.SendError), and retries run;
// datagrams complete and are lost. If a link returns before the retries are used up, it serves the
// queue pairs again.
func (d *Device) RemoveLink(index int) error {
	d.linking.Lock()
	defer d.linking.Unlock()
	w, err := d.takeLink(index)
	if err != nil {
		return err
	}
	err = w.link.Close()
	w.receivers.Wait()
	d.removeLink(w)
	d.rejoin()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// takeLink removes a link from the table and ends its memberships in multicast groups. Once it
// returns, nothing is sent by the link. linking is held.
func (d *Device) takeLink(index int) (*attachedLink, error) {
	d.lockAll()
	defer d.unlockAll()
	if d.shard0().closed {
		return nil, ErrClosed
	}
	g, err := d.gidAt(index)
	if err != nil {
		return nil, err
	}
	w := g.wire
	close(w.gone)
	d.departures++
	d.table.Lock()
	g.setAbsent(d.departures)
	d.table.Unlock()
	for _, s := range d.shards {
		s.out[index].disconnect()
		if d.loopback {
			s.loops[index].disconnect()
		}
	}
	d.pollable.remove(w)
	d.events.raise(AsyncEvent{Type: qp.EventGIDChange, Port: port})
	d.port.linksChanged(d, -1)
	d.groups.leaveAllOf(d, g)
	return w, nil
}

// UpdateLink reads the capabilities of the link with the given index again, after a change of its
// MTU. Queue pairs and address handles keep their path MTU; if the path MTU no longer fits the
// link, the host rejects their packets and the retries of connections run out.
func (d *Device) UpdateLink(index int) error {
	d.linking.Lock()
	defer d.linking.Unlock()
	d.lockAll()
	defer d.unlockAll()
	if d.shard0().closed {
		return ErrClosed
	}
	g, err := d.gidAt(index)
	if err != nil {
		return err
	}
	caps := g.link.Caps()
	mtu, err := g.pathMTU(caps)
	if err != nil {
		return err
	}
	if mtu != g.mtu {
		d.events.raise(AsyncEvent{Type: qp.EventGIDChange, Port: port})
	}
	d.table.Lock()
	g.caps, g.mtu = caps, mtu
	d.table.Unlock()
	return nil
}

// addLink adds a link to the links that Close closes; it returns false if Close has begun.
func (d *Device) addLink(l packet.Link) (*attachedLink, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending.Load() {
		return nil, false
	}
	w := &attachedLink{link: l, gone: make(chan struct{})}
	d.links = append(d.links, w)
	return w, true
}

// removeLink removes a closed link but keeps its counters.
func (d *Device) removeLink(w *attachedLink) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.links = slices.DeleteFunc(d.links, func(o *attachedLink) bool { return o == w })
	if l, ok := w.link.(packet.StatsReporter); ok {
		d.leftLinks.Add(l.Stats())
	}
}

// closeLinks closes every link and prevents new ones.
func (d *Device) closeLinks() (err error) {
	d.mu.Lock()
	d.ending.Store(true)
	wires := slices.Clone(d.links)
	d.mu.Unlock()
	for _, w := range wires {
		if cerr := w.link.Close(); cerr != nil && !errors.Is(cerr, net.ErrClosed) {
			err = errors.Join(err, cerr)
		}
	}
	return err
}
