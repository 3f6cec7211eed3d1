package device

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
)

// Parameters of the pingpongs: ibv_rc_pingpong and ibv_uc_pingpong have messages of 4096 bytes and
// 500 receives by default.
const (
	pingpongLen      = 4096
	pingpongReceives = 500
	pingpongMTU      = 1024
	udPingpongLen    = 1024
	pingpongQKey     = 0x11111111 // of ibv_ud_pingpong
)

// pingpongs are the pingpongs of rdma-core. For ibv_ud_pingpong, the path MTU is that of the port.
var pingpongs = map[conformance.Program]struct {
	command string
	length  int // of a message, in bytes
	qkey    uint32
}{
	conformance.Pingpong:   {fmt.Sprintf("ibv_rc_pingpong -m %d", pingpongMTU), pingpongLen, 0},
	conformance.UCPingpong: {fmt.Sprintf("ibv_uc_pingpong -m %d", pingpongMTU), pingpongLen, 0},
	conformance.UDPingpong: {"ibv_ud_pingpong", udPingpongLen, pingpongQKey},
}

// openPingpong starts a pingpong and connects to it.
func (s *Stock) openPingpong(ctx context.Context, program conformance.Program,
	local conformance.Local) (conformance.Peer, error) {
	p, conn, err := s.open(ctx, program)
	k := pingpongs[program]
	if err != nil {
		return nil, err
	}
	stop := s.handshake(ctx, conn)
	defer stop()
	remote, err := pingpong.Drive(conn, exchange.Client, []pingpong.Dest{{QPN: uint32(local.QPN),
		PSN: uint32(local.PSN), GID: gid(local.Addr)}}, func([]pingpong.Dest) error { return nil })
	if err != nil {
		if s.GIDIndex < 0 {
			err = fmt.Errorf("%w (a pingpong needs the index of a GID: that of %v in 'ibv_devinfo -v', with gorxe 0)",
				err, s.Addr)
		}
		return nil, p.failed(conn, err)
	}
	if err := s.checkGID(remote[0].GID); err != nil {
		conn.Close()
		p.stop()
		return nil, err
	}
	return &connected{process: p, conn: conn, target: conformance.Target{
		Addr: s.Addr, QPN: bth.QPN(remote[0].QPN), PSN: bth.PSN(remote[0].PSN), MTU: pingpongMTU,
		Receives: pingpongReceives, ReceiveLen: k.length, QKey: k.qkey,
	}}, nil
}

// gid returns the GID of an address.
func gid(a netip.Addr) [16]byte { return netip.AddrFrom16(a.As16()).As16() }

// checkGID refuses a program whose queue pair has another address than the device: no packet would
// arrive.
func (s *Stock) checkGID(g [16]byte) error {
	a := netip.AddrFrom16(g).Unmap()
	if a == s.Addr.WithZone("") {
		return nil
	}
	return fmt.Errorf("the program has GID %v, not that of %v: --dut-gid must be the index of the GID of this address "+
		"('ibv_devinfo -v' lists them), or --dut-addr the address of this GID", a, s.Addr)
}

// connected is a program with which the handshake is over.
type connected struct {
	*process
	conn   net.Conn
	target conformance.Target
}

func (c *connected) Target() conformance.Target { return c.target }
func (c *connected) Go() error                  { return nil }
func (c *connected) Output() string             { return c.output() }

func (c *connected) Close() error {
	err := c.conn.Close()
	c.stop()
	return err
}
