package rings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

func TestWhatIsTaken(t *testing.T) {
	bad := qp.RecvWQE{ID: 42, SG: []qp.Segment{{Length: 1}}, Length: 1}
	for name, c := range map[string]struct {
		fill func([]byte)
		want qp.RecvWQE
	}{
		"no piece": {recv(42), qp.RecvWQE{ID: 42}},
		"two pieces": {recv(42, qp.SGE{Addr: 1 << 40, Length: 2, LKey: 3}, qp.SGE{Addr: 4, Length: 5, LKey: 6}),
			qp.RecvWQE{ID: 42, SG: []qp.Segment{{Addr: 1 << 40, Length: 2, LKey: 3},
				{Addr: 4, Length: 5, LKey: 6}}, Length: 7}},
		"a length that is not that of its pieces": {func(e []byte) {
			recv(42, qp.SGE{Length: 5})(e)
			host.PutUint32(e[16:], 1<<31)
		}, qp.RecvWQE{ID: 42, SG: []qp.Segment{{Length: 5}}, Length: 5}},
		"the longest": {recv(42, qp.SGE{Length: 1 << 31}),
			qp.RecvWQE{ID: 42, SG: []qp.Segment{{Length: 1 << 31}}, Length: 1 << 31}},
		"too long": {recv(42, qp.SGE{Length: 1 << 31}, qp.SGE{Length: 1}), bad},
		"too many pieces": {func(e []byte) {
			recv(42)(e)
			host.PutUint32(e[28:], 3)
		}, bad},
		"pieces without end": {func(e []byte) {
			recv(42)(e)
			host.PutUint32(e[28:], 1<<32-1)
		}, bad},
	} {
		r, p := newRecvRing(t, 3, rings.RecvConfig{MaxSGE: 2})
		p.post(c.fill)
		p.post(recv(43))
		got := qp.RecvWQE{SG: make([]qp.Segment, 5), Length: 77}
		if !r.Take(&got) {
			t.Errorf("%s: nothing is taken", name)
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(mr.Region{})); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		if p.consumer() != 1 {
			t.Errorf("%s: its slot is not free", name)
		}
		if !r.Take(&got) || got.ID != 43 || r.Take(&got) {
			t.Errorf("%s: the next is %d", name, got.ID)
		}
	}
}

// An invalid receive completes in error, because the key of its SGE is invalid.
func TestAReceiveThatIsNotValidNamesNoMemory(t *testing.T) {
	r, p := newRecvRing(t, 3, rings.RecvConfig{})
	p.post(recv(1, qp.SGE{Length: 4}))
	var w qp.RecvWQE
	keys := mr.NewTable([32]byte{}, 0)
	if !r.Take(&w) || len(w.SG) != 1 || w.SG[0].Length == 0 || keys.Lookup(w.SG[0].LKey) != nil {
		t.Errorf("it is %+v", w)
	}
}

func TestRecvRingIsASource(t *testing.T) {
	pd := &mr.PD{}
	for _, shared := range []bool{false, true} {
		r, p := newRecvRing(t, 3, rings.RecvConfig{PD: pd, Shared: shared})
		var s qp.RecvSource = r
		for id := range uint64(3) {
			p.post(recv(id))
		}
		if s.PD() != pd || s.Shared() != shared || s.Len() != 3 || s.Depth() != 3 {
			t.Errorf("shared %v, %d of %d", s.Shared(), s.Len(), s.Depth())
		}
		s.Reset()
		if s.Len() != 0 || p.consumer() != 3 || s.Take(&qp.RecvWQE{}) {
			t.Errorf("after a reset %d are left, consumer %d", s.Len(), p.consumer())
		}
	}
}

type events int

func (e *events) Event(t qp.EventType) {
	if t == qp.EventSRQLimitReached {
		*e++
	}
}

func TestLimitEventComesOnce(t *testing.T) {
	var raised events
	r, p := newRecvRing(t, 7, rings.RecvConfig{Shared: true, Events: &raised})
	take := func(want events) {
		t.Helper()
		if !r.Take(&qp.RecvWQE{}) || raised != want {
			t.Fatalf("%d events, want %d; %d are left", raised, want, r.Len())
		}
	}
	for id := range uint64(5) {
		p.post(recv(id))
	}
	take(0)
	if err := r.Modify(qp.SRQAttr{Limit: 3}, qp.SRQLimit); err != nil || r.Query() != (qp.SRQAttr{MaxWR: 7, Limit: 3}) {
		t.Fatal(err, r.Query())
	}
	take(0)
	take(1)
	take(1)
	if q := r.Query(); q.Limit != 0 {
		t.Fatalf("%+v", q)
	}
	if err := r.Modify(qp.SRQAttr{Limit: 7}, qp.SRQLimit); err != nil {
		t.Fatal(err)
	}
	take(2)
}

func TestModifySRQ(t *testing.T) {
	var p program
	r, p0 := newRecvRing(t, 7, rings.RecvConfig{MaxSGE: 1, Shared: true, NewBuffer: buffers(&p)})
	p = p0
	var w qp.RecvWQE
	for id := range uint64(7) {
		p.post(recv(id, qp.SGE{Addr: id}))
	}
	r.Take(&w)
	r.Take(&w)
	for says, err := range map[string]error{
		"MaxWR 0":             r.Modify(qp.SRQAttr{}, qp.SRQMaxWR),
		"depth 1048577":       r.Modify(qp.SRQAttr{MaxWR: 1<<20 + 1}, qp.SRQMaxWR),
		"too small for the 5": r.Modify(qp.SRQAttr{MaxWR: 3}, qp.SRQMaxWR),
		"limit -1":            r.Modify(qp.SRQAttr{Limit: -1}, qp.SRQLimit),
		"limit 8":             r.Modify(qp.SRQAttr{Limit: 8}, qp.SRQLimit),
		"limit 16":            r.Modify(qp.SRQAttr{Limit: 16, MaxWR: 8}, qp.SRQLimit|qp.SRQMaxWR),
		"attributes 0x4":      r.Modify(qp.SRQAttr{}, 4),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want %q", err, says)
		}
	}
	if err := r.Modify(qp.SRQAttr{MaxWR: 8, Limit: 12}, qp.SRQMaxWR|qp.SRQLimit); err != nil {
		t.Fatal(err)
	}
	if r.Query() != (qp.SRQAttr{MaxWR: 15, MaxSGE: 1, Limit: 12}) || p.producer() != 5 || p.consumer() != 0 ||
		r.Len() != 5 {
		t.Fatalf("%+v, producer %d, %d receives", r.Query(), p.producer(), r.Len())
	}
	for id := uint64(7); p.post(recv(id, qp.SGE{Addr: id})); id++ {
	}
	for id := uint64(2); id < 2+15; id++ {
		if !r.Take(&w) || w.ID != id || w.SG[0].Addr != id {
			t.Fatalf("taken is %+v, want %d", w, id)
		}
	}
	if r.Take(&w) {
		t.Error("one more is taken")
	}
	own, _ := newRecvRing(t, 7, rings.RecvConfig{})
	if err := own.Modify(qp.SRQAttr{}, qp.SRQLimit); err == nil {
		t.Error("the queue of one queue pair is modified as an SRQ")
	}
}
