//go:build linux

package uverbs

import (
	"errors"
	"fmt"
	"io"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/verbs"
)

// pd is a protection domain of a program.
type pd struct {
	verbs *verbs.PD
	users int // number of shared receive queues of the domain
}

func (c *command) allocPD() (any, error) {
	p, err := c.ctx.verbs.AllocPD()
	if err != nil {
		return nil, errnoFor(err, uapi.ENOMEM)
	}
	return uapi.AllocPDResp{PDHandle: c.ctx.pds.add(&pd{verbs: p})}, nil
}

func (c *Context) deallocPD(handle uint32) error {
	p, err := c.pds.get(uapi.ObjectPD, handle)
	if err != nil {
		return err
	}
	if p.users > 0 {
		return fmt.Errorf("protection domain %d is that of %d shared receive queues: %w", handle, p.users, uapi.EBUSY)
	}
	if err := p.verbs.Dealloc(); err != nil {
		return errnoFor(err, uapi.EBUSY)
	}
	c.pds.remove(handle)
	return nil
}

// region is a memory region of a program.
type region struct {
	mr  *verbs.MR
	mem mr.Memory
}

// closeMemory releases the memory after the region has ended.
func (g *region) closeMemory() error {
	if m, ok := g.mem.(io.Closer); ok {
		return m.Close()
	}
	return nil
}

// Access rights of a region. The optional ones are ignored; on-demand paging is not supported.
const (
	rightsOfRegions = mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic | mr.MWBind |
		mr.ZeroBased | mr.FlushGlobal | mr.FlushPersistent
	ignoredRights = uapi.AccessOptionalRange | uint32(uapi.AccessHugeTLB)
)

// rightsOf checks the access flags of a program and returns them as access rights, which have the
// same bits. It clears ignoredRights, and fails for unknown flags and for combinations that
// ib_check_mr_access of the kernel forbids.
func rightsOf(flags uint32) (mr.Access, error) {
	flags &^= ignoredRights
	if flags&uint32(uapi.AccessOnDemand) != 0 {
		return 0, fmt.Errorf("on-demand paging: %w", uapi.EOPNOTSUPP)
	}
	if unknown := flags &^ uint32(rightsOfRegions); unknown != 0 {
		return 0, fmt.Errorf("unknown access rights %#x: %w", unknown, uapi.EINVAL)
	}
	a := mr.Access(flags)
	if a&(mr.RemoteWrite|mr.RemoteAtomic) != 0 && a&mr.LocalWrite == 0 { // ib_check_mr_access
		return 0, fmt.Errorf("remote write and remote atomic need local write: %w", uapi.EINVAL)
	}
	return a, nil
}

func (c *command) regMR() (any, error) {
	q, err := uapi.DecodeAs[uapi.RegMR](c.in)
	if err != nil {
		return nil, err
	}
	page := uint64(c.ctx.server.page)
	if q.Start%page != q.HCAVA%page {
		return nil, fmt.Errorf("memory at %#x as %#x: they are at different places in a page: %w", q.Start,
			q.HCAVA, uapi.EINVAL)
	}
	if q.Length == 0 || q.Start+q.Length < q.Start {
		return nil, fmt.Errorf("%d bytes at %#x: %w", q.Length, q.Start, uapi.EINVAL)
	}
	access, err := rightsOf(q.AccessFlags)
	if err != nil {
		return nil, err
	}
	p, err := c.ctx.pds.get(uapi.ObjectPD, q.PDHandle)
	if err != nil {
		return nil, err
	}
	mem, err := c.ctx.space.Register(q.Start, q.Length, access)
	if err != nil {
		return nil, errnoFor(err, uapi.EFAULT)
	}
	g := &region{mem: mem}
	iova := q.HCAVA
	if access&mr.ZeroBased != 0 {
		iova = 0
	}
	if g.mr, err = p.verbs.RegMemory(mem, access, verbs.WithIOVA(iova)); err != nil {
		return nil, errnoFor(errors.Join(err, g.closeMemory()), uapi.ENOMEM)
	}
	return uapi.RegMRResp{MRHandle: c.ctx.mrs.add(g), LKey: g.mr.LKey(), RKey: g.mr.RKey()}, nil
}

func (c *Context) deregMR(handle uint32) error {
	g, err := c.mrs.get(uapi.ObjectMR, handle)
	if err != nil {
		return err
	}
	if err := g.mr.Dereg(); err != nil {
		return errnoFor(err, uapi.EBUSY)
	}
	c.mrs.remove(handle)
	return g.closeMemory()
}

// adviseMR checks its arguments and does nothing: all pages of a region are present.
func adviseMR(r *request) error {
	h, err := r.Handle(uapi.AttrAdviseMRPDHandle)
	if err != nil {
		return err
	}
	_, err = r.ctx.pds.get(uapi.ObjectPD, h)
	return err
}

func queryMR(r *request) error {
	h, err := r.Handle(uapi.AttrQueryMRHandle)
	if err != nil {
		return err
	}
	g, err := r.ctx.mrs.get(uapi.ObjectMR, h)
	if err != nil {
		return err
	}
	return errors.Join(r.output(uapi.AttrQueryMRRespLKey, g.mr.LKey()), r.output(uapi.AttrQueryMRRespRKey, g.mr.RKey()),
		r.output(uapi.AttrQueryMRRespLength, uint64(g.mr.Len())), r.output(uapi.AttrQueryMRRespIOVA, g.mr.Addr()))
}

func (c *command) allocMW() (any, error) {
	q, err := uapi.DecodeAs[uapi.AllocMW](c.in)
	if err != nil {
		return nil, err
	}
	p, err := c.ctx.pds.get(uapi.ObjectPD, q.PDHandle)
	if err != nil {
		return nil, err
	}
	w, err := p.verbs.AllocMW(verbs.MWType(q.MWType))
	if err != nil {
		return nil, errnoFor(err, uapi.EINVAL)
	}
	return uapi.AllocMWResp{MWHandle: c.ctx.mws.add(w), RKey: w.RKey()}, nil
}

func (c *Context) deallocMW(handle uint32) error {
	w, err := c.mws.get(uapi.ObjectMW, handle)
	if err != nil {
		return err
	}
	if err := w.Dealloc(); err != nil {
		return errnoFor(err, uapi.EBUSY)
	}
	c.mws.remove(handle)
	return nil
}
