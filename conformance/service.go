package conformance

import (
	"errors"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/cmsg"
)

// Service is a program of the device that accepts connections of rdma_cm.
type Service struct {
	*GSI
	ID      uint64 // service ID at which the program listens
	Target  Target // of the program, without a queue pair
	program Program
	peer    Peer
}

// Service opens the program of the case, which must be CMServer or RPing.
func (t *T) Service() *Service { return t.ServiceOf(t.c.Program) }

// ServiceOf opens a program that accepts connections of rdma_cm.
func (t *T) ServiceOf(p Program) *Service {
	peer, err := t.run.Device.Open(t.ctx, p, t.run.newLocal())
	switch {
	case errors.Is(err, ErrUnsupported):
		t.Unsupported("%v: %v", p, err)
	case err != nil:
		t.noStart("%v: %v", p, err)
	}
	t.opening = opened
	t.services = append(t.services, peer)
	target := peer.Target()
	return &Service{GSI: t.GSI(target.Addr), ID: cmsg.TCP.Service(target.Port), Target: target, program: p, peer: peer}
}

// sourcePort is the port in the header of rdma_cm, which nothing listens at.
const sourcePort = 40000

// REQ returns a correct request to connect the queue pair of local. Its communication ID is new.
func (s *Service) REQ(local Local) *cmsg.MAD {
	id := s.NewID()
	m := cmsg.New(cmsg.REQ, uint64(id)<<8|1)
	m.Set(cmsg.LocalID, uint64(id))
	m.Set(cmsg.REQService, s.ID)
	m.Set(cmsg.REQGUID, s.t.run.guid)
	m.Set(cmsg.REQQPN, uint64(local.QPN))
	m.Set(cmsg.REQResources, uint64(local.Reads))
	m.Set(cmsg.REQDepth, 1)
	m.Set(cmsg.REQRemoteTime, 20)
	m.Set(cmsg.REQLocalTime, 20)
	m.Set(cmsg.REQFlowControl, 1)
	m.Set(cmsg.REQPSN, uint64(local.PSN))
	m.Set(cmsg.REQRetries, uint64(local.Retries))
	m.Set(cmsg.REQRNRRetries, uint64(local.RNRRetries))
	m.Set(cmsg.REQPKey, 0xffff)
	m.Set(cmsg.REQMTU, 3) // 1024
	m.Set(cmsg.REQCMRetries, 15)
	m.Set(cmsg.REQLocalLID, 0xffff)
	m.Set(cmsg.REQRemoteLID, 0xffff)
	m.SetGID(cmsg.REQLocalGID, local.Addr)
	m.SetGID(cmsg.REQRemoteGID, s.Target.Addr)
	m.Set(cmsg.REQHopLimit, 64)
	m.Set(cmsg.REQRate, 3)
	m.Set(cmsg.REQAckTimeout, uint64(local.AckTimeout))
	copy(m[cmsg.REQPrivate:], cmsg.AppendIPHeader(nil, local.Addr, s.Target.Addr, sourcePort))
	return m
}

// Local returns a new queue pair of the tester. Its PSN becomes the first one of the device's
// requests; the device chooses that of the tester's.
func (s *Service) Local(setup ...Setup) Local {
	local := s.t.run.newLocal()
	for _, f := range setup {
		f(&local)
	}
	return local
}

// listenInterval is the time between two attempts to connect to a program that starts.
const listenInterval = 20 * time.Millisecond

// listenTime returns the time until a program must listen. A person who starts it has as much time
// as the case has.
func (s *Service) listenTime() time.Duration {
	if m, ok := s.peer.(interface{ Manual() bool }); ok && m.Manual() {
		return time.Hour
	}
	return 10 * time.Second
}

// Connect connects a queue pair of the tester to the program. The case is inconclusive if that
// fails.
func (s *Service) Connect(setup ...Setup) *Conn {
	c := s.t.newConn(s.program, s.Local(setup...))
	for end := time.Now().Add(s.listenTime()); ; {
		req := s.REQ(c.Local)
		m := s.ask(req)
		switch {
		case m != nil && m.Attribute() == cmsg.REP:
			s.Send(Answer(&m.MAD, cmsg.RTU))
			s.Attach(c, m)
			return c
		case m != nil && m.Attribute() == cmsg.REJ && m.Get(cmsg.REJReason) == 10:
			s.t.noStart("%v answers with %s: it knows the queue pair of an earlier attempt", s.program, m.Describe())
		case m != nil && (m.Attribute() != cmsg.REJ || m.Get(cmsg.REJReason) != 8):
			s.t.Inconclusive("%v does not accept a connection: it answers with %s", s.program, m.Describe())
		case errors.Is(s.ended(), ErrUnsupported):
			s.t.Unsupported("%v: %v: %s", s.program, s.ended(), tail(s.peer.Output()))
		case s.ended() != nil:
			s.t.noStart("%v ended before it accepted a connection: %v: %s", s.program, s.ended(),
				tail(s.peer.Output()))
		case m == nil && time.Now().After(end):
			s.t.Inconclusive("%v does not answer a REQ", s.program)
		case time.Now().After(end):
			s.t.noStart("%v does not listen at its port after %v: %s", s.program, s.listenTime(),
				tail(s.peer.Output()))
		}
		s.t.Sleep(listenInterval)
	}
}

// ask sends a REQ, a second time if nothing comes, and returns the answer or nil.
func (s *Service) ask(req *cmsg.MAD) *MAD {
	for range 2 {
		s.Send(req)
		if m := s.Reply(s.t.Timeout()); m != nil {
			return m
		}
	}
	return nil
}

// ended returns nil while the program runs, as far as its Peer tells, then why it ended.
func (s *Service) ended() error {
	if e, ok := s.peer.(interface{ Ended() error }); ok {
		return e.Ended()
	}
	return nil
}

// Attach sets the device's end of c to the queue pair that a REP names. The script then sends an
// RTU, or not.
func (s *Service) Attach(c *Conn, rep *MAD) {
	c.peer = servicePeer{s.peer}
	c.cm = &cmConn{gsi: s.GSI, local: uint32(rep.Get(cmsg.RemoteID)), remote: uint32(rep.Get(cmsg.LocalID))}
	c.Target = s.Target
	c.Target.QPN = bth.QPN(rep.Get(cmsg.REPQPN))
	// A REQ and a REP tell the first PSN of the other end's requests.
	c.Target.PSN, c.expected = c.Local.PSN, c.Local.PSN
	c.Local.PSN = bth.PSN(rep.Get(cmsg.REPPSN))
	c.PSN = c.Local.PSN
	c.Target.MTU = defaultMTU
}

// NewConn returns a queue pair of the tester that is not connected yet.
func (s *Service) NewConn(setup ...Setup) *Conn { return s.t.newConn(s.program, s.Local(setup...)) }

// servicePeer is the program of a connection; T closes the program once.
type servicePeer struct{ Peer }

func (servicePeer) Close() error   { return nil }
func (servicePeer) Output() string { return "" }

// cmConn are the communication IDs of a connection.
type cmConn struct {
	gsi           *GSI
	local, remote uint32
	ended         bool
}

// disconnected reports whether a DREQ of the device for the connection has come, and answers it.
func (c *cmConn) disconnected() bool {
	if c == nil {
		return false
	}
	for i, m := range c.gsi.kept {
		if m.Attribute() == cmsg.DREQ && uint32(m.Get(cmsg.RemoteID)) == c.local {
			c.gsi.kept = append(c.gsi.kept[:i:i], c.gsi.kept[i+1:]...)
			c.ended = true
			c.gsi.Send(Answer(&m.MAD, cmsg.DREP))
			break
		}
	}
	return c.ended
}

// DREQ returns a request to end the connection.
func (c *Conn) DREQ() *cmsg.MAD {
	m := cmsg.New(cmsg.DREQ, uint64(c.cm.local)<<8|2)
	m.Set(cmsg.LocalID, uint64(c.cm.local))
	m.Set(cmsg.RemoteID, uint64(c.cm.remote))
	m.Set(cmsg.DREQQPN, uint64(c.Target.QPN))
	return m
}

// Disconnect ends the connection; the DREP is not awaited.
func (c *Conn) Disconnect() {
	if c.cm == nil || c.cm.ended {
		return
	}
	c.cm.ended = true
	p := c.cm.gsi.Packet(c.DREQ())
	at := time.Now()
	if b, err := c.t.run.send(c.Target.Addr, p); err == nil {
		c.t.log.sent(at, c.t.run.Link.Local(), c.Target.Addr, p, b)
	}
}
