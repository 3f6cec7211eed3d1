package qp_test

import (
	"errors"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

func TestPushCopiesWhatARequestAsksOfTheKeyTable(t *testing.T) {
	q := qp.NewSendQueue(4, 1, false)
	wr := qp.SendWR{Opcode: qp.WRBindMW, Bind: &mr.Bind{Key: 1, Length: 2}}
	if err := q.Push(&wr); err != nil {
		t.Fatal(err)
	}
	wr.Bind.Key = 9
	if got := q.At(q.Head()).Local.Bind; got != (mr.Bind{Key: 1, Length: 2}) {
		t.Errorf("bind is %+v", got)
	}
	reg := qp.SendWR{Opcode: qp.WRRegMR, Reg: &mr.FastReg{Key: 3, IOVA: 4}}
	flush := qp.SendWR{Opcode: qp.WRFlush, Flush: qp.Flush{Length: 5, Type: qp.FlushToPersistent}}
	if err := errors.Join(q.Push(&reg), q.Push(&flush)); err != nil {
		t.Fatal(err)
	}
	if got := q.At(q.Head() + 1).Local.Reg; got != (mr.FastReg{Key: 3, IOVA: 4}) {
		t.Errorf("registration is %+v", got)
	}
	if got := q.At(q.Head() + 2).Flush; got != flush.Flush {
		t.Errorf("flush is %+v", got)
	}
	if n := testing.AllocsPerRun(100, func() {
		q.Pop()
		if q.Push(&wr) != nil {
			t.Fatal("no room")
		}
	}); n != 0 {
		t.Errorf("a slot that was used before allocates %v times", n)
	}
}

func TestAtomicWriteComesInlineOnAnyQueue(t *testing.T) {
	q := qp.NewSendQueue(4, 1, false)
	if err := q.Push(&qp.SendWR{Opcode: qp.WRAtomicWrite, Flags: qp.Inline,
		InlineData: []byte("8 bytes!")}); err != nil {
		t.Error(err)
	}
	if got := q.At(q.Head()); string(got.Inline) != "8 bytes!" || got.Length != 8 {
		t.Errorf("the queue has %q", got.Inline)
	}
	if err := q.Push(&qp.SendWR{Opcode: qp.WRSend, Flags: qp.Inline, InlineData: []byte("8 bytes!")}); !errors.Is(err,
		qp.ErrTooLarge) {
		t.Errorf("another request of 8 bytes: %v", err)
	}
}

func TestFlushTypesNeedTheRightOfTheSameName(t *testing.T) {
	for typ, want := range map[qp.FlushType]mr.Access{
		qp.FlushToGlobal: mr.FlushGlobal, qp.FlushToPersistent: mr.FlushPersistent,
		qp.FlushToGlobal | qp.FlushToPersistent: mr.FlushGlobal | mr.FlushPersistent,
	} {
		if got := typ.Access(); got != want || !typ.Valid() {
			t.Errorf("type %d needs %v, want %v", typ, got, want)
		}
	}
}
