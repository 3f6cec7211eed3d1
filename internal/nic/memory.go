package nic

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// lockKeys lets nothing look keys up or change them, so that a key can be taken away.
func (d *Device) lockKeys() {
	d.lockAll()
	d.changing.Lock()
}

func (d *Device) unlockKeys() {
	d.changing.Unlock()
	d.unlockAll()
}

// Register enters memory into the key table; see [mr.Table.Register]. No shard waits for that.
func (d *Device) Register(pd *mr.PD, mem mr.Memory, iova, length uint64, access mr.Access) (*mr.Region, error) {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.ending.Load() {
		return nil, ErrClosed
	}
	return d.keys.Register(pd, mem, iova, length, access)
}

// Reregister changes a region; see [mr.Table.Reregister]. When it returns nothing reads or
// writes through the former region any more.
func (d *Device) Reregister(r *mr.Region, q *mr.Rereg) (*mr.Region, error) {
	d.lockKeys()
	defer d.unlockKeys()
	if d.ending.Load() {
		return nil, ErrClosed
	}
	return d.keys.Reregister(r, q)
}

// Deregister takes a region out of the key table. When it returns nothing reads or writes
// its memory any more: work that still names it ends in an error.
func (d *Device) Deregister(r *mr.Region) error {
	d.lockKeys()
	defer d.unlockKeys()
	return d.keys.Deregister(r)
}

// AllocWindow makes a memory window; see [mr.Table.AllocWindow].
func (d *Device) AllocWindow(pd *mr.PD, typ mr.WindowType) (*mr.Window, error) {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.ending.Load() {
		return nil, ErrClosed
	}
	return d.keys.AllocWindow(pd, typ)
}

// DeallocWindow ends a memory window. When it returns no peer reaches memory through it.
func (d *Device) DeallocWindow(w *mr.Window) error {
	d.lockKeys()
	defer d.unlockKeys()
	return d.keys.DeallocWindow(w)
}

// WindowKey is the key the window has now, and whether it opens memory.
func (d *Device) WindowKey(w *mr.Window) (key uint32, bound bool) {
	d.changing.Lock()
	defer d.changing.Unlock()
	return w.RKey(), w.Bound()
}

// AllocFast makes a fast region; see [mr.Table.AllocFast].
func (d *Device) AllocFast(pd *mr.PD, max uint64) (*mr.FastRegion, error) {
	d.changing.Lock()
	defer d.changing.Unlock()
	if d.ending.Load() {
		return nil, ErrClosed
	}
	return d.keys.AllocFast(pd, max)
}

// FreeFast ends a fast region. When it returns nothing reaches memory through it.
func (d *Device) FreeFast(f *mr.FastRegion) error {
	d.lockKeys()
	defer d.unlockKeys()
	return d.keys.FreeFast(f)
}

// FastKey is the key the fast region has now, and whether it leads to memory.
func (d *Device) FastKey(f *mr.FastRegion) (key uint32, registered bool) {
	d.changing.Lock()
	defer d.changing.Unlock()
	return f.Key(), f.Registered()
}

// PostBind posts wr, which binds w under the next key in turn, and returns that key. Binds
// of the same window that the queue has not come to are counted in.
func (q *QP) PostBind(w *mr.Window, wr *qp.SendWR) (key uint32, err error) {
	s := q.shard
	s.lock()
	defer s.unlock()
	if w.Type() != mr.WindowType1 {
		return 0, fmt.Errorf("memory window %#08x is of type 2: bind it with a WRBindMW work request", w.RKey())
	}
	wr.Bind.Key = w.RKey()
	sq := q.attr.SQ
	for i := sq.Head(); i != sq.Tail(); i++ {
		if e := sq.At(i); e.Opcode == qp.WRBindMW && !e.Started && e.Local.Bind.Key == wr.Bind.Key {
			wr.Bind.Key = e.Local.Bind.NewKey
		}
	}
	wr.Bind.NewKey = mr.IncRKey(wr.Bind.Key)
	if _, err := q.postSend([]*qp.SendWR{wr}); err != nil {
		return 0, err
	}
	return wr.Bind.NewKey, nil
}
