package uapi

import (
	"fmt"
	"math"
)

// A Request is a call that has passed the checks of its method.
type Request struct {
	Call  *Call
	Spec  *MethodSpec
	bound []int // index in Call.Attrs of each of Spec.Attrs, -1 if absent
}

// Check applies the rules of a call's method, in the order of the attributes and with the errors
// of drivers/infiniband/core/uverbs_ioctl.c:
//
//   - EINVAL: a driver other than the device's, a duplicate attribute, a wrong length, a reserved
//     field other than 0, a missing mandatory attribute
//   - EPROTONOSUPPORT: an unknown method, an unknown attribute with AttrMandatory
//   - EOPNOTSUPP: an input longer than the known bytes whose rest is not zero
//
// An unknown attribute without AttrMandatory is ignored. Check examines the rest of an input only
// if the input is inline in the call; for an input at an address, Decode does so. The caller of
// Check looks up handles.
func Check(c *Call, driver DriverID) (*Request, error) {
	if c.DriverID != driver {
		return nil, fmt.Errorf("call for %v, the device has %v: %w", c.DriverID, driver, EINVAL)
	}
	spec := FindMethod(c.Method)
	if spec == nil {
		return nil, fmt.Errorf("%v is unknown: %w", c.Method, EPROTONOSUPPORT)
	}
	r := &Request{Call: c, Spec: spec, bound: make([]int, len(spec.Attrs))}
	for i := range r.bound {
		r.bound[i] = -1
	}
	for i := range c.Attrs {
		a := &c.Attrs[i]
		n := spec.index(a.AttrID)
		switch {
		case n >= 0 && r.bound[n] >= 0:
			return nil, fmt.Errorf("%s is there twice: %w", spec.Attrs[n].Name, EINVAL)
		case n >= 0:
			if err := spec.Attrs[n].check(a); err != nil {
				return nil, err
			}
			r.bound[n] = i
		case a.Flags&AttrMandatory != 0:
			return nil, fmt.Errorf("%s has no attribute %#x: %w",
				spec.Name, a.AttrID, EPROTONOSUPPORT)
		}
	}
	for n := range spec.Attrs {
		if s := &spec.Attrs[n]; s.Mandatory && r.bound[n] < 0 {
			return nil, fmt.Errorf("%s needs %s: %w", spec.Name, s.Name, EINVAL)
		}
	}
	return r, nil
}

// check applies the rule s to an attribute of a call.
func (s *AttrSpec) check(a *Attr) error {
	if s.Kind != PtrOut && s.ZeroTail && int(a.Len) > s.Max {
		if b, ok := a.Bytes(); ok && !Cleared(b, s.Max) {
			return fmt.Errorf("%s has %d bytes, those after %d are not zero: %w",
				s.Name, a.Len, s.Max, EOPNOTSUPP)
		}
	}
	switch n := int(a.Len); {
	case !s.Kind.pointer() && n != 0:
		return fmt.Errorf("%s (%v) has a length of %d: %w", s.Name, s.Kind, n, EINVAL)
	case s.Kind.pointer() && (n < s.Min || n > s.Max && !s.ZeroTail):
		return fmt.Errorf("%s has %d bytes, not %d to %d: %w", s.Name, n, s.Min, s.Max, EINVAL)
	case a.ElemID != 0 || a.Reserved != 0:
		return fmt.Errorf("%s has the reserved bytes %d and %d: %w",
			s.Name, a.ElemID, a.Reserved, EINVAL)
	}
	return nil
}

// Index returns the index of an attribute in Call.Attrs, -1 if it is absent or belongs to another
// method.
func (r *Request) Index(id AttrID) int {
	if id.Method() != r.Spec.ID {
		return -1
	}
	if n := r.Spec.index(uint16(id)); n >= 0 {
		return r.bound[n]
	}
	return -1
}

// Has reports whether an attribute is present.
func (r *Request) Has(id AttrID) bool { return r.Index(id) >= 0 }

// Attr returns an attribute, or nil if it is absent.
func (r *Request) Attr(id AttrID) *Attr {
	if i := r.Index(id); i >= 0 {
		return &r.Call.Attrs[i]
	}
	return nil
}

// present returns an attribute, or ENOENT if it is absent.
func (r *Request) present(id AttrID) (*Attr, error) {
	a := r.Attr(id)
	if a == nil {
		return nil, fmt.Errorf("%v is absent: %w", id, ENOENT)
	}
	return a, nil
}

// Uint returns the value of an input of 1 to 8 bytes. The error is ENOENT if the attribute is
// absent, EINVAL if it has another length.
func (r *Request) Uint(id AttrID) (uint64, error) {
	a, err := r.present(id)
	if err != nil {
		return 0, err
	}
	if a.Len == 0 || a.Len > 8 {
		return 0, fmt.Errorf("%v has %d bytes, not 1 to 8: %w", id, a.Len, EINVAL)
	}
	return a.Data & (math.MaxUint64 >> (64 - 8*a.Len)), nil
}

// Const returns the value of an input, most being the largest that is allowed. The error is ENOENT
// if the attribute is absent, EINVAL if the value is greater than most (_uverbs_get_const).
func (r *Request) Const(id AttrID, most uint64) (uint64, error) {
	v, err := r.Uint(id)
	if err == nil && v > most {
		err = fmt.Errorf("%v is %d, the limit is %d: %w", id, v, most, EINVAL)
	}
	return v, err
}

// Flags returns the value of an input that is a set of bits, 0 if the attribute is absent. The
// error is EINVAL if a bit outside allowed is set (uverbs_get_flags64).
func (r *Request) Flags(id AttrID, allowed uint64) (uint64, error) {
	a := r.Attr(id)
	if a == nil {
		return 0, nil
	}
	if a.Len != 4 && a.Len != 8 {
		return 0, fmt.Errorf("%v has %d bytes, not 4 or 8: %w", id, a.Len, EINVAL)
	}
	v, err := r.Uint(id)
	if err == nil && v&^allowed != 0 {
		err = fmt.Errorf("%v has the bits %#x, allowed are %#x: %w", id, v, allowed, EINVAL)
	}
	return v, err
}

// Handle returns the handle of an object. The error is ENOENT if the attribute is absent or the
// handle exceeds 32 bits, EINVAL if the handle is negative.
func (r *Request) Handle(id AttrID) (uint32, error) {
	a, err := r.present(id)
	switch {
	case err != nil:
		return 0, err
	case int64(a.Data) < 0:
		return 0, fmt.Errorf("%v is the handle %d: %w", id, int64(a.Data), EINVAL)
	case a.Data > math.MaxUint32:
		return 0, fmt.Errorf("%v is the handle %d: %w", id, a.Data, ENOENT)
	}
	return uint32(a.Data), nil
}

// FD returns a file descriptor, which may be negative. The error is ENOENT if the attribute is
// absent, EINVAL if the descriptor exceeds 32 bits (lookup_get_fd_uobject of
// drivers/infiniband/core/rdma_core.c).
func (r *Request) FD(id AttrID) (int32, error) {
	a, err := r.present(id)
	if err != nil {
		return 0, err
	}
	fd := int64(a.Data)
	if fd != int64(int32(fd)) {
		return 0, fmt.Errorf("%v is the file descriptor %d: %w", id, fd, EINVAL)
	}
	return int32(fd), nil
}
