//go:build linux

package uverbs

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// srq is a shared receive queue of a program, and the source of receives of its queue pairs. The
// transport calls it under the lock of a shard, the program under the context's lock, so the ring
// has its own lock.
type srq struct {
	ctx   *Context
	pd    *pd
	users int // number of queue pairs that use the queue
	async source
	ring  *ring

	mu      sync.Mutex
	receive *rings.RecvRing // guarded by mu
	next    *ring           // new ring during a resize; guarded by mu
}

// Take implements [qp.RecvSource].
func (s *srq) Take(dst *qp.RecvWQE) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.receive.Take(dst)
}

// PD implements [qp.RecvSource].
func (s *srq) PD() *mr.PD { return s.pd.verbs.Domain() }

// Shared implements [qp.RecvSource].
func (s *srq) Shared() bool { return true }

// Len implements [qp.RecvSource].
func (s *srq) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.receive.Len()
}

// Depth implements [qp.RecvSource].
func (s *srq) Depth() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.receive.Depth()
}

// Reset implements [qp.RecvSource]. Queue pairs do not reset a shared source.
func (s *srq) Reset() {}

// Event implements [qp.EventSink]: the queue has fewer receives than its limit.
func (s *srq) Event(e qp.EventType) { s.ctx.push(&s.async, e) }

func (s *srq) close() error { return s.ring.Close() }

func createSRQ(r *request) error {
	s := &srq{ctx: r.ctx}
	var n [4]uint64
	for i, id := range []uapi.AttrID{uapi.AttrCreateSRQUserHandle, uapi.AttrCreateSRQMaxWR, uapi.AttrCreateSRQMaxSGE,
		uapi.AttrCreateSRQLimit} {
		var err error
		if n[i], err = r.Uint(id); err != nil {
			return err
		}
	}
	s.async.handle = n[0]
	typ, err := r.Const(uapi.AttrCreateSRQType, 1<<32-1)
	if err != nil {
		return err
	}
	if uapi.SRQType(typ) != uapi.SRQTypeBasic {
		return fmt.Errorf("a shared receive queue of type %v: %w", uapi.SRQType(typ), uapi.EOPNOTSUPP)
	}
	switch a := r.ctx.server.dev.Attr(); {
	case n[1] == 0 || n[1] > uint64(a.MaxSRQWR):
		return fmt.Errorf("max_wr is %d, it must be 1 to %d: %w", n[1], a.MaxSRQWR, uapi.EINVAL)
	case n[2] > uint64(a.MaxSRQSGE):
		return fmt.Errorf("max_sge is %d, the limit is %d: %w", n[2], a.MaxSRQSGE, uapi.EINVAL)
	}
	if s.pd, err = object(r, uapi.AttrCreateSRQPDHandle, uapi.ObjectPD, &r.ctx.pds); err != nil {
		return err
	}
	if err := s.make(int(n[1]), int(n[2]), int(n[3])); err != nil {
		return err
	}
	h := r.ctx.srqs.add(s)
	s.pd.users++
	err = errors.Join(r.output(r.Spec.ID.UHWOut(), uapi.RXECreateSRQResp{MI: mapInfo(s.ring), SRQNum: h}),
		r.output(uapi.AttrCreateSRQRespMaxWR, uint32(n[1])), r.output(uapi.AttrCreateSRQRespMaxSGE, uint32(n[2])),
		r.output(uapi.AttrCreateSRQRespSRQNum, h), r.handle(uapi.AttrCreateSRQHandle, h))
	if err != nil {
		_, e := r.ctx.dropSRQ(h)
		return errors.Join(err, e)
	}
	return nil
}

// make creates the ring of s.
func (s *srq) make(depth, sge, limit int) error {
	g, ring, err := s.ctx.newRing(depth, rings.RecvElemSize(sge))
	if err != nil {
		return err
	}
	s.ring = ring
	s.receive, err = rings.NewRecvRing(g, ring.Bytes, rings.RecvConfig{
		PD: s.pd.verbs.Domain(), MaxSGE: sge, Shared: true, Events: s,
		NewBuffer: func(rings.Geometry) ([]byte, error) { return s.next.Bytes, nil },
	})
	if err == nil && limit != 0 {
		err = s.receive.Modify(qp.SRQAttr{Limit: limit}, qp.SRQLimit)
	}
	if err != nil {
		return errnoFor(errors.Join(err, ring.Close()), uapi.EINVAL)
	}
	return nil
}

func destroySRQ(r *request) error {
	h, err := r.Handle(uapi.AttrDestroySRQHandle)
	if err != nil {
		return err
	}
	resp, err := r.ctx.dropSRQ(h)
	if err != nil {
		return err
	}
	r.ctx.give(numSRQs, 1)
	return r.output(uapi.AttrDestroySRQResp, resp)
}

func (c *Context) dropSRQ(handle uint32) (resp uapi.DestroySRQResp, err error) {
	s, err := c.srqs.get(uapi.ObjectSRQ, handle)
	if err != nil {
		return resp, err
	}
	if s.users > 0 {
		return resp, fmt.Errorf("shared receive queue %d is used by %d queue pairs: %w", handle, s.users, uapi.EBUSY)
	}
	c.srqs.remove(handle)
	s.pd.users--
	resp.EventsReported = c.withdraw(&s.async)
	return resp, s.close()
}

func (c *command) modifySRQ() (any, error) {
	m, err := uapi.DecodeAs[uapi.ModifySRQ](c.in)
	if err != nil {
		return nil, err
	}
	s, err := c.ctx.srqs.get(uapi.ObjectSRQ, m.SRQHandle)
	if err != nil {
		return nil, err
	}
	mask := qp.SRQAttrMask(m.AttrMask)
	a := qp.SRQAttr{MaxWR: int(m.MaxWR), Limit: int(m.SRQLimit)}
	if mask&qp.SRQMaxWR == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		return nil, errnoFor(s.receive.Modify(a, mask), uapi.EINVAL)
	}
	drv, err := input[uapi.RXEModifySRQCmd](c.request, uapi.MethodInvokeWrite.UHWIn())
	if err != nil {
		return nil, err
	}
	return nil, s.resize(a, mask, drv.MmapInfoAddr)
}

// resize moves the queue to a ring of another depth and stores its location at address tell of the
// program.
func (s *srq) resize(a qp.SRQAttr, mask qp.SRQAttrMask, tell uint64) error {
	if most := s.ctx.server.dev.Attr().MaxSRQWR; a.MaxWR < 1 || a.MaxWR > most {
		return fmt.Errorf("max_wr is %d, it must be 1 to %d: %w", a.MaxWR, most, uapi.EINVAL)
	}
	s.mu.Lock()
	sge := s.receive.Query().MaxSGE
	s.mu.Unlock()
	_, next, err := s.ctx.newRing(a.MaxWR, rings.RecvElemSize(sge))
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.next = next
	err = s.receive.Modify(a, mask)
	s.next = nil
	s.mu.Unlock()
	if err != nil {
		return errnoFor(errors.Join(err, next.Close()), uapi.EINVAL)
	}
	before := s.ring
	s.ring = next
	return errors.Join(before.Close(), s.ctx.write(uapi.Encode(mapInfo(next)), tell))
}

func (c *command) querySRQ() (any, error) {
	q, err := uapi.DecodeAs[uapi.QuerySRQ](c.in)
	if err != nil {
		return nil, err
	}
	s, err := c.ctx.srqs.get(uapi.ObjectSRQ, q.SRQHandle)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.receive.Query()
	return uapi.QuerySRQResp{MaxWR: uint32(a.MaxWR), MaxSGE: uint32(a.MaxSGE), SRQLimit: uint32(a.Limit)}, nil
}
