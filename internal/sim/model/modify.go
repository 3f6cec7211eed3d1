package model

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// modify changes the queue pair's attributes and notifies its machine.
func (e *end) modify(a *qp.Attr, mask qp.AttrMask) error {
	if err := e.qp.Modify(a, mask); err != nil {
		return err
	}
	e.m.Modified(e.net.Now)
	return nil
}

// toError moves the queue pair to ERR, unless it is in RESET. why is the cause to report.
func (e *end) toError(why string) {
	if e.state() == qp.RESET {
		return
	}
	if e.cause == "" {
		e.cause = why
	}
	e.must(e.modify(&qp.Attr{State: qp.ERR}, qp.AttrState))
	e.settle()
}

// toReset moves the queue pair to RESET, which discards all queued work without completions.
func (e *end) toReset() {
	e.must(e.modify(&qp.Attr{State: qp.RESET}, qp.AttrState))
	e.oldest = len(e.sends)
	e.held, e.want = nil, nil
	if e.recvs.srq == nil {
		e.recvs.list = nil
	}
	e.cause, e.broken = "", ""
	e.events.established, e.events.last = false, false
	e.settle()
	e.responder, e.heard = responder{}, false
}

func (e *end) must(err error) {
	if err != nil {
		e.fail("%v", err)
	}
}

// connect brings both ends from RESET to RTS, with PSNs far from those of the previous epoch. An
// end with an RTRTime stays in RTR for that time.
func (c *conn) connect() {
	c.epoch++
	c.flow.Faults = 0
	for _, e := range c.ends {
		e.toReset()
		e.register()
		e.psn = e.spec.PSN.Add(uint32(c.epoch-1) * 0x2f0000)
		e.sends, e.oldest = nil, 0
		e.requester = requester{window: e.psnWindow()}
		e.responder = responder{}
	}
	for _, e := range c.ends {
		a := e.attr()
		for _, to := range []qp.State{qp.INIT, qp.RTR, qp.RTS} {
			if to == qp.RTS && e.spec.RTRTime > 0 {
				e.net.At(e.net.Now+e.spec.RTRTime, func() { e.act(&scenario.Act{Kind: scenario.ActToRTS}) })
				break
			}
			e.to(to, &a)
		}
		e.ready()
	}
}

// attr returns the attributes with which the queue pair connects.
func (e *end) attr() qp.Attr {
	peer := e.peer()
	return qp.Attr{
		Port: 1, Access: allAccess, QKey: qkey,
		AV:      qp.AddressVector{DGID: qp.GIDFromAddr(e.path.Dst), HopLimit: packet.DefaultHopLimit},
		PathMTU: e.conn.spec.MTU, DestQPN: peer.qp.Num, RQPSN: peer.psn, SQPSN: e.psn,
		MaxRdAtomic: e.spec.MaxRdAtomic, MaxDestRdAtomic: peer.spec.MaxRdAtomic,
		MinRNRTimer: e.spec.MinRNRTimer, Timeout: e.spec.Timeout, RetryCnt: e.spec.RetryCnt, RNRRetry: e.spec.RNRRetry,
	}
}

// to moves the queue pair to state, with the attributes that the transition requires.
func (e *end) to(state qp.State, a *qp.Attr) {
	mask, _, _ := qp.Requirements(e.qp.Type, e.state(), state)
	a.State = state
	e.must(e.modify(a, mask|qp.AttrState))
}

// psnWindow returns the initial window of the requester in PSNs.
func (e *end) psnWindow() int64 {
	cfg := e.spec.Config
	if cfg.WindowBytes == 0 {
		cfg.WindowBytes = 256 << 10
	}
	return int64(min(cfg.Window, max(1, cfg.WindowBytes/int(e.conn.spec.MTU))))
}

// maxWindow returns the largest window to which the requester may grow, in PSNs.
func (e *end) maxWindow() int64 {
	cfg := e.spec.Config
	bytes := max(cfg.MaxWindowBytes, cfg.WindowBytes)
	if bytes == 0 {
		bytes = 1 << 20
	}
	return int64(min(max(cfg.Window, cfg.MaxWindow), max(1, bytes/int(e.conn.spec.MTU))))
}

// act performs one act of a program.
func (e *end) act(a *scenario.Act) {
	switch a.Kind {
	case scenario.ActPost:
		e.post(a)
	case scenario.ActError:
		e.toError("the program")
	case scenario.ActReset:
		e.toReset()
	case scenario.ActReconnect:
		e.conn.connect()
		return
	case scenario.ActReconnectIfDown:
		if e.state() == qp.SQE {
			e.broken = ""
			e.must(e.modify(&qp.Attr{State: qp.RTS}, qp.AttrState))
		}
		if !e.alive() || !e.peer().alive() {
			e.conn.connect()
			return
		}
	case scenario.ActDrain:
		e.drain(a.Notify)
	case scenario.ActResume:
		e.resume()
	case scenario.ActToRTS:
		if a := e.attr(); e.state() == qp.RTR {
			e.to(qp.RTS, &a)
		}
	case scenario.ActLimit:
		e.limit(int(a.Imm))
	case scenario.ActForgeResponse:
		e.deliverForgedResponse(a)
		return
	case scenario.ActDeregister:
		e.deregister(&e.remote)
	case scenario.ActReregister:
		e.reregister(a)
	case scenario.ActJoin:
		e.net.groups[a.Group-1].joins(e)
	case scenario.ActResize:
		e.cq.resize(int(a.Imm))
	case scenario.ActReregisterLocal:
		e.reregisterLocal(a.Add)
	case scenario.ActDeregisterLocal:
		e.deregister(&e.local)
	}
	e.settle()
	e.ready()
}

// resume moves the queue pair from SQD to RTS. That fails until the send queue has drained;
// resume then tries again later.
func (e *end) resume() {
	if e.state() != qp.SQD {
		return
	}
	if e.modify(&qp.Attr{State: qp.RTS}, qp.AttrState) != nil {
		e.net.At(e.net.Now+100*scenario.Microsecond, func() { e.act(&scenario.Act{Kind: scenario.ActResume}) })
	}
}

// newQPN returns the next queue pair number.
func (net *Network) newQPN() bth.QPN {
	net.qpn++
	return net.qpn
}
