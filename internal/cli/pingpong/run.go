package pingpong

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
	"github.com/gorxe/gorxe/verbs"
)

// run runs one end from the first TCP connection to the result.
func run(ctx context.Context, a *app.App, p *params) error {
	s, err := session.Meet(ctx, a, &session.Meeting{Device: &p.device, GIDIndex: p.gidIndex, GIDFlag: "-g", MTU: p.mtu,
		Host: p.host, Port: p.port, ForeignGIDs: p.foreign})
	if err != nil {
		return err
	}
	defer s.Close()
	var e pinger
	if p.shared {
		e = &srqEnd{Session: s, params: p, out: a.Stdout}
	} else {
		e = &end{Session: s, params: p, out: a.Stdout}
	}
	if err := e.setUp(); err != nil {
		return err
	}
	if _, err := wire.Drive(s.Conn, s.Role, e.local(), e.connect); err != nil {
		return session.ExplainExchange(err, p.describe())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer session.WatchProgress(ctx, cancel, session.SilenceFor(p.size), e.standing)()
	return session.ExplainStandstill(e.traffic(ctx), p.service, p.describe())
}

// pinger is an end of a pingpong. Its methods are called in this order.
type pinger interface {
	setUp() error
	local() []wire.Dest
	connect(remote []wire.Dest) error
	traffic(ctx context.Context) error
	standing() session.Snapshot // called while traffic runs
}

// end is one end of a pingpong with one queue pair.
type end struct {
	*session.Session
	params *params
	out    io.Writer

	psn    verbs.PSN
	pd     *verbs.PD
	cq     session.Waiter
	qp     *verbs.QP
	ah     *verbs.AH // address handle of the peer, for datagrams
	remote wire.Dest
	send   []byte // the next message, after space for a header
	// recv holds received messages, after their header. Without -c it is the same buffer as send,
	// as in the original tool.
	recv     []byte
	sendMR   *verbs.MR
	recvMR   *verbs.MR
	posted   int // number of posted receives
	checker  checker
	haveSent bool
	progress atomic.Uint64 // number of completions, for WatchProgress
}

// setUp makes the memory and the queue pair.
func (e *end) setUp() error {
	p := e.params
	var err error
	if p.service == verbs.UD && p.size > int(e.PathMTU) {
		return app.Usagef("-s %d: a datagram carries at most %d bytes on this path", p.size, e.PathMTU)
	}
	e.psn = verbs.RandomPSN()
	e.send = make([]byte, p.header()+p.size)
	fillStock(e.send, false)
	e.recv = e.send
	if p.chk {
		e.recv = make([]byte, len(e.send))
		e.checker.role = e.Role
	}
	e.pd = e.Device.AllocPD()
	if e.sendMR, err = e.pd.RegMR(e.send, verbs.LocalWrite); err != nil {
		return err
	}
	e.recvMR = e.sendMR
	if p.chk {
		if e.recvMR, err = e.pd.RegMR(e.recv, verbs.LocalWrite); err != nil {
			return err
		}
	}
	cq, err := e.Device.CreateCQ(p.rxDepth + 1)
	if err != nil {
		return err
	}
	e.cq = session.Waiter{CQ: cq}
	e.qp, err = e.pd.CreateQP(verbs.QPInitAttr{Type: p.service, SendCQ: cq, Cap: verbs.QPCap{
		MaxSendWR: 1, MaxRecvWR: p.rxDepth, MaxSendSGE: 1, MaxRecvSGE: 1,
	}})
	return err
}

func (e *end) local() []wire.Dest {
	d := wire.Dest{QPN: uint32(e.qp.QPN()), PSN: uint32(e.psn), GID: e.GID.GID}
	printAddress(e.out, "local address: ", d)
	return []wire.Dest{d}
}

func printAddress(w io.Writer, name string, d wire.Dest) {
	fmt.Fprintf(w, "  %s LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %v\n", name, d.LID, d.QPN, d.PSN, verbs.GID(d.GID))
}

// connect moves the queue pair to RTS and posts the receives: a client sends as soon as it knows
// the destination.
func (e *end) connect(remote []wire.Dest) error {
	e.remote = remote[0]
	printAddress(e.out, "remote address:", e.remote)
	if err := app.CheckPeerGID(e.GID, verbs.GID(e.remote.GID), "-g"); err != nil {
		return err
	}
	if err := e.CheckNamed(e.remote.GID, "-g"); err != nil {
		return err
	}
	connect := connectQP
	if e.params.service == verbs.UD {
		connect = e.startDatagrams
	}
	if err := connect(e.Session, e.qp, e.psn, e.remote); err != nil {
		return err
	}
	return e.postReceives()
}

// startDatagrams moves the queue pair to RTS and makes the address handle of the peer.
func (e *end) startDatagrams(s *session.Session, q *verbs.QP, psn verbs.PSN, remote wire.Dest) (err error) {
	e.ah, err = s.StartDatagrams(e.pd, q, psn, remote.GID, 0)
	return err
}

// connectQP moves a queue pair to RTS with the attributes of rdma-core's pingpong tools.
func connectQP(s *session.Session, q *verbs.QP, psn verbs.PSN, remote wire.Dest) error {
	attr := verbs.DefaultConnAttr()
	attr.PathMTU, attr.Access, attr.MaxRdAtomic, attr.MaxDestRdAtomic = s.PathMTU, 0, 1, 1
	return q.Connect(
		verbs.ConnInfo{QPN: q.QPN(), PSN: psn, GID: s.GID.GID},
		verbs.ConnInfo{QPN: verbs.QPN(remote.QPN), PSN: verbs.PSN(remote.PSN), GID: remote.GID}, attr)
}
