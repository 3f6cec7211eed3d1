package cmtool

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/nic/gsi"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/nic"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// cmtime behaves on the wire like cmtime of rdma-core 52 to 58. It has no queue pairs, and where
// the tool has some it only uses numbers.
type cmtime struct {
	gsi    *gsi.Agent
	conns  int
	keeps  bool          // it does not disconnect the connections that it reports as disconnected
	pause  time.Duration // before each request for a connection, and before each disconnection
	events chan cm.Event
	said   []byte // received from the other end over TCP
	qpns   []bth.QPN
}

// cmtimeQPN is the first number that the tool makes up, and cmtimeReal the first number of its
// queue pairs.
const (
	cmtimeQPN  = 1000
	cmtimeReal = 17
)

// newCmtime returns a cmtime at an address of the world, for conns connections.
func newCmtime(t *testing.T, w *clitest.World, addr string, conns int) *cmtime {
	t.Helper()
	l, err := w.Net.Open(netip.MustParseAddr(addr), w.MTU)
	if err != nil {
		t.Fatal(err)
	}
	d, err := nic.Open(nic.Config{Links: []packet.Link{l}, MaxQP: 4, MaxMR: 4, MaxCQ: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	c := &cmtime{conns: conns, events: make(chan cm.Event, 16*conns)}
	c.gsi, err = gsi.Open(d, cm.Config{CAGUID: 0x1234, Secret: [32]byte{5}}, func(e *cm.Event) { c.events <- *e })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// next waits for n events of a kind.
func (c *cmtime) next(kind cm.EventKind, n int, do func(cm.Time, *cm.Manager, *cm.Event) error) error {
	for range n {
		e := <-c.events
		if e.Kind != kind {
			return fmt.Errorf("event %v, want %v: %+v", e.Kind, kind, e.REJ)
		}
		err := c.gsi.Do(func(now cm.Time, m *cm.Manager) error { return do(now, m, &e) })
		if err != nil {
			return err
		}
	}
	return nil
}

func nothing(cm.Time, *cm.Manager, *cm.Event) error { return nil }

// rounds calls do for each round, with its number of connections and the number of the first
// queue pair.
func (c *cmtime) rounds(do func(n int, first bth.QPN) error) error {
	for i, r := range []struct {
		n     int
		first bth.QPN
	}{{1, cmtimeReal}, {c.conns, cmtimeReal + 1}, {c.conns, cmtimeQPN}} {
		if err := do(r.n, r.first); err != nil {
			return fmt.Errorf("cmtime, round %d: %w", i+1, err)
		}
	}
	return nil
}

// runClient runs the tool with -s.
func (c *cmtime) runClient(conn net.Conn, to, from string) error {
	defer conn.Close()
	sync := func(b byte) error {
		if _, err := conn.Write([]byte{b}); err != nil {
			return err
		}
		var back [1]byte
		if _, err := conn.Read(back[:]); err != nil {
			return err
		}
		c.said = append(c.said, back[0])
		return nil
	}
	return c.rounds(func(n int, first bth.QPN) error {
		if err := sync(0); err != nil {
			return err
		}
		var ids []mad.CommID
		waiting := 0
		for i := range n {
			time.Sleep(c.pause)
			err := c.gsi.Do(func(now cm.Time, m *cm.Manager) error {
				id, err := m.Connect(now, cm.Peer{GID: qp.GIDFromAddr(netip.MustParseAddr(to))},
					cmtimeREQ(first+bth.QPN(i), netip.MustParseAddr(from), netip.MustParseAddr(to)))
				ids = append(ids, id)
				return err
			})
			if err != nil {
				return err
			}
			if waiting++; c.pause > 0 {
				if err := c.next(cm.Replied, 1, c.establish); err != nil {
					return err
				}
				waiting = 0
			}
		}
		if err := c.next(cm.Replied, waiting, c.establish); err != nil {
			return err
		}
		if err := sync(12); err != nil {
			return err
		}
		// The tool does not wait for the replies: the other end's byte has to suffice.
		for _, id := range ids {
			if c.keeps {
				break
			}
			time.Sleep(c.pause)
			if err := c.gsi.Do(func(now cm.Time, m *cm.Manager) error {
				return m.Disconnect(now, id, nil)
			}); err != nil {
				return err
			}
		}
		if err := sync(14); err != nil {
			return err
		}
		return c.next(cm.Disconnected, n, nothing)
	})
}

// establish answers a REP.
func (c *cmtime) establish(now cm.Time, m *cm.Manager, e *cm.Event) error {
	c.qpns = append(c.qpns, e.REP.LocalQPN)
	return m.Established(now, e.ID, nil)
}

// cmtimeREQ returns the REQ that rdma_cm of Linux sends for the tool.
func cmtimeREQ(qpn bth.QPN, from, to netip.Addr) *mad.REQ {
	h := mad.IPHeader{SourcePort: 40000 + uint16(qpn), Source: from, Destination: to}
	private, err := h.Append(nil)
	if err != nil {
		panic(err)
	}
	return &mad.REQ{
		ServiceID: mad.IPServiceID(mad.PortSpaceTCP, defaultPort), LocalQPN: qpn, StartingPSN: bth.PSN(qpn),
		ResponderResources: 1, InitiatorDepth: 1, RemoteCMResponseTimeout: 20,
		LocalCMResponseTimeout: 20, MaxCMRetries: 15,
		TransportService: mad.TransportRC, PKey: 0xffff, PathMTU: 3,
		Primary: mad.Path{
			LocalLID: 0xffff, RemoteLID: 0xffff, LocalGID: qp.GIDFromAddr(from), RemoteGID: qp.GIDFromAddr(to),
			HopLimit: 64, LocalACKTimeout: 17,
		},
		PrivateData: private,
	}
}

// listen is the part of the tool's server that precedes the TCP connection.
func (c *cmtime) listen() error {
	return c.gsi.Do(func(_ cm.Time, m *cm.Manager) error {
		_, err := m.Listen(mad.IPServiceID(mad.PortSpaceTCP, defaultPort), cm.AnyGID, c.conns)
		return err
	})
}

// runServer is the part of the tool's server that follows listen.
func (c *cmtime) runServer(conn net.Conn) error {
	defer conn.Close()
	sync := func() error {
		var b [1]byte
		if _, err := conn.Read(b[:]); err != nil {
			return err
		}
		c.said = append(c.said, b[0])
		_, err := conn.Write(b[:])
		return err
	}
	return c.rounds(func(n int, first bth.QPN) error {
		if err := sync(); err != nil {
			return err
		}
		requests := make([]cm.Event, 0, n)
		err := c.next(cm.Requested, n, func(_ cm.Time, _ *cm.Manager, e *cm.Event) error {
			requests = append(requests, *e)
			return nil
		})
		if err != nil {
			return err
		}
		for i, e := range requests {
			c.qpns = append(c.qpns, e.REQ.LocalQPN)
			err := c.gsi.Do(func(now cm.Time, m *cm.Manager) error {
				return m.Accept(now, e.ID,
					&mad.REP{LocalQPN: first + bth.QPN(i), StartingPSN: 7, ResponderResources: 1, InitiatorDepth: 1})
			})
			if err != nil {
				return err
			}
		}
		if err := c.next(cm.Established, n, nothing); err != nil {
			return err
		}
		if err := sync(); err != nil {
			return err
		}
		if err := c.next(cm.Disconnected, n, nothing); err != nil {
			return err
		}
		return sync()
	})
}

// callCmtime opens the TCP connection of a client that is not gorxe.
func callCmtime(t *testing.T, w *clitest.World) net.Conn {
	t.Helper()
	conn, err := w.Dial(t.Context(), "", defaultPort)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
