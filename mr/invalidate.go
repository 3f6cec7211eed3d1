package mr

import "fmt"

// Invalidate executes a LOCAL_INV on a queue pair of domain pd: the window of type 2 or the
// fast-registration memory region with that key no longer gives access to memory. As in Linux rxe,
// the request fails for a region created by [Table.Register], for a window that is unbound or of
// type 1, and for a fast-registration memory region to which windows are bound. For an unregistered
// fast-registration memory region it does nothing. After an error nothing has changed.
func (t *Table) Invalidate(pd *PD, key uint32) error {
	return t.invalidate(pd, key, func(*Window) bool { return true })
}

// InvalidateRemote is Invalidate for a SEND with invalidate from the peer of queue pair qpn: a
// window must have been bound on that queue pair. On an error the responder rejects the SEND with
// a NAK remote access error; Linux rxe acknowledges the SEND and fails at its own end only.
func (t *Table) InvalidateRemote(pd *PD, qpn, key uint32) error {
	return t.invalidate(pd, key, func(w *Window) bool { return w.qpn == qpn })
}

// WouldInvalidateRemote reports whether InvalidateRemote would change anything. It returns false
// for a key that InvalidateRemote rejects and for an unregistered fast-registration memory region.
func (t *Table) WouldInvalidateRemote(pd *PD, qpn, key uint32) bool {
	w, f, err := t.findInvalidation(pd, key, func(w *Window) bool { return w.qpn == qpn })
	return err == nil && (w != nil || f.region != nil)
}

// invalidate implements Invalidate and InvalidateRemote; mayUnbind reports whether the request may
// unbind a window.
func (t *Table) invalidate(pd *PD, key uint32, mayUnbind func(*Window) bool) error {
	w, f, err := t.findInvalidation(pd, key, mayUnbind)
	switch {
	case err != nil:
		return err
	case w != nil:
		t.unbind(w)
	default:
		t.invalidateFast(f)
	}
	return nil
}

// findInvalidation returns the object that an invalidation of key applies to, either a window or a
// fast-registration memory region, or the error of a rejected invalidation.
func (t *Table) findInvalidation(pd *PD, key uint32, mayUnbind func(*Window) bool) (*Window, *FastRegion, error) {
	e := t.entry(key)
	switch w, f := e.window, e.fast; {
	case w != nil && w.key == key:
		return w, nil, w.mayInvalidate(pd, mayUnbind)
	case f != nil && f.key == key:
		return nil, f, f.mayInvalidate(pd)
	case e.region != nil && e.region.key == key:
		return nil, nil, fmt.Errorf(
			"mr: invalidate: key %#08x belongs to a memory region; deregister the region instead", key)
	}
	return nil, nil, fmt.Errorf("mr: invalidate: no object has key %#08x", key)
}

// mayInvalidate returns an error if a request on a queue pair of domain pd may not invalidate the
// window.
func (w *Window) mayInvalidate(pd *PD, mayUnbind func(*Window) bool) error {
	switch {
	case w.pd != pd:
		return fmt.Errorf("mr: invalidate: window %#08x is not in the protection domain of the queue pair", w.key)
	case w.typ == WindowType1:
		return fmt.Errorf("mr: invalidate: window %#08x is of type 1; bind it with length 0 instead", w.key)
	case !w.Bound():
		return fmt.Errorf("mr: invalidate: window %#08x is not bound", w.key)
	case !mayUnbind(w):
		return fmt.Errorf("mr: invalidate: window %#08x is bound on queue pair %#06x, not on the one of the request",
			w.key, w.qpn)
	}
	return nil
}

// mayInvalidate returns an error if a request on a queue pair of domain pd may not invalidate the
// region.
func (f *FastRegion) mayInvalidate(pd *PD) error {
	if f.pd != pd {
		return fmt.Errorf("mr: invalidate: region %#08x is not in the protection domain of the queue pair", f.key)
	}
	if f.region == nil {
		return nil
	}
	return f.region.checkNoWindows("invalidate")
}
