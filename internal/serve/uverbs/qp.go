//go:build linux

package uverbs

import (
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/verbs"
)

// queuePair is a queue pair of a program.
type queuePair struct {
	qp             *verbs.QP
	sends          *ring
	receives       *ring // nil with a shared receive queue
	sendCQ, recvCQ *cq
	srq            *srq
	cap            uapi.QPCap
	sigAll         bool
	datagrams      bool // type UD: the requests use address handles
	ready          bool // in RTS or a later state; see Context.setReady
	async          source
}

func (q *queuePair) closeRings() error {
	err := q.sends.Close()
	if q.receives != nil {
		err = errors.Join(err, q.receives.Close())
	}
	return err
}

// sgeSize is the size of a scatter/gather element in a request, in bytes.
const sgeSize = 16

// qpTypes are the transport services that programs can use.
var qpTypes = map[uapi.QPType]verbs.QPType{uapi.QPTypeRC: verbs.RC, uapi.QPTypeUC: verbs.UC, uapi.QPTypeUD: verbs.UD}

func createQP(r *request) error {
	q, init, err := r.qpInit()
	if err != nil {
		return err
	}
	if err := r.ctx.makeQP(q, init); err != nil {
		return err
	}
	h := r.ctx.qps.add(q)
	r.ctx.server.routes.add(q.qp, r.ctx, &q.async)
	r.ctx.bells.add(h, q.qp)
	resp := uapi.RXECreateQPResp{SQMI: mapInfo(q.sends)}
	if q.receives != nil {
		resp.RQMI = mapInfo(q.receives)
	}
	err = errors.Join(r.output(r.Spec.ID.UHWOut(), resp), r.outputFit(uapi.AttrCreateQPRespCap, uapi.Encode(q.cap)),
		r.output(uapi.AttrCreateQPRespQPNum, uint32(q.qp.QPN())), r.handle(uapi.AttrCreateQPHandle, h))
	if err != nil {
		_, e := r.ctx.dropQP(h)
		return errors.Join(err, e)
	}
	return nil
}

// qpSpec holds the parameters of a new queue pair that queuePair does not hold.
type qpSpec struct {
	typ verbs.QPType
	pd  *pd
}

// qpInit reads and checks the attributes of QP_CREATE.
func (r *request) qpInit() (*queuePair, qpSpec, error) {
	var spec qpSpec
	q := &queuePair{}
	user, err := r.Uint(uapi.AttrCreateQPUserHandle)
	if err != nil {
		return nil, spec, err
	}
	q.async.handle = user
	if q.cap, err = input[uapi.QPCap](r, uapi.AttrCreateQPCap); err != nil {
		return nil, spec, err
	}
	typ, err := r.Const(uapi.AttrCreateQPType, 255)
	if err != nil {
		return nil, spec, err
	}
	spec.typ = qpTypes[uapi.QPType(typ)]
	if spec.typ == 0 {
		return nil, spec, fmt.Errorf("a queue pair of type %v: %w", uapi.QPType(typ), uapi.EOPNOTSUPP)
	}
	flags, err := r.Flags(uapi.AttrCreateQPFlags, uint64(uapi.QPCreateSQSigAll))
	if err != nil {
		return nil, spec, err
	}
	q.sigAll = flags != 0
	if r.Has(uapi.AttrCreateQPXRCDHandle) || r.Has(uapi.AttrCreateQPIndTableHandle) ||
		r.Has(uapi.AttrCreateQPSourceQPN) {
		return nil, spec, fmt.Errorf("a queue pair of an XRC domain, of an indirection table or with a source QPN: %w",
			uapi.EOPNOTSUPP)
	}
	if spec.pd, err = object(r, uapi.AttrCreateQPPDHandle, uapi.ObjectPD, &r.ctx.pds); err != nil {
		return nil, spec, err
	}
	if q.sendCQ, err = object(r, uapi.AttrCreateQPSendCQHandle, uapi.ObjectCQ, &r.ctx.cqs); err != nil {
		return nil, spec, err
	}
	if q.recvCQ, err = object(r, uapi.AttrCreateQPRecvCQHandle, uapi.ObjectCQ, &r.ctx.cqs); err != nil {
		return nil, spec, err
	}
	if r.Has(uapi.AttrCreateQPSRQHandle) {
		if q.srq, err = object(r, uapi.AttrCreateQPSRQHandle, uapi.ObjectSRQ, &r.ctx.srqs); err != nil {
			return nil, spec, err
		}
		q.cap.MaxRecvWR, q.cap.MaxRecvSGE = 0, 0
	}
	return q, spec, r.ctx.checkCap(&q.cap)
}

// object returns the object whose handle is in an attribute.
func object[T any](r *request, id uapi.AttrID, kind uapi.Object, t *table[T]) (o T, err error) {
	h, err := r.Handle(id)
	if err != nil {
		return o, fmt.Errorf("%w: %w", uapi.EINVAL, err)
	}
	return t.get(kind, h)
}

// checkCap applies the device's limits (rxe_qp_chk_cap of drivers/infiniband/sw/rxe/rxe_qp.c), and
// raises MaxSendSGE and MaxInlineData to what an element of the send queue can hold, as rxe does.
func (c *Context) checkCap(p *uapi.QPCap) error {
	a := c.server.dev.Attr()
	for _, f := range []struct {
		name     string
		is, most uint32
	}{
		{"max_send_wr", p.MaxSendWR, uint32(a.MaxQPWR)}, {"max_recv_wr", p.MaxRecvWR, uint32(a.MaxQPWR)},
		{"max_send_sge", p.MaxSendSGE, uint32(a.MaxSGE)}, {"max_recv_sge", p.MaxRecvSGE, uint32(a.MaxSGE)},
		{"max_inline_data", p.MaxInlineData, uint32(a.MaxInline)},
	} {
		if f.is > f.most {
			return fmt.Errorf("%s is %d, the limit is %d: %w", f.name, f.is, f.most, uapi.EINVAL)
		}
	}
	room := max(p.MaxSendSGE*sgeSize, (p.MaxInlineData+sgeSize-1)/sgeSize*sgeSize)
	p.MaxSendSGE, p.MaxInlineData = min(room/sgeSize, uint32(a.MaxSGE)), min(room, uint32(a.MaxInline))
	return nil
}

// makeQP creates the rings and the queue pair of q.
func (c *Context) makeQP(q *queuePair, spec qpSpec) error {
	sge, inline := int(q.cap.MaxSendSGE), int(q.cap.MaxInlineData)
	g, ring, err := c.newRing(int(q.cap.MaxSendWR), rings.SendElemSize(sge, inline))
	if err != nil {
		return err
	}
	q.sends, q.datagrams = ring, spec.typ == verbs.UD
	// A program may use all slots of its ring, as on rxe.
	q.cap.MaxSendWR = uint32(g.Depth())
	sends, err := rings.NewSendRing(g, ring.Bytes, rings.SendConfig{
		MaxSGE: sge, MaxInline: inline, SigAll: q.sigAll, Datagram: q.datagrams,
		AH: func(n uint32) (qp.AH, bool) {
			if ah, ok := c.ahs.find(n); ok {
				return ah, true
			}
			return nil, false
		},
	})
	init := verbs.QPInitAttr{
		Type: spec.typ, SendCQ: q.sendCQ.cq, RecvCQ: q.recvCQ.cq, SigAll: q.sigAll, Sends: sends,
		Cap: verbs.QPCap{
			// The ring may hold more requests than the device executes at a time.
			MaxSendWR: max(1, min(g.Depth(), verbs.MaxQPWR)), MaxSendSGE: sge, MaxInline: inline,
			MaxRecvWR: min(int(q.cap.MaxRecvWR), verbs.MaxQPWR), MaxRecvSGE: int(q.cap.MaxRecvSGE),
		},
	}
	if err == nil && q.srq != nil {
		init.Receives = q.srq
	} else if err == nil {
		init.Receives, err = c.makeReceives(q, spec)
		init.Cap.MaxRecvWR = min(int(q.cap.MaxRecvWR), verbs.MaxQPWR)
	}
	if err == nil {
		q.qp, err = spec.pd.verbs.CreateQP(init)
	}
	if err != nil {
		return errnoFor(errors.Join(err, q.closeRings()), uapi.ENOMEM)
	}
	q.sendCQ.users++
	q.recvCQ.users++
	if q.srq != nil {
		q.srq.users++
	}
	return nil
}

func (c *Context) makeReceives(q *queuePair, spec qpSpec) (*rings.RecvRing, error) {
	sge := int(q.cap.MaxRecvSGE)
	g, ring, err := c.newRing(int(q.cap.MaxRecvWR), rings.RecvElemSize(sge))
	if err != nil {
		return nil, err
	}
	q.receives = ring
	q.cap.MaxRecvWR = uint32(g.Depth())
	return rings.NewRecvRing(g, ring.Bytes, rings.RecvConfig{PD: spec.pd.verbs.Domain(), MaxSGE: sge})
}

// QP returns the queue pair of the context with the number n, nil if there is none.
func (c *Context) QP(n verbs.QPN) *verbs.QP {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.qps.all {
		if q.qp.QPN() == n {
			return q.qp
		}
	}
	return nil
}

func destroyQP(r *request) error {
	h, err := r.Handle(uapi.AttrDestroyQPHandle)
	if err != nil {
		return err
	}
	resp, err := r.ctx.dropQP(h)
	if err != nil {
		return err
	}
	r.ctx.give(numQPs, 1)
	return r.output(uapi.AttrDestroyQPResp, resp)
}

// dropQP destroys a queue pair and returns the number of its events that the program has read.
func (c *Context) dropQP(handle uint32) (resp uapi.DestroyQPResp, err error) {
	q, err := c.qps.get(uapi.ObjectQP, handle)
	if err != nil {
		return resp, err
	}
	// The doorbell of the last requests may still be pending, and a posted datagram must be sent:
	// in the kernel it has been sent when the write of the doorbell returns. The error is ignored,
	// because Close returns it too.
	_ = q.qp.Doorbell()
	if err := q.qp.Close(); err != nil {
		return resp, errnoFor(err, uapi.EBUSY)
	}
	c.qps.remove(handle)
	c.server.routes.remove(q.qp)
	c.bells.remove(handle)
	c.setReady(q, false)
	q.sendCQ.users--
	q.recvCQ.users--
	if q.srq != nil {
		q.srq.users--
	}
	resp.EventsReported = c.withdraw(&q.async)
	return resp, q.closeRings()
}

func (c *command) modifyQP() (any, error) {
	m, err := uapi.DecodeAs[uapi.ModifyQP](c.in)
	if err != nil {
		return nil, err
	}
	return nil, c.ctx.modify(&m, uapi.QPMaskLegacy)
}

func (c *command) modifyQPEx() (any, error) {
	m, err := uapi.DecodeAs[uapi.ExModifyQP](c.in)
	if err != nil {
		return nil, err
	}
	if uapi.QPMask(m.Base.AttrMask)&uapi.QPMaskRateLimit != 0 {
		return nil, fmt.Errorf("a rate limit: %w", uapi.EOPNOTSUPP)
	}
	resp := uapi.ExModifyQPResp{}
	resp.ResponseLength = uint32(uapi.SizeOf(resp))
	return resp, c.ctx.modify(&m.Base, uapi.QPMaskLegacy)
}

// ignoredMask holds the attributes that modify ignores: the capacities of a queue pair are fixed,
// and there is no path migration.
const ignoredMask = uapi.QPMaskCap | uapi.QPMaskPathMigState

// modify executes MODIFY_QP. known is the mask of the attributes that the command permits.
func (c *Context) modify(m *uapi.ModifyQP, known uapi.QPMask) error {
	q, err := c.qps.get(uapi.ObjectQP, m.QPHandle)
	if err != nil {
		return err
	}
	mask := uapi.QPMask(m.AttrMask)
	if mask&^known != 0 || mask&uapi.QPMaskAltPath != 0 {
		return fmt.Errorf("attributes %v: %w", mask, uapi.EOPNOTSUPP)
	}
	if mask&uapi.QPMaskPort != 0 && m.PortNum != port {
		return noPort(uint32(m.PortNum))
	}
	a := verbs.QPAttr{
		State: qp.State(m.QPState), CurState: qp.State(m.CurQPState), QKey: m.QKey, RQPSN: bth.PSN(m.RQPSN & psnMask),
		SQPSN: bth.PSN(m.SQPSN & psnMask), DestQPN: bth.QPN(m.DestQPNum), Port: m.PortNum, PKeyIndex: m.PKeyIndex,
		MaxRdAtomic: m.MaxRdAtomic, MaxDestRdAtomic: m.MaxDestRdAtomic, MinRNRTimer: m.MinRNRTimer, Timeout: m.Timeout,
		RetryCnt: m.RetryCnt, RNRRetry: m.RNRRetry, SQDAsyncNotify: m.EnSQDAsyncNotify != 0,
	}
	if mask&uapi.QPMaskPathMTU != 0 {
		var ok bool
		if a.PathMTU, ok = mtuOf(m.PathMTU); !ok {
			return fmt.Errorf("path MTU %d: %w", m.PathMTU, uapi.EINVAL)
		}
	}
	if mask&uapi.QPMaskAccessFlags != 0 {
		if a.Access, err = rightsOf(m.QPAccessFlags | uint32(uapi.AccessLocalWrite)); err != nil {
			return err
		}
	}
	if mask&uapi.QPMaskAV != 0 {
		if a.AV, err = vectorOf(m.Dest.AHAttr()); err != nil {
			return err
		}
	}
	if err := q.qp.Modify(&a, verbs.QPAttrMask(mask&^ignoredMask)); err != nil {
		return errnoFor(err, uapi.EINVAL)
	}
	if mask&uapi.QPMaskState != 0 {
		c.setReady(q, a.State >= qp.RTS)
	}
	// Earlier requests wait in the rings: in RTS they are sent, in ERR flushed.
	return errnoFor(q.qp.Doorbell(), uapi.EINVAL)
}

// psnMask is the mask of a PSN, 24 bits; programs pass more bits.
const psnMask = 1<<24 - 1

// mtuOf returns the path MTU of a value of enum ib_mtu, and false for an invalid value.
func mtuOf(enum uint8) (verbs.MTU, bool) {
	m := verbs.MTU(128 << min(enum, 5))
	return m, enum >= uint8(uapi.MTU256) && enum <= uint8(uapi.MTU4096)
}

func (c *command) queryQP() (any, error) {
	n, err := uapi.DecodeAs[uapi.QueryQP](c.in)
	if err != nil {
		return nil, err
	}
	q, err := c.ctx.qps.get(uapi.ObjectQP, n.QPHandle)
	if err != nil {
		return nil, err
	}
	a, _ := q.qp.Query()
	resp := uapi.QueryQPResp{
		Dest: destOf(a.AV), MaxSendWR: q.cap.MaxSendWR, MaxRecvWR: q.cap.MaxRecvWR, MaxSendSGE: q.cap.MaxSendSGE,
		MaxRecvSGE: q.cap.MaxRecvSGE, MaxInlineData: q.cap.MaxInlineData,
		QKey: a.QKey, RQPSN: uint32(a.RQPSN), SQPSN: uint32(a.SQPSN),
		DestQPNum: uint32(a.DestQPN), QPAccessFlags: uint32(a.Access), PKeyIndex: a.PKeyIndex, QPState: uint8(a.State),
		CurQPState: uint8(a.CurState), PathMTU: uint8(a.PathMTU.Enum()),
		PathMigState: uint8(a.MigState), MaxRdAtomic: a.MaxRdAtomic,
		MaxDestRdAtomic: a.MaxDestRdAtomic, MinRNRTimer: a.MinRNRTimer, PortNum: a.Port, Timeout: a.Timeout,
		RetryCnt: a.RetryCnt,
		RNRRetry: a.RNRRetry,
	}
	if a.SQDraining {
		resp.SQDraining = 1
	}
	if q.sigAll {
		resp.SQSigAll = 1
	}
	return resp, nil
}
