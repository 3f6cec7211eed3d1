package cli

import (
	"bufio"
	"context"
	"sync/atomic"

	"github.com/gorxe/gorxe/internal/serve/exchange"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/verbs"
)

// perf runs one end of a perftest tool from the first TCP connection to the result.
func runPerf(ctx context.Context, a *app, p *perfParams) error {
	out := &perfPrinter{out: a.stdout, params: p}
	if p.managed {
		return runManaged(ctx, a, p, out)
	}
	s, err := meet(ctx, a, &meeting{
		device: &p.device, gidIndex: p.gidIndex, gidFlag: "-x", mtu: p.mtu, host: p.host, port: p.port, foreign: p.foreign, waiting: out.waiting,
	})
	if err != nil {
		return err
	}
	defer s.close()
	out.role = s.role
	e := &perfEnd{session: s, ctx: ctx, params: p, out: out, line: &watchedConn{Conn: s.conn, r: bufio.NewReader(s.conn)}}
	if err := e.run(); err != nil {
		return err
	}
	return out.finish()
}

// perfLine is the connection over which the two ends of a test talk.
type perfLine interface {
	drive(role exchange.Role, steps []wire.Step, end wire.End) error
	// noDeadline ends the time in which the exchange must be done.
	noDeadline(ctx context.Context)
	// watch returns a context that ends when the peer hangs up, a while later. stop must be called before anything else.
	watch(parent context.Context) (ctx context.Context, cancel context.CancelCauseFunc, stop func())
	// part ends a test that has no closing exchange.
	part(e *perfEnd)
}

// run performs the test.
func (e *perfEnd) run() error {
	p := e.params
	for _, steps := range []func() []wire.Step{wire.Opening, func() []wire.Step { return p.script(e.role) }} {
		if err := e.line.drive(e.role, steps(), e); err != nil {
			return explainExchange(err, p.describe())
		}
	}
	if p.test == wire.WriteLat {
		e.line.part(e)
	}
	return nil
}

// perfEnd is one end of a test. Drive asks it for what it tells the peer, and tells it what the peer said.
type perfEnd struct {
	*session
	ctx    context.Context
	params *perfParams
	out    *perfPrinter
	line   perfLine
	conns  *managedConns // with -R

	cycle, cacheLine uint64 // page and cache line size that both ends use
	buf              []byte
	pd               *verbs.PD
	mr               *verbs.MR
	cq               waiter
	qps              []*perfQP
	result           perfResult
	progress         atomic.Uint64 // messages, for watchProgress
}

// perfQP is a queue pair with what both ends know of it.
type perfQP struct {
	*verbs.QP
	psn    verbs.PSN
	remote wire.Key
	ah     *verbs.AH // of the peer, for datagrams
	local  walker    // where this end's messages lie
	target walker    // where at the peer they go to or come from
	recv   walker    // where messages arrive

	posted, completed uint64 // send work requests of the current run
	recvPosted        uint64 // receives of the current run
}

// Page and cache line size that this end announces.
const (
	perfCycle     = 4096
	perfCacheLine = 64
)

func (e *perfEnd) Words() (cycle, line uint32) { return perfCycle, perfCacheLine }

func (e *perfEnd) PeerWords(cycle, line uint32) error {
	e.cycle, e.cacheLine = max(perfCycle, uint64(cycle)), max(perfCacheLine, uint64(line))
	return nil
}

func (e *perfEnd) MTU() uint8 { return uint8(e.mtu.Enum()) }

func (e *perfEnd) PeerMTU(enum uint8) error {
	e.mtu = min(e.mtu, verbs.MTU(128)<<enum)
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
	if err := checkPeerGID(e.gid, k.GID, "-x"); err != nil || e.conns != nil { // rdma_cm makes those of managed tests
		return err
	}
	return e.checkNamed(k.GID, "-x")
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
	case wire.Listen: // the port of the exchange is open to the end
		return nil
	case wire.Connect:
		e.line.noDeadline(e.ctx) // the peer answers; what it takes from now on is the test's affair
		if e.conns != nil {
			return e.conns.connect(e)
		}
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
	ctx, cancel, stop := e.line.watch(e.ctx)
	stopWatch := watchProgress(ctx, cancel, silenceLimit, e.standing)
	err := e.traffic(ctx, size)
	stopWatch()
	stop()
	return explainStandstill(err, e.params.service, e.params.describe())
}

// waiting is how the test waits for completions.
func (p *perfParams) waiting() waiting {
	switch {
	case p.events:
		return sleep
	case p.busyPoll:
		return neverSleep
	}
	return lookThenSleep
}
