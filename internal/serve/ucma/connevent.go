//go:build linux

package ucma

import (
	"time"

	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// handler returns the function that handles the events of the identifier's connection, which is
// created afterwards.
func (i *ident) handler() func(*verbs.CMEvent) {
	return func(e *verbs.CMEvent) {
		i.server.mu.Lock()
		defer i.server.mu.Unlock()
		if !i.dead {
			i.connEvent(e)
		}
	}
}

// connEvent converts an event of the connection manager to an event of rdma_cm (cma_ib_handler,
// cma_sidr_rep_handler). The caller holds mu.
func (i *ident) connEvent(e *verbs.CMEvent) {
	switch e.Kind {
	case cm.Replied:
		i.param.reply(i.conn, e.REP)
		i.event(uapi.UCMEventConnectResponse, 0, func(r *uapi.UCMEventResp) { r.SetConn(replyParam(e.REP)) })
	case cm.Established:
		i.event(uapi.UCMEventEstablished, 0, nil)
	case cm.Rejected:
		i.event(uapi.UCMEventRejected, int32(e.REJ.Reason), func(r *uapi.UCMEventResp) {
			r.SetConn(withData(e.REJ.PrivateData))
		})
	case cm.Unreachable:
		i.event(uapi.UCMEventUnreachable, failure(uapi.ETIMEDOUT), nil)
	case cm.Disconnected:
		if i.state != connecting {
			return
		}
		i.state = disconnected
		i.event(uapi.UCMEventDisconnected, 0, nil)
		i.timewait = time.AfterFunc(i.timewaitTime(), i.endTimewait)
	case cm.Resolved:
		i.resolved(e.SIDRREP)
	}
}

// maxTimewait is the maximum timewait that a peer's REQ can request: 4.3 s.
const maxTimewait mad.Timeout = 20

// timewaitTime returns how long packets of the connection may be in flight after its end: the local
// ACK timeout, but at most maxTimewait.
func (i *ident) timewaitTime() time.Duration {
	return time.Duration(min(mad.Timeout(i.param.attr.Timeout), maxTimewait).Nanoseconds())
}

// endTimewait reports the end of the timewait to the program.
func (i *ident) endTimewait() {
	i.server.mu.Lock()
	defer i.server.mu.Unlock()
	if !i.dead {
		i.event(uapi.UCMEventTimewaitExit, 0, nil)
	}
}

// resolved handles the answer to a SIDR_REQ.
func (i *ident) resolved(r *mad.SIDRREP) {
	if r.Status != mad.SIDRSuccess {
		i.event(uapi.UCMEventUnreachable, int32(r.Status), func(e *uapi.UCMEventResp) {
			e.SetUD(datagramParam(r.PrivateData))
		})
		return
	}
	i.event(uapi.UCMEventEstablished, 0, func(e *uapi.UCMEventResp) {
		p := datagramParam(r.PrivateData)
		p.QPNum, p.QKey, p.AHAttr = uint32(r.QPN), r.QKey, vector(i.param.av)
		e.SetUD(p)
	})
}

// withData returns parameters with only private data.
func withData(b []byte) uapi.UCMConnParam {
	var p uapi.UCMConnParam
	p.PrivateDataLen = uint8(copy(p.PrivateData[:], b))
	return p
}

// datagramParam returns parameters of a datagram identifier with only private data.
func datagramParam(b []byte) uapi.UCMUDParam {
	var p uapi.UCMUDParam
	p.PrivateDataLen = uint8(copy(p.PrivateData[:], b))
	return p
}

// replyParam returns the parameters of a REP as seen from this end: InitiatorDepth is the number of
// requests that the peer accepts.
func replyParam(m *mad.REP) uapi.UCMConnParam {
	p := withData(m.PrivateData)
	p.QPNum, p.ResponderResources, p.InitiatorDepth = uint32(m.LocalQPN), m.InitiatorDepth, m.ResponderResources
	p.RNRRetryCount, p.SRQ, p.FlowControl = m.RNRRetryCount, flag(m.SRQ), flag(m.EndToEndFlowControl)
	return p
}

// requestParam returns the parameters of a REQ as seen from this end. data is the program's part of
// the private data.
func requestParam(m *mad.REQ, data []byte) uapi.UCMConnParam {
	p := withData(data)
	p.QPNum, p.ResponderResources, p.InitiatorDepth = uint32(m.LocalQPN), m.InitiatorDepth, m.ResponderResources
	p.RetryCount, p.RNRRetryCount = m.RetryCount, m.RNRRetryCount
	p.SRQ, p.FlowControl = flag(m.SRQ), flag(m.EndToEndFlowControl)
	return p
}

func flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
