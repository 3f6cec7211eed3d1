package transport

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"pgregory.net/rapid"
)

// srqModel is several queue pairs, reliable and unreliable, that take receives from one SRQ while
// their peers send messages, complete, partial or wrong, and while they fail and reconnect.
type srqModel struct {
	keys  *mr.Table
	pd    *mr.PD
	lkey  uint32
	srq   *qp.SRQ
	users []*srqUser
	batch *packet.Batch

	next   uint64            // number of the next receive to post
	posted []uint64          // receives in the SRQ, oldest first
	ended  map[uint64]string // how each finished receive ended
	fired  int
}

// srqUser is one queue pair. It is its own event sink and completion queue.
type srqUser struct {
	m       *srqModel
	qp      *qp.QP
	machine scripted
	core    *core
	psn     bth.PSN // next PSN of the peer
	inside  bool    // the peer is in the middle of a message
	last    int     // QP_LAST_WQE_REACHED since RESET
}

func (u *srqUser) Event(e qp.EventType) {
	if e == qp.EventQPLastWQEReached {
		u.last++
	}
}

func (u *srqUser) Complete(wc *qp.WC) { u.m.end(wc.WRID, wc.Status.Name()) }

func (m *srqModel) Event(qp.EventType) { m.fired++ }

func (m *srqModel) end(id uint64, how string) {
	if was := m.ended[id]; was != "" {
		how = "twice: " + was + ", " + how
	}
	m.ended[id] = how
}

func newSRQModel() *srqModel {
	m := &srqModel{pd: &mr.PD{}, keys: mr.NewTable([32]byte{1}, 4), batch: packet.NewBatch(64),
		ended: map[uint64]string{}}
	r, err := m.keys.Register(m.pd, mr.Bytes(make([]byte, 4096)), 0, 4096, mr.LocalWrite)
	if err != nil {
		panic(err)
	}
	m.lkey = r.LKey()
	m.srq = qp.NewSRQ(m.pd, 8, 2)
	m.srq.Events = m
	for i := range 4 {
		u := &srqUser{m: m}
		// Its own domain has no memory: receives use the domain of the SRQ.
		u.qp = &qp.QP{Num: bth.QPN(16 + i), Type: qp.RC, PD: &mr.PD{}, Recv: m.srq, SQ: qp.NewSendQueue(1, 1, true),
			SendCQ: u, RecvCQ: u, Events: u}
		if i%2 == 0 {
			c := NewRC(u.qp, m.keys, nil)
			u.machine, u.core = c, &c.core
		} else {
			u.qp.Type = qp.UC
			c := NewUC(u.qp, m.keys)
			u.machine, u.core = c, &c.core
		}
		u.connect()
		m.users = append(m.users, u)
	}
	return m
}

// connect takes the queue pair from RESET to RTS.
func (u *srqUser) connect() {
	u.psn, u.inside, u.last = 100, false, 0
	for st := qp.RESET; st <= qp.RTS; st++ {
		u.qp.Attr = qp.Attr{State: st, PathMTU: 256, DestQPN: 7, RQPSN: u.psn, SQPSN: u.psn, MinRNRTimer: 1}
		u.machine.Modified(1)
	}
}

// deliver delivers one packet of a SEND.
func (u *srqUser) deliver(op bth.Opcode, n int) {
	if u.qp.Type == qp.UC {
		op = ucOpcode(op)
	}
	p := bth.Packet{Opcode: op, PKey: 0xffff, PSN: u.psn, Payload: make([]byte, n)}
	if v := u.machine.Receive(1, &p); v == Accepted || u.qp.Type == qp.UC {
		u.psn = u.psn.Add(1)
	}
	u.machine.Transmit(1, nil, u.m.batch, 64)
	u.m.batch.Reset()
}

// act calls f and checks that the limit event is raised exactly when it is due, and that the
// receive taken from the SRQ is the oldest.
func (m *srqModel) act(t *rapid.T, f func()) {
	before, limit, fired := m.srq.Len(), m.srq.Query().Limit, m.fired
	f()
	after := m.srq.Len()
	due := 0
	if after < before && after < limit {
		due = 1
	}
	if m.fired-fired != due {
		t.Fatalf("from %d to %d receives with limit %d: %d events, want %d", before, after, limit, m.fired-fired, due)
	}
	if due == 1 && m.srq.Query().Limit != 0 {
		t.Fatal("the limit is still armed after its event")
	}
	if before-after > 1 {
		t.Fatalf("one packet took %d receives", before-after)
	}
	if after < before {
		m.posted = m.posted[1:]
	}
}

func TestReceivesOfASharedQueueCompleteExactlyOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newSRQModel()
		pick := func(t *rapid.T) *srqUser { return rapid.SampledFrom(m.users).Draw(t, "qp") }
		t.Repeat(map[string]func(*rapid.T){
			"post": func(t *rapid.T) {
				wr := qp.RecvWR{ID: m.next, SGList: []qp.SGE{{Length: 300, LKey: m.lkey}}}
				if rapid.IntRange(0, 9).Draw(t, "bad key") == 0 {
					wr.SGList[0].LKey++
				}
				if full := len(m.posted) == m.srq.Query().MaxWR; (m.srq.Push(&wr) != nil) != full {
					t.Fatalf("%d of %d receives are in the queue, and the post was taken: %v", len(m.posted),
						m.srq.Query().MaxWR, full)
				} else if !full {
					m.posted = append(m.posted, m.next)
					m.next++
				}
			},
			"modify": func(t *rapid.T) {
				a := qp.SRQAttr{MaxWR: rapid.IntRange(0, 20).Draw(t, "max"),
					Limit: rapid.IntRange(-1, 20).Draw(t, "limit")}
				mask := qp.SRQAttrMask(rapid.IntRange(0, 3).Draw(t, "mask"))
				want := m.srq.Query()
				if mask&qp.SRQMaxWR != 0 {
					want.MaxWR = a.MaxWR
				}
				if mask&qp.SRQLimit != 0 {
					want.Limit = a.Limit
				}
				good := want.MaxWR >= max(1, len(m.posted)) && want.Limit >= 0 && want.Limit <= want.MaxWR
				was := m.srq.Query()
				if err := m.srq.Modify(a, mask); (err == nil) != good {
					t.Fatalf("from %+v to %+v with %d receives: %v", was, want, len(m.posted), err)
				}
				if !good {
					want = was
				}
				if got := m.srq.Query(); got != want {
					t.Fatalf("is %+v, want %+v", got, want)
				}
			},
			"message": func(t *rapid.T) {
				u := pick(t)
				m.act(t, func() {
					if u.inside {
						u.deliver(bth.RCSendLast, rapid.SampledFrom([]int{1, 44, 45, 256}).Draw(t, "n"))
					} else {
						u.deliver(bth.RCSendOnly, rapid.IntRange(0, 256).Draw(t, "n"))
					}
				})
				u.inside = false
			},
			"first": func(t *rapid.T) {
				u := pick(t)
				m.act(t, func() { u.deliver(bth.RCSendFirst, 256) })
				u.inside = true
			},
			"gap": func(t *rapid.T) {
				u := pick(t)
				u.psn = u.psn.Add(1)
				m.act(t, func() { u.deliver(bth.RCSendOnly, 1) })
				u.inside = false
				if u.qp.Type == qp.RC {
					u.psn = u.psn.Sub(1)
				}
			},
			"error": func(t *rapid.T) {
				u := pick(t)
				m.act(t, func() {
					if err := u.qp.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState); err != nil {
						t.Fatal(err)
					}
					u.machine.Modified(1)
				})
			},
			"again": func(t *rapid.T) {
				u := pick(t)
				if u.core.hasRecv {
					m.end(u.core.recv.ID, "RESET")
				}
				m.act(t, u.connect)
			},
			"": func(t *rapid.T) { m.check(t) },
		})
	})
}

// check checks that every receive is where it must be: in the SRQ, held by one queue pair, or
// completed once.
func (m *srqModel) check(t *rapid.T) {
	where := map[uint64]string{}
	for _, id := range m.posted {
		where[id] = "queued"
	}
	for i, u := range m.users {
		if u.core.hasRecv {
			if was := where[u.core.recv.ID]; was != "" {
				t.Fatalf("queue pair %d holds receive %d, which is %s", i, u.core.recv.ID, was)
			}
			where[u.core.recv.ID] = "held"
			if u.qp.State() == qp.ERR {
				t.Fatalf("queue pair %d is in ERR and holds a receive", i)
			}
		}
		want := 0
		if u.qp.State() == qp.ERR {
			want = 1
		}
		if u.last != want {
			t.Fatalf("queue pair %d in %v told %d times that the last receive was reached, want %d", i, u.qp.State(),
				u.last, want)
		}
	}
	if m.srq.Len() != len(m.posted) {
		t.Fatalf("%d receives are in the SRQ, want %d", m.srq.Len(), len(m.posted))
	}
	for id, how := range m.ended {
		if was := where[id]; was != "" || len(how) > 5 && how[:5] == "twice" {
			t.Fatalf("receive %d ended %s and is %s", id, how, was)
		}
		where[id] = how
	}
	for id := range m.next {
		if where[id] == "" {
			t.Fatalf("receive %d is nowhere", id)
		}
	}
}
