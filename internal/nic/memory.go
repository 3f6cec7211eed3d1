package nic

import "github.com/gorxe/gorxe/mr"

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
