//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// An owned is an object and the device whose open created the object; nil if no open did.
type owned struct {
	object Object
	device *Device
}

// objects finds objects by the inode of their files. So it finds the object of a call with any
// descriptor number and in any process.
type objects struct {
	mu sync.RWMutex
	m  map[Inode]owned
}

// add associates the file of fd, a descriptor of this process, with obj. undo restores the previous
// association of the file. Without an object, add does nothing.
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

// Forget removes the association between an object and its files; calls on them then continue in
// the kernel. A handler calls Forget when it releases an object, before it closes its own
// descriptor of the file: after that the kernel may reuse the inode number.
func (s *Server) Forget(obj Object) {
	s.objects.mu.Lock()
	defer s.objects.mu.Unlock()
	for k, v := range s.objects.m {
		if v.object == obj {
			delete(s.objects.m, k)
		}
	}
}

// Files returns the number of files whose calls go to an Object.
func (s *Server) Files() int {
	s.objects.mu.RLock()
	defer s.objects.mu.RUnlock()
	return len(s.objects.m)
}

// find returns the object of descriptor fd of the caller and stores the attributes of its file in
// st. It returns false if no object has that descriptor.
func (s *Server) find(c *Call, fd int, st *unix.Stat_t) (owned, bool) {
	id, err := s.procs.stat(c, fd, 0, st)
	if err != nil {
		return owned{}, false
	}
	o, ok := s.objects.get(inodeOf(st))
	if ok {
		c.proc = id
		_ = s.procs.watch(c, s.exit) // an error does no harm: the process that opened the file is already watched
	}
	return o, ok
}

// installReserved installs a descriptor on a free number, at least least, in the ranges of slot.
// It returns EMFILE if there is none.
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
			return 0, unix.EMFILE // further windows exceed the limit of the program too
		}
	}
	return 0, unix.EMFILE
}

// installWithin installs a descriptor on a free number from lo to hi. It returns EMFILE if none
// is free, EBADF if the number exceeds the limit of the program.
//
// A lock for each process makes the check and the installation atomic with respect to our other
// descriptors. It is not atomic with respect to the program: if the program opens or duplicates a
// descriptor in between and gets that number, it loses that file. So spare windows, which the
// program may use itself, are filled from the top: the program would get these numbers last. The
// kernel closes the lost file during the installation, which may block, so the lock is not shared
// by processes.
func (s *Server) installWithin(c *Call, a *addFD, lo, hi int) (int, error) {
	for i := range max(hi-lo+1, 0) {
		n := hi - i
		if s.cfg.Descriptors.preferred().contains(n) {
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
