package qp_test

import (
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// fixedSource has only these requests.
type fixedSource struct {
	wrs     []qp.SendWR
	retired int
}

func (s *fixedSource) Fetch(wr *qp.SendWR) qp.FetchStatus {
	if len(s.wrs) == 0 {
		return qp.FetchNone
	}
	*wr, s.wrs = s.wrs[0], s.wrs[1:]
	return qp.FetchGot
}

func (s *fixedSource) Retire(n int) { s.retired += n }

func (s *fixedSource) Reset() { s.wrs = nil }

func TestWhatIsFetched(t *testing.T) {
	write := qp.SendWR{ID: 1, Opcode: qp.WRWrite, SGList: []qp.SGE{{Length: 10}}}
	longest, tooLong := write, write
	longest.SGList = []qp.SGE{{Length: qp.MaxMessage}}
	tooLong.SGList = []qp.SGE{{Length: qp.MaxMessage}, {Length: 1}}
	pieces := write
	pieces.SGList = []qp.SGE{{Length: qp.MaxMessage}, {}, {}}
	local := qp.SendWR{ID: 1, Opcode: qp.WRLocalInv}
	atomic := qp.SendWR{ID: 1, Opcode: qp.WRFetchAdd, SGList: []qp.SGE{{Length: 4}}}
	for name, c := range map[string]struct {
		wrs   []qp.SendWR
		state qp.State
		n     int
		local bool
		last  qp.WCStatus // result of the last fetched request
	}{
		"nothing":                    {nil, qp.RTS, 0, false, 0},
		"a request":                  {[]qp.SendWR{write}, qp.RTS, 1, false, 0},
		"as many as there is room":   {[]qp.SendWR{write, write, write, write}, qp.RTS, 3, false, 0},
		"one that changes keys":      {[]qp.SendWR{write, local, write}, qp.RTS, 3, true, 0},
		"the longest message":        {[]qp.SendWR{longest}, qp.RTS, 1, false, 0},
		"a message that is too long": {[]qp.SendWR{write, tooLong}, qp.RTS, 2, false, qp.WCLocLenErr},
		"too many pieces":            {[]qp.SendWR{pieces}, qp.RTS, 1, false, qp.WCLocQPOpErr},
		"an atomic of four bytes":    {[]qp.SendWR{atomic}, qp.RTS, 1, false, qp.WCLocQPOpErr},
		"in RTR nothing":             {[]qp.SendWR{write}, qp.RTR, 0, false, 0},
		"in SQD, to be sent later":   {[]qp.SendWR{write}, qp.SQD, 1, false, 0},
		"in ERR, to be flushed":      {[]qp.SendWR{write}, qp.ERR, 1, false, 0},
	} {
		q := &qp.QP{Type: qp.RC, PD: &mr.PD{}, SQ: qp.NewSendQueue(3, 2, false), Attr: qp.Attr{State: c.state}}
		if n, _ := q.Fetch(); n != 0 {
			t.Errorf("%s: %d are fetched without a source", name, n)
		}
		source := &fixedSource{wrs: c.wrs}
		q.SQ.SetSource(source)
		n, changes := q.Fetch()
		if n != c.n || q.SQ.Len() != n || changes != c.local {
			t.Errorf("%s: %d are fetched, %d are queued, keys change: %v", name, n, q.SQ.Len(), changes)
			continue
		}
		if n > 0 && q.SQ.At(q.SQ.Tail()-1).FailStatus != c.last {
			t.Errorf("%s: it fails with %v", name, q.SQ.At(q.SQ.Tail()-1).FailStatus)
		}
		if q.SQ.Reset(); source.retired != n {
			t.Errorf("%s: after a reset %d places are free, want %d", name, source.retired, n)
		}
		if len(source.wrs) != 0 {
			t.Errorf("%s: after a reset %d requests wait in the source", name, len(source.wrs))
		}
	}
}

// The slot of a failed request can hold any other request afterwards.
func TestARefusedRequestLeavesNothing(t *testing.T) {
	q := &qp.QP{Type: qp.RC, PD: &mr.PD{}, SQ: qp.NewSendQueue(1, 2, false), Attr: qp.Attr{State: qp.RTS}}
	source := &fixedSource{wrs: []qp.SendWR{{ID: 1, Opcode: qp.WRFlush},
		{ID: 2, Opcode: qp.WRWrite, SGList: []qp.SGE{{Length: 3}}}}}
	q.SQ.SetSource(source)
	q.Fetch()
	q.SQ.Pop()
	q.Fetch()
	if w := q.SQ.At(q.SQ.Head()); w.ID != 2 || w.FailStatus != qp.WCSuccess || w.Opcode != qp.WRWrite || w.Length != 3 {
		t.Errorf("behind a request that was refused is %+v", w)
	}
}
