package nic

import (
	"errors"
	"net"
	"slices"
	"sync"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// wire is a link of the device, from when it was added until nothing receives from it any
// more.
type wire struct {
	link packet.Link
	gone chan struct{} // closed when the link is being removed

	receivers sync.WaitGroup // goroutines that receive from it
}

// AddLink gives the device a link while it is open, and returns its index in the GID table.
// An address that the device had before gets the index that it had, and the queue pairs and
// address handles that lead there have their way again. Without error the link belongs to the
// device.
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
	// Who is told of the link finds all of it.
	d.events.raise(AsyncEvent{Type: qp.EventGIDChange, Port: port})
	d.port.linksChanged(d, 1)
	return g.index, nil
}

// enterLink puts g, which is new, or else its link, into the table, and sets g's index.
// linking is held.
func (d *Device) enterLink(g *gid) error {
	d.lockAll()
	defer d.unlockAll()
	if d.home().closed {
		return ErrClosed
	}
	d.table.Lock()
	defer d.table.Unlock()
	var err error
	if g.index, err = d.place(g); err != nil {
		return err
	}
	w, ok := d.addWire(g.link)
	if !ok {
		return ErrClosed
	}
	d.connect(g, w)
	return nil
}

// enterAll makes gids the table of a device that is being opened.
func (d *Device) enterAll(gids []*gid) {
	d.lockAll()
	defer d.unlockAll()
	d.table.Lock()
	defer d.table.Unlock()
	d.port.links = len(gids)
	for _, g := range gids {
		if w, ok := d.addWire(g.link); ok {
			d.connect(g, w)
		}
	}
}

// connect makes g, whose index is set, an entry of the table, or its link that of the entry that
// its address had before, and starts to receive. linking, all shards' locks and table are held.
func (d *Device) connect(g *gid, w *wire) {
	isNew := g.index == len(d.gids)
	switch {
	case isNew:
		d.gids = append(d.gids, g)
	case d.gids[g.index].addr() == g.addr():
		// Queue pairs lead to what is there.
		old := d.gids[g.index]
		old.link, old.queues, old.caps, old.mtu = g.link, g.queues, g.caps, g.mtu
		g = old
	default:
		d.gids[g.index], isNew = g, true
	}
	g.wire, g.away = w, nil
	for _, s := range d.shards {
		if isNew {
			s.out = withOut(s.out, &outbox{gid: g})
		}
		s.out[g.index].connect(s)
		if !d.loopback {
			continue
		}
		if isNew {
			s.loops = withOut(s.loops, &outbox{gid: g, loops: true})
		}
		s.loops[g.index].connect(s)
	}
	if g.queues == nil {
		d.receive(newInbox(g, d.home()))
	}
	for i, queue := range g.queues {
		d.receive(newQueueInbox(g, d.shards[i], queue))
	}
}

// withOut returns out with o as that of its entry, which may be one more.
func withOut(out []*outbox, o *outbox) []*outbox {
	if o.index < len(out) {
		out[o.index] = o
		return out
	}
	return append(out, o)
}

// receive begins to receive. All locks are held.
func (d *Device) receive(in *inbox) {
	d.pollable.add(in)
	in.wire.receivers.Add(1)
	d.running.Go(in.run)
}

// RemoveLink takes the link with the given index from the device and closes it. It returns
// when nothing of the link is left. The index stays with the address, which may come back:
// until then what would leave by it is lost, as on a cable that is out.
func (d *Device) RemoveLink(index int) error {
	d.linking.Lock()
	defer d.linking.Unlock()
	w, err := d.takeLink(index)
	if err != nil {
		return err
	}
	err = w.link.Close()
	w.receivers.Wait()
	d.dropWire(w)
	d.rejoin()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// takeLink takes a link out of the table and ends the memberships in groups that it was asked
// for. From when it returns nothing is sent by it. linking is held.
func (d *Device) takeLink(index int) (*wire, error) {
	d.lockAll()
	defer d.unlockAll()
	if d.home().closed {
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
	g.leave(d.departures)
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
	d.groups.partAll(d, g)
	return w, nil
}

// UpdateLink takes over what the link with the given index says of itself: its MTU may have
// changed. Queue pairs and address handles keep the path MTU that they have.
func (d *Device) UpdateLink(index int) error {
	d.linking.Lock()
	defer d.linking.Unlock()
	d.lockAll()
	defer d.unlockAll()
	if d.home().closed {
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

// addWire enters a link among those that Close closes, unless it has closed them.
func (d *Device) addWire(l packet.Link) (*wire, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending.Load() {
		return nil, false
	}
	w := &wire{link: l, gone: make(chan struct{})}
	d.wires = append(d.wires, w)
	return w, true
}

// dropWire forgets a link that is over, all but its counts.
func (d *Device) dropWire(w *wire) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wires = slices.DeleteFunc(d.wires, func(o *wire) bool { return o == w })
	if l, ok := w.link.(packet.Counted); ok {
		d.leftLinks.Add(l.Stats())
	}
}

// closeWires closes every link, for good.
func (d *Device) closeWires() (err error) {
	d.mu.Lock()
	d.ending.Store(true)
	wires := slices.Clone(d.wires)
	d.mu.Unlock()
	for _, w := range wires {
		if cerr := w.link.Close(); cerr != nil && !errors.Is(cerr, net.ErrClosed) {
			err = errors.Join(err, cerr)
		}
	}
	return err
}
