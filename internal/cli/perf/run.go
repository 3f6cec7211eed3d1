package perf

import (
	"bufio"
	"context"
	"sync/atomic"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/verbs"
)

// run runs one end of a perftest tool from the first TCP connection to the result.
func run(ctx context.Context, a *app.App, p *params) error {
	out := &printer{out: a.Stdout, params: p}
	if p.managed {
		return runManaged(ctx, a, p, out)
	}
	s, err := session.Meet(ctx, a, &session.Meeting{
		Device: &p.device, GIDIndex: p.gidIndex, GIDFlag: "-x", MTU: p.mtu, Host: p.host, Port: p.port,
		ForeignGIDs: p.foreign, Waiting: out.waiting,
	})
	if err != nil {
		return err
	}
	defer s.Close()
	out.role = s.Role
	e := &end{Session: s, ctx: ctx, params: p, out: out, line: &watchedConn{Conn: s.Conn, r: bufio.NewReader(s.Conn)}}
	if err := e.run(); err != nil {
		return err
	}
	return out.finish()
}

// line is the connection over which the two ends of a test exchange parameters.
type line interface {
	drive(role exchange.Role, steps []wire.Step, end wire.End) error
	// noDeadline ends the timeout of the exchange.
	noDeadline(ctx context.Context)
	// watch returns a context that is done peerGrace after the peer has closed the connection, and
	// a function that cancels it. stop must be called before any other use of the line.
	watch(parent context.Context) (ctx context.Context, cancel context.CancelCauseFunc, stop func())
	// awaitClose ends a test that has no closing exchange.
	awaitClose(e *end)
}

// run performs the test.
func (e *end) run() error {
	p := e.params
	for _, steps := range []func() []wire.Step{wire.Opening, func() []wire.Step { return p.script(e.Role) }} {
		if err := e.line.drive(e.Role, steps(), e); err != nil {
			return session.ExplainExchange(err, p.describe())
		}
	}
	if p.test == wire.WriteLat {
		e.line.awaitClose(e)
	}
	return nil
}

// end is one end of a test. It implements wire.End: Drive gets from it what to send to the peer,
// and passes it what the peer sent.
type end struct {
	*session.Session
	ctx    context.Context
	params *params
	out    *printer
	line   line
	conns  *managedConns // set with -R

	cycle, cacheLine uint64 // page and cache line size in bytes that both ends use
	buf              []byte
	pd               *verbs.PD
	mr               *verbs.MR
	cq               session.Waiter
	qps              []*queuePair
	result           result
	progress         atomic.Uint64 // number of messages, for WatchProgress
}

// queuePair is a queue pair with the parameters of both ends.
type queuePair struct {
	*verbs.QP
	psn    verbs.PSN
	remote wire.Key
	ah     *verbs.AH // address handle of the peer, for datagrams
	local  walker    // addresses of this end's messages
	target walker    // addresses at the peer that they are written to or read from
	recv   walker    // addresses of received messages

	posted, completed uint64 // numbers of send work requests in the current run
	recvPosted        uint64 // number of receives in the current run
}

// Page size (perftest's cycle) and cache line size in bytes that this end announces.
const (
	ownCycle     = 4096
	ownCacheLine = 64
)

func (e *end) Sizes() (cycle, line uint32) { return ownCycle, ownCacheLine }

// PeerSizes stores the sizes that both ends use: the larger of each end's page size (cycle) and
// cache line size.
func (e *end) PeerSizes(cycle, line uint32) error {
	e.cycle, e.cacheLine = max(ownCycle, uint64(cycle)), max(ownCacheLine, uint64(line))
	return nil
}

func (e *end) MTU() uint8 { return uint8(e.PathMTU.Enum()) }

func (e *end) PeerMTU(enum uint8) error {
	e.PathMTU = min(e.PathMTU, verbs.MTU(128)<<enum)
	if err := e.params.fit(e.PathMTU); err != nil {
		return err
	}
	if err := e.setUp(); err != nil {
		return err
	}
	e.out.heading(e)
	return nil
}

func (e *end) Key(qp int) wire.Key {
	q := e.qps[qp]
	return wire.Key{
		OutReads: uint16(e.outReads()), QPN: uint32(q.QPN()), PSN: uint32(q.psn), RKey: e.rkey(),
		VAddr: e.mr.Addr() + e.halfOffset(qp), GID: e.GID.GID,
	}
}

func (e *end) PeerKey(qp int, k wire.Key, again bool) error {
	q := e.qps[qp]
	q.remote = k
	if again {
		e.out.address("remote", k)
		return nil
	}
	// With -R, rdma_cm makes the connections, so the GID needs no further check.
	if err := app.CheckPeerGID(e.GID, k.GID, "-x"); err != nil || e.conns != nil {
		return err
	}
	return e.CheckNamed(k.GID, "-x")
}

func (e *end) Report() wire.Report { return e.result.report(e.params) }

func (e *end) PeerReport(r wire.Report) error {
	switch {
	case e.params.duplex:
		e.out.bandwidth(e.result, &r)
	case e.Role == exchange.Server:
		e.out.peerBandwidth(r)
	}
	return nil
}

// Act performs a local step of the script.
func (e *end) Act(s wire.Step) error {
	switch s.Kind {
	case wire.Listen: // the port of the exchange stays open until the end
		return nil
	case wire.Connect:
		e.line.noDeadline(e.ctx) // the exchange has succeeded; WatchProgress limits the test from here on
		if e.conns != nil {
			return e.conns.connect(e)
		}
		return e.connect()
	case wire.PostReceives:
		return e.postReceives(s.Size)
	}
	if err := e.runWatched(s.Size); err != nil {
		return err
	}
	e.out.afterRun(e.result)
	return nil
}

// runWatched runs traffic until it is done, or until the peer seems to have left or to run another
// test.
func (e *end) runWatched(size uint64) error {
	ctx, cancel, stop := e.line.watch(e.ctx)
	stopWatch := session.WatchProgress(ctx, cancel, session.SilenceLimit, e.standing)
	err := e.traffic(ctx, size)
	stopWatch()
	stop()
	return session.ExplainStandstill(err, e.params.service, e.params.describe())
}

// waiting returns how the test waits for completions.
func (p *params) waiting() session.WaitMode {
	switch {
	case p.events:
		return session.NoPoll
	case p.busyPoll:
		return session.NeverSleep
	}
	return session.PollThenSleep
}
