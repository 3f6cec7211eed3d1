package transport

import (
	"errors"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// foreignRing is a receive source that does not use the queues of package qp: a ring of fixed
// slots whose indices the program advances, as in memory shared with the device.
type foreignRing struct {
	slots              [4]qp.RecvWR
	producer, consumer uint32
	pd                 *mr.PD
}

func (r *foreignRing) Push(wr *qp.RecvWR) error {
	if r.producer-r.consumer == uint32(len(r.slots)) {
		return errors.New("the ring is full")
	}
	r.slots[r.producer%uint32(len(r.slots))] = *wr
	r.producer++
	return nil
}

func (r *foreignRing) Take(dst *qp.RecvWQE) bool {
	if r.producer == r.consumer {
		return false
	}
	wr := &r.slots[r.consumer%uint32(len(r.slots))]
	dst.ID, dst.SG, dst.Length = wr.ID, dst.SG[:0], 0
	for _, s := range wr.SGList {
		dst.SG = append(dst.SG, qp.Segment{Addr: s.Addr, Length: s.Length, LKey: s.LKey})
		dst.Length += uint64(s.Length)
	}
	r.consumer++
	return true
}

func (r *foreignRing) PD() *mr.PD   { return r.pd }
func (r *foreignRing) Shared() bool { return false }
func (r *foreignRing) Len() int     { return int(r.producer - r.consumer) }
func (r *foreignRing) Depth() int   { return len(r.slots) }
func (r *foreignRing) Reset()       { r.consumer = r.producer }

func TestReceivesFromASourceOfTheCaller(t *testing.T) {
	runRC(t, []scenario{
		{"messages take its receives in order, and an empty one is a receiver that is not ready", nil, `
			ring
			recv id=1 len=10
			recv id=2 len=1000
			< SEND_ONLY psn=100 len=4 ack
			wc 1 SUCCESS RECV len=4
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			< SEND_FIRST psn=101 len=256
			< SEND_LAST psn=102 len=4 ack
			wc 2 SUCCESS RECV len=260
			> ACKNOWLEDGE psn=102 syn=ack msn=2
			< SEND_ONLY psn=103 len=4 ack
			> ACKNOWLEDGE psn=103 syn=rnr12 msn=2
			recv-len 0`},
		{"its memory is checked as that of any receive", nil, `
			ring
			recv id=1 len=10 badkey
			< SEND_ONLY psn=100 len=4 ack
			wc 1 LOC_PROT_ERR
			> ACKNOWLEDGE psn=100 syn=op msn=0`},
		{"ERR flushes what is in it", nil, `
			ring
			recv id=1 len=10
			recv id=2 len=10
			modify ERR
			wc 1 WR_FLUSH_ERR
			wc 2 WR_FLUSH_ERR
			recv id=3 len=10
			wc 3 WR_FLUSH_ERR
			recv-len 0`},
		{"RESET empties it without a completion", nil, `
			ring
			recv id=1 len=10
			modify ERR
			wc 1 WR_FLUSH_ERR
			modify RESET
			recv-len 0`},
	})
}

// busyRing is a foreignRing whose program posts again whenever a receive is taken.
type busyRing struct{ foreignRing }

func (r *busyRing) Take(dst *qp.RecvWQE) bool {
	taken := r.foreignRing.Take(dst)
	return taken && r.Push(&qp.RecvWR{ID: dst.ID + 1}) == nil
}

func TestAFlushEndsThoughTheProgramGoesOnPosting(t *testing.T) {
	s := newScriptOf(t, qp.RC, nil)
	ring := &busyRing{foreignRing{pd: s.qp.PD}}
	s.qp.Recv = ring
	for id := range 3 {
		if err := ring.Push(&qp.RecvWR{ID: uint64(id)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.qp.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState); err != nil {
		t.Fatal(err)
	}
	s.rc.Modified(s.now)
	if ring.consumer != 3 || ring.Len() != 3 {
		t.Errorf("%d receives are flushed, want the 3 that were queued; %d wait", ring.consumer, ring.Len())
	}
}
