package nic

import (
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/qp"
)

// endlessSends is a source into which a program puts the same request again as soon as it is
// fetched. The shard's lock guards it.
type endlessSends struct {
	wr      qp.SendWR
	fetched int
	open    bool
}

func (s *endlessSends) Fetch(wr *qp.SendWR) qp.FetchStatus {
	if !s.open {
		return qp.FetchNone
	}
	s.fetched++
	*wr = s.wr
	return qp.FetchGot
}

func (s *endlessSends) Retire(int) {}
func (s *endlessSends) Reset()     {}

// start moves q of e through all states up to the given one, connected to a queue pair of the
// same type at addrB.
func (e *end) start(q *QP, to qp.State) {
	e.t.Helper()
	for _, st := range []qp.State{qp.INIT, qp.RTR, qp.RTS} {
		needs, _, _ := qp.Requirements(q.Type(), st-1, st)
		a := qp.Attr{
			State: st, Port: 1, QKey: testQKey, PathMTU: 1024, DestQPN: 77, MaxDestRdAtomic: 1,
			MinRNRTimer: 12, Timeout: 14,
			MaxRdAtomic: 1, AV: qp.AddressVector{DGID: qp.GIDFromAddr(addrB)},
		}
		if err := q.Modify(&a, needs|qp.AttrState); err != nil {
			e.t.Fatal(err)
		}
		if st == to {
			return
		}
	}
}

// Requests that need no frame.
func oversize(e *end) qp.SendWR {
	return qp.SendWR{Opcode: qp.WRSend, SGList: e.sge(0, 5000), AH: e.ah(0, addrB), RemoteQPN: 77, RemoteQKey: testQKey}
}

func emptyBind(e *end) qp.SendWR {
	e.t.Helper()
	w, err := e.dev.AllocWindow(e.pd, mr.WindowType1)
	if err != nil {
		e.t.Fatal(err)
	}
	return qp.SendWR{Opcode: qp.WRBindMW, Bind: &mr.Bind{Key: w.RKey(), NewKey: w.RKey()}}
}

func unknownOpcode(*end) qp.SendWR { return qp.SendWR{Opcode: 99, Flags: qp.Signaled} }

// A program fills its source as fast as it is emptied, with requests that need no frame: they are
// executed, or flushed, in turns, like frames that are sent.
func TestASourceThatIsFilledWithoutEndIsServedInTurns(t *testing.T) {
	for name, c := range map[string]struct {
		typ      qp.Type
		request  func(e *end) qp.SendWR
		from, to qp.State
	}{
		"datagrams longer than the path MTU":       {qp.UD, oversize, qp.RTS, qp.RTS},
		"datagrams in SQE":                         {qp.UD, unknownOpcode, qp.RTS, qp.SQE},
		"datagrams in ERR":                         {qp.UD, oversize, qp.RTS, qp.ERR},
		"binds on a reliable connection":           {qp.RC, emptyBind, qp.RTS, qp.RTS},
		"a reliable connection in ERR":             {qp.RC, emptyBind, qp.RTS, qp.ERR},
		"a reliable connection in ERR from INIT":   {qp.RC, emptyBind, qp.INIT, qp.ERR},
		"binds on an unreliable connection":        {qp.UC, emptyBind, qp.RTS, qp.RTS},
		"an unreliable connection in SQE":          {qp.UC, unknownOpcode, qp.RTS, qp.SQE},
		"an unreliable connection in ERR":          {qp.UC, emptyBind, qp.RTS, qp.ERR},
		"an unreliable connection in ERR from RTR": {qp.UC, emptyBind, qp.RTR, qp.ERR},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEnd(t, 1, openLink(t, pipe.NewNet(), addrA), 1<<16)
				defer closeAll(t, e)
				sends := &endlessSends{wr: c.request(e)}
				cq, err := e.dev.CreateCQ(1 << 16) // has space for all flushed requests
				if err != nil {
					t.Fatal(err)
				}
				q, err := e.dev.CreateQP(QPInit{
					Type: c.typ, PD: e.pd, SendCQ: cq, RecvCQ: e.cq, Sends: sends,
					Cap: qp.Cap{MaxSendWR: 1 << 18, MaxRecvWR: 1, MaxSendSGE: 1, MaxRecvSGE: 1},
				})
				if err != nil {
					t.Fatal(err)
				}
				e.start(q, c.from)
				if c.to == qp.ERR {
					if err := q.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState); err != nil {
						t.Fatal(err)
					}
				}
				s := q.shard
				s.lock()
				sends.open = true
				s.markReady(q)
				s.flush(s.dev.now())
				sends.open = false
				fetched, state, waits := sends.fetched, q.attr.State(), q.list != nil
				s.unlock()
				if most := 2*flushBytes/chargePerRequest + fetchedDepth; fetched < fetchedDepth || fetched > most {
					t.Errorf("%d requests were fetched while the lock was held, want up to %d", fetched, most)
				}
				if state != c.to || !waits {
					t.Errorf("the state is %v, want %v; it waits for a turn: %v", state, c.to, waits)
				}
				synctest.Wait()
				s.lock()
				defer s.unlock()
				if q.list != nil {
					t.Error("its source is empty, and it still waits for a turn")
				}
			})
		})
	}
}

// All requests in a source when its doorbell rings are executed or flushed, even if the send
// queue is smaller.
func TestOneDoorbellIsEnoughForALongSource(t *testing.T) {
	const requests = 5 * fetchedDepth / 2
	for name, c := range map[string]struct {
		typ      qp.Type
		from, to qp.State
		want     qp.WCStatus
	}{
		"datagrams":                                {qp.UD, qp.RTS, qp.RTS, qp.WCSuccess},
		"datagrams in ERR":                         {qp.UD, qp.RTS, qp.ERR, qp.WCWRFlushErr},
		"a reliable connection in ERR":             {qp.RC, qp.RTS, qp.ERR, qp.WCWRFlushErr},
		"a reliable connection in ERR from INIT":   {qp.RC, qp.INIT, qp.ERR, qp.WCWRFlushErr},
		"an unreliable connection":                 {qp.UC, qp.RTS, qp.RTS, qp.WCSuccess},
		"an unreliable connection in ERR from RTR": {qp.UC, qp.RTR, qp.ERR, qp.WCWRFlushErr},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEnd(t, 1, openLink(t, pipe.NewNet(), addrA), 1<<16)
				defer closeAll(t, e)
				sends := newSendRing(requests)
				size := qp.Cap{MaxSendWR: requests, MaxRecvWR: 1, MaxSendSGE: 1, MaxRecvSGE: 1}
				q, err := e.dev.CreateQP(QPInit{Type: c.typ, PD: e.pd, SendCQ: e.cq, RecvCQ: e.cq,
					Sends: sends, Cap: size})
				if err != nil {
					t.Fatal(err)
				}
				if _, got := q.Query(); got != size {
					t.Errorf("the sizes are %+v, want %+v", got, size)
				}
				e.start(q, c.from)
				if c.to == qp.ERR {
					if err := q.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState); err != nil {
						t.Fatal(err)
					}
				}
				wr := qp.SendWR{Opcode: qp.WRSend, Flags: qp.Signaled, SGList: e.sge(0, 64), RemoteQPN: 77,
					RemoteQKey: testQKey}
				if c.typ == qp.UD {
					wr.AH = e.ah(0, addrB)
				}
				for wr.ID = range uint64(requests) {
					sends.put(wr)
				}
				if err := q.Doorbell(); err != nil {
					t.Fatal(err)
				}
				for i, wc := range e.wait(requests) {
					if wc.WRID != uint64(i) || wc.Status != c.want {
						t.Fatalf("completion %d is of request %d: %v, want %v", i, wc.WRID, wc.Status, c.want)
					}
				}
				if sends.freed() != requests {
					t.Errorf("%d places are free, want %d", sends.freed(), requests)
				}
			})
		})
	}
}
