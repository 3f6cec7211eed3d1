//go:build linux

package uverbs

import (
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// cq is a completion queue of a program.
type cq struct {
	cq      *verbs.CQ
	store   *rings.CompletionRing
	ring    *ring
	next    *ring      // new ring during Resize
	channel *eventFile // nil if there is none
	comp    source     // of completion events
	async   source
	users   int // number of queue pairs that use the queue
}

func (q *cq) closeRing() error { return q.ring.Close() }

// notify queues a completion event for the program. It is called under locks of the device.
func (q *cq) notify() {
	if q.channel != nil {
		q.channel.push(record{from: &q.comp})
	}
}

func createCQ(r *request) error {
	cqe, err := r.Uint(uapi.AttrCreateCQCQE)
	if err != nil {
		return err
	}
	user, err := r.Uint(uapi.AttrCreateCQUserHandle)
	if err != nil {
		return err
	}
	vector, err := r.Uint(uapi.AttrCreateCQCompVector)
	if err != nil {
		return err
	}
	flags, err := r.Flags(uapi.AttrCreateCQFlags, uint64(uapi.CQTimestampCompletion|uapi.CQIgnoreOverrun))
	switch most := uint64(r.ctx.server.dev.Attr().MaxCQE); {
	case err != nil:
		return err
	case vector != 0:
		return fmt.Errorf("completion vector %d: only vector 0 exists: %w", vector, uapi.EINVAL)
	case flags != 0:
		return fmt.Errorf("completion queue flags %#x: %w", flags, uapi.EOPNOTSUPP)
	case cqe == 0 || cqe > most:
		return fmt.Errorf("completion queue of %d entries: must be 1 to %d: %w", cqe, most, uapi.EINVAL)
	}
	q := &cq{comp: source{handle: user}, async: source{handle: user}}
	if r.Has(uapi.AttrCreateCQCompChannel) {
		if q.channel, err = r.channel(uapi.AttrCreateCQCompChannel); err != nil {
			return err
		}
	}
	if err := r.ctx.makeCQ(q, int(cqe)); err != nil {
		return err
	}
	h := r.ctx.cqs.add(q)
	r.ctx.server.routes.add(q.cq, r.ctx, &q.async)
	err = errors.Join(r.output(r.Spec.ID.UHWOut(), uapi.RXECreateCQResp{MI: mapInfo(q.ring)}),
		r.output(uapi.AttrCreateCQRespCQE, uint32(cqe)), r.handle(uapi.AttrCreateCQHandle, h))
	if err != nil {
		_, e := r.ctx.dropCQ(h)
		return errors.Join(err, e)
	}
	return nil
}

// channel returns the completion channel of a descriptor that the program has passed.
func (r *request) channel(id uapi.AttrID) (*eventFile, error) {
	fd, err := r.FD(id)
	if err != nil {
		return nil, err
	}
	e, _ := r.caller.Object(fd).(*eventFile)
	if _, mine := r.ctx.channels[e]; !mine {
		return nil, fmt.Errorf("descriptor %d is no completion channel of the context: %w", fd, uapi.EBADF)
	}
	return e, nil
}

// makeCQ creates the ring and the queue of q.
func (c *Context) makeCQ(q *cq, depth int) error {
	g, ring, err := c.newRing(depth, rings.CompletionElemSize)
	if err != nil {
		return err
	}
	q.ring = ring
	q.store, err = rings.NewCompletionRing(g, ring.Bytes,
		func(rings.Geometry) ([]byte, error) { return q.next.Bytes, nil })
	if err == nil {
		q.cq, err = c.verbs.CreateCQOver(q.store, q.notify)
	}
	if err != nil {
		return errnoFor(errors.Join(err, ring.Close()), uapi.ENOMEM)
	}
	return nil
}

func destroyCQ(r *request) error {
	h, err := r.Handle(uapi.AttrDestroyCQHandle)
	if err != nil {
		return err
	}
	resp, err := r.ctx.dropCQ(h)
	if err != nil {
		return err
	}
	r.ctx.give(numCQs, 1)
	return r.output(uapi.AttrDestroyCQResp, resp)
}

// dropCQ destroys a queue and returns the numbers of its events that the program has read.
func (c *Context) dropCQ(handle uint32) (resp uapi.DestroyCQResp, err error) {
	q, err := c.cqs.get(uapi.ObjectCQ, handle)
	if err != nil {
		return resp, err
	}
	if q.users > 0 {
		return resp, fmt.Errorf("completion queue %d is used by %d queue pairs: %w", handle, q.users, uapi.EBUSY)
	}
	if err := q.cq.Close(); err != nil {
		return resp, errnoFor(err, uapi.EBUSY)
	}
	c.cqs.remove(handle)
	c.server.routes.remove(q.cq)
	if q.channel != nil {
		resp.CompEventsReported = q.channel.withdraw(&q.comp)
	}
	resp.AsyncEventsReported = c.withdraw(&q.async)
	return resp, q.closeRing()
}

func (c *command) reqNotifyCQ() (any, error) {
	n, err := uapi.DecodeAs[uapi.ReqNotifyCQ](c.in)
	if err != nil {
		return nil, err
	}
	q, err := c.ctx.cqs.get(uapi.ObjectCQ, n.CQHandle)
	if err != nil {
		return nil, err
	}
	q.store.Arm(n.SolicitedOnly != 0)
	return nil, nil
}

func (c *command) resizeCQ() (any, error) {
	n, err := uapi.DecodeAs[uapi.ResizeCQ](c.in)
	if err != nil {
		return nil, err
	}
	q, err := c.ctx.cqs.get(uapi.ObjectCQ, n.CQHandle)
	if err != nil {
		return nil, err
	}
	if most := c.ctx.server.dev.Attr().MaxCQE; n.CQE == 0 || int64(n.CQE) > int64(most) {
		return nil, fmt.Errorf("completion queue of %d entries: must be 1 to %d: %w", n.CQE, most, uapi.EINVAL)
	}
	_, next, err := c.ctx.newRing(int(n.CQE), rings.CompletionElemSize)
	if err != nil {
		return nil, err
	}
	// Resize must count the completions of requests that were posted before the call, even if their
	// doorbells are still pending.
	for _, user := range c.ctx.qps.all {
		if user.sendCQ == q {
			_ = user.qp.Doorbell() // a queue pair that cannot send completes nothing
		}
	}
	q.next = next
	if err := q.cq.Resize(int(n.CQE)); err != nil {
		return nil, errnoFor(errors.Join(err, next.Close()), uapi.EINVAL)
	}
	before := q.ring
	q.ring, q.next = next, nil
	if err := errors.Join(before.Close(), c.driverOut(uapi.RXEResizeCQResp{MI: mapInfo(next)})); err != nil {
		return nil, err
	}
	return uapi.ResizeCQResp{CQE: n.CQE}, nil
}
