package cli

import (
	"context"
	"net"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/verbs"
)

// exchangeTimeout bounds the exchange before the traffic. Stock tools pause up to a second in it.
const exchangeTimeout = 30 * time.Second

// meeting is how one end of a tool finds its device and its peer.
type meeting struct {
	device   *deviceFlags
	gidIndex int    // negative: the one that perftest would take
	gidFlag  string // that chooses it
	mtu      int    // path MTU in bytes; 0: the largest
	host     string // empty: wait for a client
	port     uint16
	foreign  foreignGIDs
	waiting  func() // called when a client can connect; may be nil
}

// session is what every tool has when its exchange begins.
type session struct {
	dev  *verbs.Device
	gid  verbs.GIDEntry
	mtu  verbs.MTU
	conn net.Conn
	role exchange.Role

	foreign foreignGIDs     // that the peer may name
	peers   *exchange.Peers // with foreign, once it was asked

	stopWatch func() // nil without
}

// meet opens the device and the TCP connection to the peer, which ctx interrupts and exchangeTimeout limits. What the flags
// alone show to be wrong is said before anybody connects.
func meet(ctx context.Context, a *app, m *meeting) (*session, error) {
	s := &session{foreign: m.foreign}
	if err := s.begin(ctx, a, m); err != nil {
		s.close()
		return nil, err
	}
	s.conn.SetDeadline(time.Now().Add(exchangeTimeout))
	s.stopWatch = exchange.Watch(ctx, s.conn)
	return s, nil
}

func (s *session) begin(ctx context.Context, a *app, m *meeting) (err error) {
	if s.dev, err = a.openFor(m.device); err != nil {
		return err
	}
	if s.dev != nil {
		if err = s.choosePath(m); err != nil {
			return err
		}
	}
	if s.conn, s.role, err = connectTools(ctx, a, m.host, m.port, m.waiting); err != nil || s.dev != nil {
		return err
	}
	if s.dev, err = a.openAt(m.device, s.conn, m.gidIndex >= 0); err != nil {
		return err
	}
	return s.choosePath(m)
}

func (s *session) choosePath(m *meeting) (err error) {
	if s.gid, err = pickGID(s.dev, m.gidIndex, m.gidFlag); err != nil {
		return err
	}
	s.mtu, err = pathMTU(m.mtu, s.gid)
	return err
}

// close ends what meet began, as far as it came.
func (s *session) close() {
	if s.stopWatch != nil {
		s.stopWatch()
	}
	if s.dev != nil {
		s.dev.Close()
	}
	if s.conn != nil {
		s.conn.Close()
	}
}
