//go:build linux

package ucma

import (
	"fmt"
	"slices"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// datagrams reports whether the identifier is for a queue pair of type UD.
func (i *ident) datagrams() bool { return i.ps == verbs.PortSpaceUDP }

// maxRetry is the maximum retry count of a REQ, 3 bits.
const maxRetry = 7

// private returns the private data in the parameters of a program.
func private(p *uapi.UCMConnParam) []byte { return slices.Clone(p.PrivateData[:p.PrivateDataLen]) }

// commParam converts the parameters of a program to those for package verbs.
func (i *ident) commParam(p *uapi.UCMConnParam) verbs.CommParam {
	return verbs.CommParam{
		QPN: verbs.QPN(p.QPNum & psnMask), PSN: i.param.psn, SRQ: p.SRQ != 0, FlowControl: p.FlowControl != 0,
		ConnParam: verbs.ConnParam{ConnAttr: i.param.attr, PrivateData: private(p)},
	}
}

// psnMask is the mask of a PSN or a queue pair number, 24 bits.
const psnMask = 1<<24 - 1

func (r *request) connect(q *uapi.UCMConnect) (any, error) {
	i, err := r.ch.find(q.ID)
	if err != nil {
		return nil, err
	}
	p := &q.ConnParam
	if p.Valid == 0 {
		return nil, fmt.Errorf("a connection without parameters: %w", uapi.EINVAL)
	}
	if err := i.in(routeResolved); err != nil {
		return nil, err
	}
	handle := i.handler()
	if i.datagrams() {
		i.conn, err = i.server.dev.SendSIDRREQ(i.gid, i.local.Port(), i.remote, private(p), handle)
	} else {
		a := &i.param.attr
		a.MaxRdAtomic, a.MaxDestRdAtomic = min(p.InitiatorDepth, maxRdAtomic), min(p.ResponderResources, maxRdAtomic)
		a.RetryCnt, a.RNRRetry = min(p.RetryCount, maxRetry), min(p.RNRRetryCount, maxRetry)
		i.param.peerRNRRetry = a.RNRRetry
		i.conn, err = i.server.dev.SendREQ(i.gid, i.local.Port(), i.remote, i.commParam(p), handle)
	}
	if err != nil {
		i.conn = nil
		return nil, errnoFor(err, uapi.EINVAL)
	}
	i.state, i.param.known, i.qp = connecting, true, r.qp
	return nil, nil
}

func (r *request) accept(q *uapi.UCMAccept) (any, error) {
	i, err := r.ch.find(q.ID)
	if err != nil {
		return nil, err
	}
	if err := i.in(connecting); err != nil {
		return nil, err
	}
	p := &q.ConnParam
	switch {
	case i.peerRequest != nil:
		return nil, i.answer(q.UID, p, r.qp)
	case i.conn == nil || i.datagrams() || p.Valid != 0:
		return nil, fmt.Errorf("identifier %d has no request that waits for an answer: %w", i.num, uapi.EINVAL)
	}
	// The program has received the peer's reply, and its queue pair is ready.
	if i.qp != nil {
		if err := i.conn.Watch(i.qp); err != nil {
			return nil, errnoFor(err, uapi.EINVAL)
		}
	}
	return nil, errnoFor(i.conn.SendRTU(), uapi.EINVAL)
}

// answer accepts the request of a peer. The caller holds mu, so events of the connection are
// handled after answer.
func (i *ident) answer(uid uint64, p *uapi.UCMConnParam, qp *verbs.QP) error {
	if i.datagrams() {
		var qpn verbs.QPN
		var data []byte
		if p.Valid != 0 {
			qpn, data = verbs.QPN(p.QPNum&psnMask), private(p)
		}
		if err := i.peerRequest.SendSIDRREP(qpn, verbs.UDPQKey, data); err != nil {
			return errnoFor(err, uapi.EINVAL)
		}
		i.uid, i.peerRequest = uid, nil
		return nil
	}
	if p.Valid == 0 {
		return fmt.Errorf("a connection without parameters: %w", uapi.EINVAL)
	}
	a := &i.param.attr
	send := i.commParam(p)
	send.MaxRdAtomic, send.MaxDestRdAtomic = min(p.InitiatorDepth, maxRdAtomic), min(p.ResponderResources, maxRdAtomic)
	send.RNRRetry = min(p.RNRRetryCount, maxRetry)
	conn, err := i.peerRequest.SendREP(send, i.handler())
	if err != nil {
		return errnoFor(err, uapi.EINVAL)
	}
	a.MaxRdAtomic, a.MaxDestRdAtomic = send.MaxRdAtomic, send.MaxDestRdAtomic
	i.param.peerRNRRetry = send.RNRRetry
	i.uid, i.peerRequest, i.conn, i.qp = uid, nil, conn, qp
	if qp != nil {
		_ = conn.Watch(qp) // if it fails, the peer's RTU is repeated later
		// The program moved its queue pair to RTS before the RNR retry count was known. If the
		// queue pair is in ERR, Modify fails, and the timer does not matter.
		_ = qp.Modify(&verbs.QPAttr{MinRNRTimer: i.param.minRNRTimer()}, verbs.AttrMinRNRTimer)
	}
	return nil
}

// rejectReasons maps the reasons that a program may pass to those of the REJ.
var rejectReasons = map[uint8]mad.RejectReason{
	0:                                mad.RejectConsumerDefined,
	uint8(mad.RejectConsumerDefined): mad.RejectConsumerDefined,
	uint8(mad.RejectVendorOptionNotSupported): mad.RejectVendorOptionNotSupported,
}

func (r *request) reject(q *uapi.UCMReject) (any, error) {
	i, err := r.ch.find(q.ID)
	if err != nil {
		return nil, err
	}
	reason, ok := rejectReasons[q.Reason]
	if !ok {
		return nil, fmt.Errorf("a refusal for reason %d: %w", q.Reason, uapi.EINVAL)
	}
	data := slices.Clone(q.PrivateData[:q.PrivateDataLen])
	switch {
	case i.peerRequest != nil:
		if err := i.peerRequest.SendREJ(reason, data); err != nil {
			return nil, errnoFor(err, uapi.EINVAL)
		}
		i.peerRequest = nil
		return nil, nil
	case i.conn != nil && !i.datagrams():
		return nil, errnoFor(i.conn.SendREJ(reason, data), uapi.EINVAL)
	}
	return nil, fmt.Errorf("identifier %d has nothing to refuse: %w", i.num, uapi.EINVAL)
}

func (r *request) disconnect(q *uapi.UCMDisconnect) (any, error) {
	i, err := r.ch.find(q.ID)
	if err != nil {
		return nil, err
	}
	if err := i.in(connecting, disconnected); err != nil {
		return nil, err
	}
	if i.conn != nil && !i.datagrams() {
		// The error is ignored: it means that the connection is not established, or has ended.
		// rdma_disconnect returns none.
		_ = i.conn.SendDREQ()
	}
	return nil, nil
}

func (r *request) notify(q *uapi.UCMNotify) (any, error) {
	i, err := r.ch.find(q.ID)
	if err != nil {
		return nil, err
	}
	if uapi.EventType(q.Event) != uapi.EventCommEst || i.conn == nil {
		return nil, fmt.Errorf("event %v of identifier %d: %w", uapi.EventType(q.Event), i.num, uapi.EINVAL)
	}
	return nil, errnoFor(i.conn.CommEst(), uapi.EINVAL)
}
