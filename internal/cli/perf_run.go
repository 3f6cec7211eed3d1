package cli

import (
	"bufio"
	"context"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe"
	"github.com/gorxe/gorxe/internal/exchange"
	wire "github.com/gorxe/gorxe/internal/exchange/perftest"
)

// perf runs one end of a perftest tool from the first TCP connection to the result.
func (a *app) perf(ctx context.Context, p *perfParams) error {
	out := &perfPrinter{out: a.stdout, params: p}
	s, err := a.meet(ctx, &meeting{
		device: &p.device, gidIndex: p.gidIndex, gidFlag: "-x", mtu: p.mtu, host: p.host, port: p.port, waiting: out.waiting,
	})
	if err != nil {
		return err
	}
	defer s.close()
	out.role = s.role
	e := &perfEnd{session: s, ctx: ctx, params: p, out: out, conn: &watchedConn{Conn: s.conn, r: bufio.NewReader(s.conn)}}
	if err := wire.Drive(e.conn, s.role, wire.Opening(), e); err != nil {
		return explainExchange(err, p.describe())
	}
	if err := wire.Drive(e.conn, s.role, p.script(s.role), e); err != nil {
		return explainExchange(err, p.describe())
	}
	if p.test == wire.WriteLat {
		e.partWithPeer()
	}
	return out.finish()
}

// partWithPeer ends a test that has no closing exchange. A peer whose last acknowledgement was lost needs this end's queue
// pair a little longer; its hanging up says that it does not.
func (e *perfEnd) partWithPeer() {
	if c, ok := e.conn.Conn.(interface{ CloseWrite() error }); ok {
		c.CloseWrite()
	}
	e.conn.SetReadDeadline(time.Now().Add(lingerMax))
	for {
		if _, err := e.conn.r.Discard(1); err != nil {
			return
		}
	}
}

// perfEnd is one end of a test. Drive asks it for what it tells the peer, and tells it what the peer said.
type perfEnd struct {
	*session
	ctx    context.Context
	params *perfParams
	out    *perfPrinter
	conn   *watchedConn // instead of the session's

	cycle, line uint64 // page and cache line size that both ends use
	buf         []byte
	pd          *gorxe.PD
	mr          *gorxe.MR
	cq          waiter
	qps         []*perfQP
	result      perfResult
	progress    atomic.Uint64 // messages, for watchProgress
}

// perfQP is a queue pair with what both ends know of it.
type perfQP struct {
	*gorxe.QP
	psn    gorxe.PSN
	remote wire.Key
	ah     *gorxe.AH // of the peer, for datagrams
	local  walker    // where this end's messages lie
	target walker    // where at the peer they go to or come from
	recv   walker    // where messages arrive

	posted, completed uint64 // send work requests of the current run
	recvPosted        uint64 // receives of the current run
}

// Page and cache line size that this end announces.
const (
	perfCycle = 4096
	perfLine  = 64
)

func (e *perfEnd) Words() (cycle, line uint32) { return perfCycle, perfLine }

func (e *perfEnd) PeerWords(cycle, line uint32) error {
	e.cycle, e.line = max(perfCycle, uint64(cycle)), max(perfLine, uint64(line))
	return nil
}

func (e *perfEnd) MTU() uint8 { return uint8(e.mtu.Enum()) }

func (e *perfEnd) PeerMTU(enum uint8) error {
	e.mtu = min(e.mtu, gorxe.MTU(128)<<enum)
	if err := e.params.fit(e.mtu); err != nil {
		return err
	}
	if err := e.setUp(); err != nil {
		return err
	}
	e.out.heading(e)
	return nil
}

func (e *perfEnd) Key(qp int) wire.Key {
	q := e.qps[qp]
	return wire.Key{
		OutReads: uint16(e.outReads()), QPN: uint32(q.QPN()), PSN: uint32(q.psn), RKey: e.rkey(),
		VAddr: e.mr.Addr() + e.halfOffset(qp), GID: e.gid.GID,
	}
}

func (e *perfEnd) PeerKey(qp int, k wire.Key, again bool) error {
	q := e.qps[qp]
	q.remote = k
	if again {
		e.out.address("remote", k)
		return nil
	}
	return checkPeerGID(e.gid, k.GID, "-x")
}

func (e *perfEnd) Report() wire.Report { return e.result.report(e.params) }

func (e *perfEnd) PeerReport(r wire.Report) error {
	switch {
	case e.params.duplex:
		e.out.bandwidth(e.result, &r)
	case e.role == exchange.Server:
		e.out.peerBandwidth(r)
	}
	return nil
}

// Act performs a local step of the script.
func (e *perfEnd) Act(s wire.Step) error {
	switch s.Kind {
	case wire.Connect:
		e.conn.noDeadline(e.ctx) // the peer answers; what it takes from now on is the test's affair
		return e.connect()
	case wire.PostReceives:
		return e.postReceives(s.Size)
	}
	if err := e.watched(s.Size); err != nil {
		return err
	}
	e.out.afterRun(e.result)
	return nil
}

// watched runs traffic until it is done or the peer seems to have left or to run another test.
func (e *perfEnd) watched(size uint64) error {
	ctx, cancel, stop := e.conn.watch(e.ctx)
	stopWatch := watchProgress(ctx, cancel, e.standing)
	err := e.traffic(ctx, size)
	stopWatch()
	stop()
	return explainStandstill(err, e.params.service, e.params.describe())
}
