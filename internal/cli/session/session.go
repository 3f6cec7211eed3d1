// Package session holds what perf, pingpong and cm share. [Meet] returns a [Session], the two
// ends of a tool connected over TCP; a [Waiter] waits for completions; [WatchProgress] and
// [KeepAlive] detect a peer that is stuck or has ended.
package session

import (
	"context"
	"net"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/verbs"
)

// ExchangeTimeout bounds the exchange before the traffic. Stock tools pause for up to a second
// during the exchange.
const ExchangeTimeout = 30 * time.Second

// Meeting describes how one end of a tool finds its device and its peer.
type Meeting struct {
	Device      *app.DeviceFlags
	GIDIndex    int    // negative: the entry that perftest would select
	GIDFlag     string // flag that selects the GID
	MTU         int    // path MTU in bytes; 0: the largest
	Host        string // empty: wait for a client
	Port        uint16
	ForeignGIDs ForeignGIDs
	Waiting     func() // called when a client can connect; may be nil
}

// Session holds the device, the GID and the connection to the peer at the start of the exchange.
type Session struct {
	Device  *verbs.Device
	GID     verbs.GIDEntry
	PathMTU verbs.MTU
	Conn    net.Conn
	Role    exchange.Role

	foreign ForeignGIDs     // GIDs that the peer may use
	peers   *exchange.Peers // includes foreign; set by the first CheckNamed

	stopWatch func() // nil before the connection exists
}

// Meet opens the device and the TCP connection to the peer. The end of ctx interrupts the use of
// the connection; ExchangeTimeout limits it. Errors that the flags alone cause are reported before
// Meet connects.
func Meet(ctx context.Context, a *app.App, m *Meeting) (*Session, error) {
	s := &Session{foreign: m.ForeignGIDs}
	if err := s.begin(ctx, a, m); err != nil {
		s.Close()
		return nil, err
	}
	s.Conn.SetDeadline(time.Now().Add(ExchangeTimeout))
	s.stopWatch = exchange.Watch(ctx, s.Conn)
	return s, nil
}

func (s *Session) begin(ctx context.Context, a *app.App, m *Meeting) (err error) {
	if s.Device, err = a.OpenNamed(m.Device); err != nil {
		return err
	}
	if s.Device != nil {
		if err = s.choosePath(m); err != nil {
			return err
		}
	}
	if s.Conn, s.Role, err = connect(ctx, a, m.Host, m.Port, m.Waiting); err != nil || s.Device != nil {
		return err
	}
	if s.Device, err = a.OpenAt(m.Device, s.Conn, m.GIDIndex >= 0); err != nil {
		return err
	}
	return s.choosePath(m)
}

func (s *Session) choosePath(m *Meeting) (err error) {
	if s.GID, err = app.PickGID(s.Device, m.GIDIndex, m.GIDFlag); err != nil {
		return err
	}
	s.PathMTU, err = app.PathMTU(m.MTU, s.GID)
	return err
}

// Close closes what Meet opened.
func (s *Session) Close() {
	if s.stopWatch != nil {
		s.stopWatch()
	}
	if s.Device != nil {
		s.Device.Close()
	}
	if s.Conn != nil {
		s.Conn.Close()
	}
}
