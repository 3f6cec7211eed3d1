package cli

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	wire "github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
	"github.com/gorxe/gorxe/verbs"
)

// pingpong runs one end from the first TCP connection to the result.
func runPingpong(ctx context.Context, a *app, p *pingpongParams) error {
	s, err := meet(ctx, a, &meeting{device: &p.device, gidIndex: p.gidIndex, gidFlag: "-g", mtu: p.mtu, host: p.host, port: p.port, foreign: p.foreign})
	if err != nil {
		return err
	}
	defer s.close()
	var e pinger
	if p.shared {
		e = &srqEnd{session: s, params: p, out: a.stdout}
	} else {
		e = &pingpongEnd{session: s, params: p, out: a.stdout}
	}
	if err := e.setUp(); err != nil {
		return err
	}
	if _, err := wire.Drive(s.conn, s.role, e.local(), e.connect); err != nil {
		return explainExchange(err, p.describe())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer watchProgress(ctx, cancel, silenceFor(p.size), e.standing)()
	return explainStandstill(e.traffic(ctx), p.service, p.describe())
}

// pinger is an end of a pingpong, made in this order.
type pinger interface {
	setUp() error
	local() []wire.Dest
	connect(remote []wire.Dest) error
	traffic(ctx context.Context) error
	standing() standing // while traffic runs
}

// pingpongEnd is one end of a pingpong.
type pingpongEnd struct {
	*session
	params *pingpongParams
	out    io.Writer

	psn      verbs.PSN
	pd       *verbs.PD
	cq       waiter
	qp       *verbs.QP
	ah       *verbs.AH // of the peer, for datagrams
	remote   wire.Dest
	send     []byte // what the next message will carry, behind room for a header
	recv     []byte // where messages arrive, behind their header: the same as send without -c, as in the original
	sendMR   *verbs.MR
	recvMR   *verbs.MR
	posted   int // receives
	checker  checker
	haveSent bool
	progress atomic.Uint64 // completions, for watchProgress
}

// setUp makes the queue pair and posts the receives.
func (e *pingpongEnd) setUp() error {
	p := e.params
	var err error
	if p.service == verbs.UD && p.size > int(e.mtu) {
		return usagef("-s %d: a datagram carries at most %d bytes on this path", p.size, e.mtu)
	}
	e.psn = verbs.RandomPSN()
	e.send = make([]byte, p.header()+p.size)
	fillStock(e.send, false)
	e.recv = e.send
	if p.chk {
		e.recv = make([]byte, len(e.send))
		e.checker.role = e.role
	}
	e.pd = e.dev.AllocPD()
	if e.sendMR, err = e.pd.RegMR(e.send, verbs.LocalWrite); err != nil {
		return err
	}
	e.recvMR = e.sendMR
	if p.chk {
		if e.recvMR, err = e.pd.RegMR(e.recv, verbs.LocalWrite); err != nil {
			return err
		}
	}
	cq, err := e.dev.CreateCQ(p.rxDepth + 1)
	if err != nil {
		return err
	}
	e.cq = waiter{cq: cq}
	e.qp, err = e.pd.CreateQP(verbs.QPInitAttr{Type: p.service, SendCQ: cq, Cap: verbs.QPCap{
		MaxSendWR: 1, MaxRecvWR: p.rxDepth, MaxSendSGE: 1, MaxRecvSGE: 1,
	}})
	return err
}

func (e *pingpongEnd) local() []wire.Dest {
	d := wire.Dest{QPN: uint32(e.qp.QPN()), PSN: uint32(e.psn), GID: e.gid.GID}
	printAddress(e.out, "local address: ", d)
	return []wire.Dest{d}
}

func printAddress(w io.Writer, name string, d wire.Dest) {
	fmt.Fprintf(w, "  %s LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %v\n", name, d.LID, d.QPN, d.PSN, verbs.GID(d.GID))
}

// connect moves the queue pair to RTS and posts the receives: a client sends as soon as it knows where to.
func (e *pingpongEnd) connect(remote []wire.Dest) error {
	e.remote = remote[0]
	printAddress(e.out, "remote address:", e.remote)
	if err := checkPeerGID(e.gid, verbs.GID(e.remote.GID), "-g"); err != nil {
		return err
	}
	if err := e.checkNamed(e.remote.GID, "-g"); err != nil {
		return err
	}
	connect := connectPingpong
	if e.params.service == verbs.UD {
		connect = e.startDatagrams
	}
	if err := connect(e.session, e.qp, e.psn, e.remote); err != nil {
		return err
	}
	return e.postReceives()
}

// startDatagrams moves the queue pair to RTS and makes the way to the peer.
func (e *pingpongEnd) startDatagrams(s *session, q *verbs.QP, psn verbs.PSN, remote wire.Dest) (err error) {
	e.ah, err = s.datagrams(e.pd, q, psn, remote.GID, 0)
	return err
}

// connectPingpong moves a queue pair to RTS with the attributes of rdma-core's pingpongs.
func connectPingpong(s *session, q *verbs.QP, psn verbs.PSN, remote wire.Dest) error {
	attr := verbs.DefaultConnAttr()
	attr.PathMTU, attr.Access, attr.MaxRdAtomic, attr.MaxDestRdAtomic = s.mtu, 0, 1, 1
	return q.Connect(
		verbs.ConnInfo{QPN: q.QPN(), PSN: psn, GID: s.gid.GID},
		verbs.ConnInfo{QPN: verbs.QPN(remote.QPN), PSN: verbs.PSN(remote.PSN), GID: remote.GID}, attr)
}
