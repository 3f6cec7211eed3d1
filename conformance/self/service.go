package self

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cmsg"
	"github.com/gorxe/gorxe/verbs"
)

// service is a program of the endpoint that accepts connections of rdma_cm: rping -s -P or
// ucmatose -s. It implements conformance.Peer.
type service struct {
	w        *world
	ctx      *verbs.Context
	pd       *verbs.PD
	listener *verbs.Listener
	target   conformance.Target
	stop     func()
	wg       sync.WaitGroup
	once     sync.Once

	mu  sync.Mutex // guards out
	out bytes.Buffer
}

// openService starts a program that accepts connections.
func (w *world) openService(ctx context.Context, p conformance.Program) (conformance.Peer, error) {
	w.mu.Lock()
	w.begin()
	w.mu.Unlock()
	s := &service{w: w, ctx: w.device.OpenContext(verbs.ContextLimits{})}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	serve := s.accept
	var err error
	if p == conformance.RPing {
		serve = s.ping
	}
	if s.pd, err = s.ctx.AllocPD(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.listener, err = w.device.Listen(verbs.PortSpaceTCP, netip.AddrPortFrom(deviceAddr, 0), 0)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.target = conformance.Target{Addr: deviceAddr, Port: s.listener.Addr().Port()}
	s.wg.Go(func() {
		for {
			r, err := s.listener.Next(run)
			if err != nil {
				return
			}
			s.wg.Go(func() { serve(run, r) })
		}
	})
	return s, nil
}

// messageLen is the length of a message of ucmatose in bytes.
const messageLen = 100

// accept accepts a connection as ucmatose does, with one receive.
func (s *service) accept(ctx context.Context, r *verbs.ConnRequest) {
	cq, err := s.ctx.CreateCQ(16)
	if err != nil {
		return
	}
	qp, err := s.pd.CreateQP(verbs.QPInitAttr{SendCQ: cq})
	if err != nil {
		return
	}
	mr, err := s.pd.RegMR(make([]byte, messageLen), verbs.LocalWrite)
	if err != nil {
		return
	}
	recv := verbs.RecvWR{SGList: []verbs.SGE{mr.SGE(0, messageLen)}}
	if err := errors.Join(qp.Init(0), qp.PostRecv(&recv)); err != nil {
		s.printf("%v\n", err)
		return
	}
	c, err := r.Accept(ctx, qp, verbs.DefaultConnParam())
	if err != nil {
		if ctx.Err() == nil {
			s.printf("%v\n", err)
		}
		return
	}
	select {
	case <-c.Done():
	case <-ctx.Done():
	}
	qp.Close()
}

func (s *service) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out.Len() < maxOutput {
		fmt.Fprintf(&s.out, format, args...)
	}
}

// Target implements conformance.Peer.
func (s *service) Target() conformance.Target { return s.target }

// Go implements conformance.Peer.
func (s *service) Go() error { return nil }

// Output implements conformance.Peer.
func (s *service) Output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// Close implements conformance.Peer.
func (s *service) Close() (err error) {
	s.once.Do(func() {
		s.stop()
		if s.listener != nil {
			err = s.listener.Close()
		}
		// Closing the queue pairs ends connections that wait for the tester.
		err = errors.Join(err, s.ctx.Close())
		s.wg.Wait()
		s.w.mu.Lock()
		defer s.w.mu.Unlock()
		if s.w.programs--; s.w.programs == 0 {
			clear(s.w.flows)
			clear(s.w.local)
			clear(s.w.asked)
		}
	})
	return err
}

// asked is what a REQ of the tester tells: its queue pair, and the first PSN of the endpoint's
// requests.
type asked struct {
	local conformance.Local
	psn   bth.PSN
}

// maxAsked is the maximum number of REQs that a world remembers.
const maxAsked = 1024

// learn takes the queue pairs of a connection from its REQ and REP. w.mu is held.
func (w *world) learn(f *frame) {
	m, ok := f.mad()
	if !ok {
		return
	}
	switch m.Attribute() {
	case cmsg.REQ:
		if f.dst == deviceAddr && len(w.asked) < maxAsked {
			w.asked[m.Get(cmsg.LocalID)] = asked{conformance.Local{Addr: f.src, QPN: bth.QPN(m.Get(cmsg.REQQPN))},
				bth.PSN(m.Get(cmsg.REQPSN))}
		}
	case cmsg.RTU:
		for _, flow := range w.flows {
			flow.ready = flow.ready || flow.cm && flow.id == m.Get(cmsg.RemoteID)
		}
	case cmsg.REP:
		req, ok := w.asked[m.Get(cmsg.RemoteID)]
		if f.src != deviceAddr || !ok || len(w.flows) >= maxAsked {
			return
		}
		// Each end names the first PSN of the other one's requests (IBA 12.6.5, 12.6.8).
		local := req.local
		local.PSN = bth.PSN(m.Get(cmsg.REPPSN))
		target := conformance.Target{Addr: f.src, QPN: bth.QPN(m.Get(cmsg.REPQPN)), PSN: req.psn, MTU: int(pathMTU)}
		if w.flows[target.QPN] == nil {
			flow := newFlow(local, target, bth.ServiceRC)
			flow.cm, flow.id = true, m.Get(cmsg.LocalID)
			w.flows[target.QPN], w.local[local.QPN] = flow, flow
		}
	}
}

// mad returns the message of the communication manager in f.
func (f *frame) mad() (m cmsg.MAD, ok bool) {
	if f.err != nil || f.DestQP != bth.GSI || len(f.Payload) != cmsg.Len {
		return m, false
	}
	m = cmsg.MAD(f.Payload)
	return m, m.Is()
}

// setMAD replaces the message of f.
func (f *frame) setMAD(m cmsg.MAD) { f.Payload = append([]byte(nil), m[:]...) }
