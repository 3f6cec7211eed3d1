package cmtool

import (
	"context"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/verbs"
)

// datagrams exchanges queue pair numbers with SIDR and then messages. The client sends first,
// because the server does not know the client's queue pairs before. Each message carries the
// queue pair number of its sender as immediate data.
func (e *end) datagrams(ctx context.Context) error {
	if g := e.dev.GIDs(); len(g) > 0 && e.params.size > int(g[0].MTU) {
		return app.Usagef("-S %d: a datagram carries at most %d bytes on this path", e.params.size, g[0].MTU)
	}
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	serve := e.resolveAll
	if e.params.server {
		serve = e.answerAll
	}
	if err := serve(run); err != nil {
		return err
	}
	stop := session.WatchProgress(run, cancel, session.SilenceFor(0), e.standing)
	err := session.Each(run, e.made, e.trade)
	stop()
	if err != nil {
		return session.ExplainStandstill(err, verbs.UD, "udaddy, or gorxe cm -P udp,")
	}
	e.printRun()
	return nil
}

// resolveAll queries all queue pairs of the server, up to params.parallel at a time.
func (e *end) resolveAll(ctx context.Context) error {
	return e.askAll(ctx, e.params.conns, verbs.UD, func(ctx context.Context, c *connection) (err error) {
		c.peer, err = e.pd.DialUD(ctx, e.remote, nil)
		return err
	})
}

// answerAll answers the queries for params.conns queue pairs.
func (e *end) answerAll(ctx context.Context) error {
	l, err := e.listen()
	if err != nil {
		return err
	}
	defer l.Close()
	var begin time.Time
	for i := range e.params.conns {
		r, err := l.Next(ctx)
		if err != nil {
			return err
		}
		if i == 0 {
			begin = time.Now()
		}
		asked := time.Now()
		c, err := e.prepare(verbs.UD)
		if err != nil {
			return err
		}
		if err := r.AcceptUD(c.qp, nil); err != nil {
			return err
		}
		e.keep(c, time.Since(asked))
	}
	e.printMade(time.Since(begin))
	return nil
}

// trade sends and receives the messages of a queue pair.
func (e *end) trade(ctx context.Context, c *connection) error {
	n := e.params.count
	if n == 0 {
		return nil
	}
	if !e.params.server {
		if err := c.send(c.toPeer); err != nil {
			return err
		}
		return c.complete(ctx, e, n, n, nil)
	}
	err := c.complete(ctx, e, 0, n, func(wc *verbs.WC) error {
		at := int(wc.WRID) * c.slot
		ah, err := e.pd.CreateAHFromWC(wc, c.buf[at:at+c.slot])
		if err != nil {
			return err
		}
		c.peer = &verbs.UDPeer{AH: ah, QPN: verbs.QPN(wc.Imm), QKey: verbs.UDPQKey}
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.send(c.toPeer); err != nil {
		return err
	}
	return c.complete(ctx, e, n, n, nil)
}

// toPeer sets the destination of a message.
func (c *connection) toPeer(wr *verbs.SendWR) {
	wr.Opcode, wr.Imm = verbs.WRSendImm, uint32(c.qp.QPN())
	wr.AH, wr.RemoteQPN, wr.RemoteQKey = c.peer.AH, c.peer.QPN, c.peer.QKey
}
