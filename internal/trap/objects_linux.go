//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// An owned is an object and the device that it was opened as, nil if it was not opened.
type owned struct {
	object Object
	device *Device
}

// objects finds objects by the inode of their files, so that it does not matter on which number
// or in which process a call is made.
type objects struct {
	mu sync.RWMutex
	m  map[Inode]owned
}

// add connects the file fd with an object until undo or forget.
func (o *objects) add(fd int, obj Object, d *Device) (undo func(), err error) {
	if obj == nil {
		return func() {}, nil
	}
	key, err := InodeOf(fd)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	old, replaced := o.m[key]
	if replaced && old.object == obj {
		return func() {}, nil
	}
	o.m[key] = owned{object: obj, device: d}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if replaced {
			o.m[key] = old
		} else {
			delete(o.m, key)
		}
	}, nil
}

func (o *objects) get(key Inode) (owned, bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	v, ok := o.m[key]
	return v, ok
}

// Forget ends the connection between the object and its files; calls on them continue in the
// kernel. A handler calls it when it releases an object, before it closes its own descriptor of
// the file: the number of the inode may be used again after that.
func (s *Server) Forget(obj Object) {
	s.objects.mu.Lock()
	defer s.objects.mu.Unlock()
	for k, v := range s.objects.m {
		if v.object == obj {
			delete(s.objects.m, k)
		}
	}
}

// Objects returns how many files are connected with an object.
func (s *Server) Objects() int {
	s.objects.mu.RLock()
	defer s.objects.mu.RUnlock()
	return len(s.objects.m)
}

// find returns the object of a descriptor of the caller, and what its file is. It is false for
// descriptors that are not ours.
func (s *Server) find(c *Call, fd int, st *unix.Stat_t) (owned, bool) {
	id, err := s.procs.stat(c, fd, 0, st)
	if err != nil {
		return owned{}, false
	}
	o, ok := s.objects.get(inodeOf(st))
	if ok {
		c.proc = id
		_ = s.procs.watch(c, s.exit) // which the process that has opened it is already
	}
	return o, ok
}

// installReserved installs a descriptor on a free number of a slot that is at least least.
func (s *Server) installReserved(c *Call, a *addFD, slot Slot, least int) (int, error) {
	defer s.installs.lock(c.group)()
	for w := range s.cfg.Descriptors.windows() {
		lo, hi := w.slot(slot)
		n, err := s.installWithin(c, a, max(lo, least), hi)
		switch {
		case errors.Is(err, unix.EMFILE):
		case !errors.Is(err, unix.EBADF):
			return n, err
		case hi >= selectLimit:
			return 0, unix.EMFILE // further windows are above the limit of the program too
		}
	}
	return 0, unix.EMFILE
}

// installWithin installs a descriptor on a free number from lo to hi; EMFILE if there is none, EBADF if it is above
// the limit of the program. The check and the installation are one step for all our descriptors of a process; a
// program that opens or duplicates a descriptor in between, and gets that number, loses it. So the numbers that a
// program would get last are used first where it may have others around. The kernel closes what is lost during the
// installation, which may take long, so processes have locks of their own.
func (s *Server) installWithin(c *Call, a *addFD, lo, hi int) (int, error) {
	for i := range max(hi-lo+1, 0) {
		n := hi - i
		if s.cfg.Descriptors.first().contains(n) {
			n = lo + i
		}
		var st unix.Stat_t
		switch _, err := s.procs.stat(c, n, unix.AT_SYMLINK_NOFOLLOW, &st); {
		case err == nil:
			continue
		case !c.Valid():
			return 0, ErrGone
		case !errors.Is(err, unix.ENOENT):
			return 0, err
		}
		a.flags |= unix.SECCOMP_ADDFD_FLAG_SETFD
		a.newFD = uint32(n)
		return s.listener.addFD(a)
	}
	return 0, unix.EMFILE
}
