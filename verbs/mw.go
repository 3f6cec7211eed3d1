package verbs

import (
	"errors"

	"github.com/gorxe/gorxe/mr"
)

// MW is a memory window: a key for a part of a region, which a program gives to a peer and
// invalidates without a new registration.
type MW struct {
	owned
	window *mr.Window
}

// AllocMW allocates an unbound memory window. [QP.BindMW] binds a window of type 1, a WRBindMW
// work request one of type 2; see [MW.Bind].
func (p *PD) AllocMW(typ MWType) (*MW, error) {
	w := &MW{}
	err := p.ctx.add(objectMW, &w.owned, w.Dealloc, func() (err error) {
		w.window, err = p.ctx.dev.nic.AllocWindow(p.pd, typ)
		return err
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Type returns the type of the window.
func (w *MW) Type() MWType { return w.window.Type() }

// RKey returns the current key of the window. A bind changes its low byte when it is executed.
func (w *MW) RKey() uint32 {
	key, _ := w.ctx.dev.nic.WindowKey(w.window)
	return key
}

// Bound reports whether the window is bound to memory.
func (w *MW) Bound() bool {
	_, bound := w.ctx.dev.nic.WindowKey(w.window)
	return bound
}

// Bind returns the parameters of a WRBindMW work request that binds the window to length bytes at
// addr of m, a region registered with [MWBind]. The peer's key will be NewKey of the result once
// the request is executed; a SEND posted after the request may already carry it. access holds the
// peer's rights; with ZeroBased, the addresses of the window start at 0. If m is nil, the result
// has LKey 0, which [QP.PostSend] rejects.
func (w *MW) Bind(m *MR, addr, length uint64, access Access) *Bind {
	key := w.RKey()
	b := &Bind{Key: key, NewKey: mr.IncRKey(key), Addr: addr, Length: length, Access: access}
	if m != nil && m.ctx != nil {
		b.LKey = m.LKey()
	}
	return b
}

// Dealloc deallocates the window. When it returns, no peer accesses memory through it.
func (w *MW) Dealloc() error { return w.deregisterUnless(w.ctx.dev.nic.DeallocWindow(w.window)) }

// BindInfo holds the parameters of [QP.BindMW], as ibv_mw_bind.
type BindInfo struct {
	ID     uint64 // ID of the completion
	Flags  SendFlags
	MR     *MR    // region registered with [MWBind]; nil unbinds
	Addr   uint64 // address of the first byte, in the region's addresses
	Length uint64 // in bytes; 0 unbinds
	Access Access // rights of the peer
}

// BindMW binds or unbinds a window of type 1, as ibv_bind_mw: it posts a work request to the send
// queue. Requests posted afterwards find the window bound. It returns the future key of the
// window. A bind that violates the rules completes with MW_BIND_ERR.
func (q *QP) BindMW(w *MW, info BindInfo) (rkey uint32, err error) {
	wr := &SendWR{
		ID: info.ID, Opcode: WRBindMW, Flags: info.Flags,
		Bind: &Bind{Addr: info.Addr, Length: info.Length, Access: info.Access},
	}
	switch {
	case w == nil:
		return 0, &PostError{Err: errors.New("bind: the memory window is nil: make one with PD.AllocMW")}
	case w.ctx != q.ctx || info.MR != nil && info.MR.ctx != q.ctx:
		return 0, &PostError{Err: errors.New(
			"bind: window, region and queue pair are not on one device and in one context")}
	case info.MR != nil:
		wr.Bind.LKey = info.MR.LKey()
	case info.Length != 0:
		return 0, &PostError{Err: errors.New("bind: no region given; to unbind the window give length 0")}
	}
	if rkey, err = q.qp.PostBind(w.window, wr); err != nil {
		return 0, &PostError{Err: err}
	}
	return rkey, nil
}

// FastMR is a region that gets its memory by a work request, WRRegMR, and loses it by WRLocalInv or
// by a peer's SEND with invalidate. A registration is a work request instead of a call that waits.
type FastMR struct {
	owned
	region *mr.FastRegion
}

// AllocFastMR allocates a fast-registration memory region that has no memory yet. maxLen is its
// maximum length in bytes.
func (p *PD) AllocFastMR(maxLen uint64) (*FastMR, error) {
	f := &FastMR{}
	err := p.ctx.add(objectMR, &f.owned, f.Dereg, func() (err error) {
		f.region, err = p.ctx.dev.nic.AllocFast(p.pd, maxLen)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Key returns the current key of the region, for local work requests and for peers. A
// registration changes its low byte when it is executed.
func (f *FastMR) Key() uint32 {
	key, _ := f.ctx.dev.nic.FastKey(f.region)
	return key
}

// Registered reports whether the region has memory.
func (f *FastMR) Registered() bool {
	_, registered := f.ctx.dev.nic.FastKey(f.region)
	return registered
}

// Reg returns the parameters of a WRRegMR work request that registers buf, at the addresses of
// the buffer, or from 0 with ZeroBased. The region's key will be NewKey of the result.
func (f *FastMR) Reg(buf []byte, access Access) *FastReg {
	key := f.Key()
	r := &FastReg{
		Key: key, NewKey: mr.IncRKey(key), Memory: mr.Bytes(buf), IOVA: addressOf(buf), Length: uint64(len(buf)),
		Access: access,
	}
	if access&ZeroBased != 0 {
		r.IOVA = 0
	}
	return r
}

// Dereg deallocates the region, registered or not. When it returns, no access to memory through
// it is possible. It fails if memory windows are bound to the region.
func (f *FastMR) Dereg() error { return f.deregisterUnless(f.ctx.dev.nic.FreeFast(f.region)) }

// IncRKey returns key with its low byte incremented, as ibv_inc_rkey. The low byte belongs to the
// owner of a window or a fast-registration memory region.
func IncRKey(key uint32) uint32 { return mr.IncRKey(key) }
