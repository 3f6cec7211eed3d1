package qp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// sink counts events by type.
type sink map[qp.EventType]int

func (s sink) Event(e qp.EventType) { s[e]++ }

func pushRecvs(t *testing.T, s *qp.SRQ, ids ...uint64) {
	t.Helper()
	for _, id := range ids {
		if err := s.Push(&qp.RecvWR{ID: id, SGList: []qp.SGE{{Length: uint32(id)}}}); err != nil {
			t.Fatal(err)
		}
	}
}

func takeRecvs(t *testing.T, s *qp.SRQ, ids ...uint64) {
	t.Helper()
	for _, id := range ids {
		var w qp.RecvWQE
		if !s.Take(&w) || w.ID != id || w.Length != id || len(w.SG) != 1 {
			t.Fatalf("took %+v, want receive %d", w, id)
		}
	}
}

func TestSRQResizeKeepsWhatItHolds(t *testing.T) {
	s := qp.NewSRQ(&mr.PD{}, 20, 2)
	var all []uint64
	for id := range uint64(20) {
		all = append(all, id)
	}
	pushRecvs(t, s, all...)
	takeRecvs(t, s, all[:17]...)
	for _, n := range []int{3, 4, 1000, qp.MaxDepth, 3} {
		if err := s.Modify(qp.SRQAttr{MaxWR: n}, qp.SRQMaxWR); err != nil {
			t.Fatalf("to %d with 3 receives: %v", n, err)
		}
	}
	err := s.Push(&qp.RecvWR{})
	if !errors.Is(err, qp.ErrQueueFull) ||
		!strings.Contains(err.Error(), "shared receive queue is full: all 3 requests") {
		t.Errorf("post to the full queue: %v", err)
	}
	if err := s.Modify(qp.SRQAttr{MaxWR: 4}, qp.SRQMaxWR); err != nil {
		t.Fatal(err)
	}
	pushRecvs(t, s, 20)
	if err := s.Push(&qp.RecvWR{}); err == nil || !strings.Contains(err.Error(), "all 4 requests") {
		t.Errorf("post to the queue that is full after a resize: %v", err)
	}
	takeRecvs(t, s, append(all[17:], 20)...)
	if s.Take(&qp.RecvWQE{}) {
		t.Error("took one receive too many")
	}
}

func TestSRQModifyRefusesAndLeavesAllAsItWas(t *testing.T) {
	for _, c := range []struct {
		rule string
		attr qp.SRQAttr
		mask qp.SRQAttrMask
		want string
	}{
		{"below what it holds", qp.SRQAttr{MaxWR: 4}, qp.SRQMaxWR, "MaxWR 4 is less than the 5 receives in the queue"},
		{"to nothing", qp.SRQAttr{MaxWR: 0}, qp.SRQMaxWR, "MaxWR 0 is out of range: it must be 1 to 1048576"},
		{"beyond all measure", qp.SRQAttr{MaxWR: 1<<20 + 1}, qp.SRQMaxWR, "MaxWR 1048577 is out of range"},
		{"below the armed limit", qp.SRQAttr{MaxWR: 6}, qp.SRQMaxWR, "limit 7 is out of range: it must be 0 to 6"},
		{"limit above the size", qp.SRQAttr{Limit: 9}, qp.SRQLimit, "limit 9 is out of range: it must be 0 to 8"},
		{"negative limit", qp.SRQAttr{Limit: -1}, qp.SRQLimit, "limit -1 is out of range"},
		{"a good size with a bad limit", qp.SRQAttr{MaxWR: 10, Limit: 11}, qp.SRQMaxWR | qp.SRQLimit, "limit 11"},
		{"unknown attribute", qp.SRQAttr{}, 4, "unknown attributes 0x4"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := qp.NewSRQ(&mr.PD{}, 8, 2)
			pushRecvs(t, s, 1, 2, 3, 4, 5)
			if err := s.Modify(qp.SRQAttr{Limit: 7}, qp.SRQLimit); err != nil {
				t.Fatal(err)
			}
			before := s.Query()
			err := s.Modify(c.attr, c.mask)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if diff := cmp.Diff(before, s.Query()); diff != "" {
				t.Errorf("a refused Modify changed: %s", diff)
			}
		})
	}
}

func TestSRQLimitFiresOnceAndDisarms(t *testing.T) {
	events := sink{}
	s := qp.NewSRQ(&mr.PD{}, 8, 1)
	s.Events = events
	arm := func(limit int) {
		t.Helper()
		if err := s.Modify(qp.SRQAttr{Limit: limit}, qp.SRQLimit); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(n int, when string) {
		t.Helper()
		if events[qp.EventSRQLimitReached] != n || len(events) > 1 {
			t.Fatalf("%s: events %v, want %d", when, events, n)
		}
	}
	pushRecvs(t, s, 1, 2, 3, 4, 5, 6)
	takeRecvs(t, s, 1)
	expect(0, "not armed")
	arm(4)
	takeRecvs(t, s, 2)
	expect(0, "as many left as the limit")
	takeRecvs(t, s, 3)
	expect(1, "one fewer")
	takeRecvs(t, s, 4)
	expect(1, "disarmed")
	arm(8)
	expect(1, "armed above what is there")
	takeRecvs(t, s, 5)
	expect(2, "the next take")
	arm(1)
	arm(0)
	takeRecvs(t, s, 6)
	expect(2, "disarmed by hand")
	if q := s.Query(); q != (qp.SRQAttr{MaxWR: 8, MaxSGE: 1}) {
		t.Errorf("attributes %+v", q)
	}
}

func TestQueuePairWithAnSRQTakesNoReceivesItself(t *testing.T) {
	q := &qp.QP{Type: qp.RC, PD: &mr.PD{ID: 1}, Recv: qp.NewSRQ(&mr.PD{ID: 2}, 2, 1), Attr: qp.Attr{State: qp.RTS}}
	if err := q.CheckPostRecv(); !errors.Is(err, qp.ErrBadWR) {
		t.Errorf("post to the queue pair: %v", err)
	}
	if q.Recv.PD().ID != 2 {
		t.Error("its receives are not in the domain of the SRQ")
	}
	pushRecvs(t, q.Recv.(*qp.SRQ), 7)
	var w qp.RecvWQE
	if !q.Recv.Take(&w) || w.ID != 7 || q.Recv.Take(&w) {
		t.Errorf("took %+v", w)
	}
}

func TestQueuePairTakesReceivesFromItsOwnQueue(t *testing.T) {
	q := &qp.QP{Type: qp.RC, PD: &mr.PD{ID: 1}, Recv: qp.NewRecvQueue(&mr.PD{ID: 1}, 2, 1),
		Attr: qp.Attr{State: qp.RTS}}
	if err := q.Recv.(*qp.RecvQueue).Push(&qp.RecvWR{ID: 7}); err != nil {
		t.Fatal(err)
	}
	var w qp.RecvWQE
	if !q.Recv.Take(&w) || w.ID != 7 || q.Recv.Take(&w) {
		t.Errorf("took %+v", w)
	}
}

func TestEventsReachTheSinkIfThereIsOne(t *testing.T) {
	q := &qp.QP{}
	q.Raise(qp.EventCommEst)
	got := sink{}
	q.Events = got
	if q.Raise(qp.EventCommEst); got[qp.EventCommEst] != 1 {
		t.Errorf("events %v", got)
	}
}

// Numbers and texts are those of rdma-core's verbs.h and enum_strs.c.
func TestEventTypesAreThoseOfVerbs(t *testing.T) {
	names := strings.Fields(`CQ_ERR QP_FATAL QP_REQ_ERR QP_ACCESS_ERR COMM_EST SQ_DRAINED PATH_MIG PATH_MIG_ERR
		DEVICE_FATAL PORT_ACTIVE PORT_ERR LID_CHANGE PKEY_CHANGE SM_CHANGE SRQ_ERR SRQ_LIMIT_REACHED
		QP_LAST_WQE_REACHED CLIENT_REREGISTER GID_CHANGE EVENT(19)`)
	for i, name := range names {
		if got := qp.EventType(i).Name(); got != name {
			t.Errorf("event %d is %s, want %s", i, got, name)
		}
	}
	for e, text := range map[qp.EventType]string{
		qp.EventCQErr: "CQ error", qp.EventQPFatal: "local work queue catastrophic error",
		qp.EventQPLastWQEReached: "last WQE reached", qp.EventGIDChange: "GID table change", 19: "unknown",
	} {
		if e.String() != text {
			t.Errorf("%s is %q, want %q", e.Name(), e, text)
		}
	}
}
