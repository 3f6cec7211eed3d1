package verbs

import (
	"errors"

	"github.com/gorxe/gorxe/mr"
)

// MW is a memory window: a key to a part of a region, which is given to a peer and taken
// back without a new registration.
type MW struct {
	owned
	window *mr.Window
}

// AllocMW makes a memory window that opens nothing yet. One of type 1 is bound by
// [QP.BindMW]; one of type 2 by a WRBindMW work request, see [MW.Bind].
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

// Type returns the type the window was made with.
func (w *MW) Type() MWType { return w.window.Type() }

// RKey returns the key the window has now. A bind changes its low byte when it is executed.
func (w *MW) RKey() uint32 {
	key, _ := w.ctx.dev.nic.WindowKey(w.window)
	return key
}

// Bound is true while the window's key opens memory.
func (w *MW) Bound() bool {
	_, bound := w.ctx.dev.nic.WindowKey(w.window)
	return bound
}

// Bind returns what a WRBindMW work request needs to bind the window to length bytes at
// addr of m, a region registered with [MWBind]. The key for the peer will be the NewKey of
// the result, from the moment in which the request is executed: a SEND posted after it may
// already carry the key. access are the peer's rights; with ZeroBased it counts addresses
// from 0. Without a region the result has LKey 0, which [QP.PostSend] refuses.
func (w *MW) Bind(m *MR, addr, length uint64, access Access) *Bind {
	key := w.RKey()
	b := &Bind{Key: key, NewKey: mr.IncRKey(key), Addr: addr, Length: length, Access: access}
	if m != nil && m.ctx != nil {
		b.LKey = m.LKey()
	}
	return b
}

// Dealloc ends the window. When it returns no peer reaches memory through it.
func (w *MW) Dealloc() error { return w.ended(w.ctx.dev.nic.DeallocWindow(w.window)) }

// BindInfo says what [QP.BindMW] binds a window to, as ibv_mw_bind.
type BindInfo struct {
	ID     uint64 // of the completion
	Flags  SendFlags
	MR     *MR    // registered with [MWBind]; nil unbinds
	Addr   uint64 // of the first byte, as the region counts
	Length uint64 // in bytes; 0 unbinds
	Access Access // rights of the peer
}

// BindMW binds a window of type 1, or unbinds it, as ibv_bind_mw: it posts a work request
// to the send queue, and what is posted after it finds the window bound. It returns the
// key that the window will have. A bind that the rules refuse completes with MW_BIND_ERR.
func (q *QP) BindMW(w *MW, info BindInfo) (rkey uint32, err error) {
	wr := &SendWR{
		ID: info.ID, Opcode: WRBindMW, Flags: info.Flags,
		Bind: &Bind{Addr: info.Addr, Length: info.Length, Access: info.Access},
	}
	switch {
	case w == nil:
		return 0, &PostError{Err: errors.New("bind: the memory window is nil: make one with PD.AllocMW")}
	case w.ctx != q.ctx || info.MR != nil && info.MR.ctx != q.ctx:
		return 0, &PostError{Err: errors.New("bind: window, region and queue pair are not on one device and in one context")}
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

// FastMR is a region whose memory work requests give and take: a WRRegMR registers it, a
// WRLocalInv or a peer's SEND with invalidate takes the memory back, at the cost of a work
// request and without waiting.
type FastMR struct {
	owned
	region *mr.FastRegion
}

// AllocFastMR makes a fast region for up to maxLen bytes that has no memory yet.
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

// Key returns the key the region has now, for local work requests and for peers. A
// registration changes its low byte when it is executed.
func (f *FastMR) Key() uint32 {
	key, _ := f.ctx.dev.nic.FastKey(f.region)
	return key
}

// Registered is true while the region has memory.
func (f *FastMR) Registered() bool {
	_, registered := f.ctx.dev.nic.FastKey(f.region)
	return registered
}

// Reg returns what a WRRegMR work request needs to register buf, at the addresses of the
// buffer itself or with ZeroBased from 0. The region's key will be the NewKey of the result.
func (f *FastMR) Reg(buf []byte, access Access) *FastReg {
	key := f.Key()
	r := &FastReg{
		Key: key, NewKey: mr.IncRKey(key), Memory: mr.Bytes(buf), IOVA: addressOf(buf), Length: uint64(len(buf)), Access: access,
	}
	if access&ZeroBased != 0 {
		r.IOVA = 0
	}
	return r
}

// Dereg ends the region, registered or not. When it returns nothing reaches memory through
// it. A region that memory windows are bound to is refused.
func (f *FastMR) Dereg() error { return f.ended(f.ctx.dev.nic.FreeFast(f.region)) }

// IncRKey returns key with the next value of its low byte, which belongs to the owner of a
// window or a fast region. It is ibv_inc_rkey.
func IncRKey(key uint32) uint32 { return mr.IncRKey(key) }
