package pingpong

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/verbs"
)

// Work request IDs of a pingpong.
const (
	pingpongRecv = 1
	pingpongSend = 2
)

// postReceives fills the receive queue.
func (e *end) postReceives() error {
	wr := &verbs.RecvWR{ID: pingpongRecv, SGList: []verbs.SGE{e.recvMR.SGE(0, len(e.recv))}}
	for ; e.posted < e.params.rxDepth; e.posted++ {
		if err := e.qp.PostRecv(wr); err != nil {
			return err
		}
	}
	return nil
}

// post sends message iter. The previous send is complete, so the buffer is not in use.
func (e *end) post(iter int) error {
	if e.params.chk {
		fillPattern(e.send[e.params.header():], e.Role, iter)
	}
	e.haveSent = true
	return e.qp.PostSend(&verbs.SendWR{
		ID: pingpongSend, Opcode: verbs.WRSend, Flags: verbs.Signaled,
		SGList: []verbs.SGE{e.sendMR.SGE(e.params.header(), e.params.size)},
		AH:     e.ah, RemoteQPN: verbs.QPN(e.remote.QPN), RemoteQKey: session.QKey,
	})
}

// standing returns the progress of the traffic.
func (e *end) standing() session.Snapshot {
	s := session.Snapshot{Progress: e.progress.Load()}
	s.Add(e.qp)
	return s
}

// traffic sends and receives all messages and prints the result. The client starts. Each end
// sends its next message when its last one is complete and the peer's has arrived.
func (e *end) traffic(ctx context.Context) error {
	p := e.params
	start := time.Now()
	sent, received, posted := 0, 0, 0
	if e.Role == exchange.Client {
		if err := e.post(0); err != nil {
			return err
		}
		posted++
	}
	wc := make([]verbs.WC, 2)
	for sent < p.iters || received < p.iters {
		n, err := e.cq.Next(ctx, wc)
		if err != nil {
			return err
		}
		e.progress.Add(uint64(n))
		for i := range wc[:n] {
			if e.partedWell(&wc[i], sent, received) {
				fmt.Fprintln(e.out, partedNote)
				sent++
				break
			}
			if wc[i].Status != verbs.WCSuccess {
				return &session.CompletionError{
					WC: wc[i], Done: fmt.Sprintf("%d of %d messages", min(sent, received), p.iters), Device: e.Device,
					Peer: e.remote.GID,
				}
			}
			if wc[i].WRID == pingpongSend {
				sent++
				continue
			}
			if err := e.take(&wc[i], received); err != nil {
				return err
			}
			received++
		}
		answer := e.Role == exchange.Server && received > posted || e.Role == exchange.Client && received == posted
		if answer && sent == posted && posted < p.iters {
			if err := e.post(posted); err != nil {
				return err
			}
			posted++
		}
	}
	e.params.report(e.out, time.Since(start))
	if p.chk {
		fmt.Fprintf(e.out, "all bytes of %d received messages are correct\n", p.iters)
	}
	session.Linger(ctx, e.qp)
	return nil
}

// partedNote is printed if the peer left before its last acknowledgement arrived.
const partedNote = "the peer left before its acknowledgement of the last message arrived"

// partedWell reports whether wc is the last send, unacknowledged, after everything else succeeded.
// The stock tool leaves as soon as it has all messages and all acknowledgements; if the last
// acknowledgement that it sent is lost, it does not repeat it. A peer that lacks the last message
// stays and receives the retransmission.
func (e *end) partedWell(wc *verbs.WC, sent, received int) bool {
	return wc.WRID == pingpongSend && wc.Status == verbs.WCRetryExcErr && received == e.params.iters &&
		sent == e.params.iters-1
}

// take processes the received message iter.
func (e *end) take(wc *verbs.WC, iter int) error {
	head := e.params.header()
	if n := int(wc.ByteLen) - head; n != e.params.size {
		return fmt.Errorf("message %d has %d bytes, want %d: give both ends the same -s", iter, n, e.params.size)
	}
	if e.params.chk {
		var echo []byte
		if e.haveSent {
			echo = e.send[head:]
		}
		if err := e.checker.check(e.recv[head:], echo, iter); err != nil {
			return err
		}
	}
	if e.posted--; e.posted <= 1 {
		return e.postReceives()
	}
	return nil
}

// report prints what the tools print at the end.
func (p *params) report(w io.Writer, d time.Duration) {
	usec := float64(max(d, 1)) / float64(time.Microsecond)
	bytes := 2 * int64(p.size) * int64(p.iters)
	fmt.Fprintf(w, "%d bytes in %.2f seconds = %.2f Mbit/sec\n", bytes, d.Seconds(), float64(bytes)*8/usec)
	fmt.Fprintf(w, "%d iters in %.2f seconds = %.2f usec/iter\n", p.iters, d.Seconds(), usec/float64(p.iters))
}
