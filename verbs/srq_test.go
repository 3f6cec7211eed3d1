package verbs_test

import (
	"errors"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

func TestSRQSizesAreThoseOfTheDevice(t *testing.T) {
	d := verbstest.OpenPipe(t, 1500, "192.0.2.1")
	attr := d.Attr()
	pd := d.AllocPD()
	for _, c := range []struct {
		init verbs.SRQInitAttr
		word string // of the error, "" if there is none
	}{
		{verbs.SRQInitAttr{MaxWR: attr.MaxSRQWR, MaxSGE: attr.MaxSRQSGE, Limit: attr.MaxSRQWR}, ""},
		{verbs.SRQInitAttr{MaxWR: 1}, ""},
		{verbs.SRQInitAttr{MaxWR: 0}, "MaxWR is 0: it must be 1 to 1048576"},
		{verbs.SRQInitAttr{MaxWR: attr.MaxSRQWR + 1}, "MaxWR is 1048577"},
		{verbs.SRQInitAttr{MaxWR: 1, MaxSGE: 28}, "MaxSGE is 28: it must be 0 to 27"},
		{verbs.SRQInitAttr{MaxWR: 1, MaxSGE: -1}, "MaxSGE is -1"},
		{verbs.SRQInitAttr{MaxWR: 4, Limit: 5}, "limit 5 is out of range: it must be 0 to 4"},
	} {
		s, err := pd.CreateSRQ(c.init)
		if c.word != "" {
			verbstest.MustMention(t, err, c.word, "shared receive queue")
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", c.init, err)
			continue
		}
		if got := verbs.SRQInitAttr(s.Query()); got != c.init {
			t.Errorf("made %+v, want %+v", got, c.init)
		}
	}
	if attr.MaxSRQ != 1<<20-1 || attr.MaxSRQWR != 1<<20 || attr.MaxSRQSGE != 27 {
		t.Errorf("the device says %d, %d, %d", attr.MaxSRQ, attr.MaxSRQWR, attr.MaxSRQSGE)
	}
}

func TestQueuePairTakesNoSRQOfAnotherDevice(t *testing.T) {
	a, b := verbstest.OpenPipe(t, 1500, "192.0.2.1"), verbstest.OpenPipe(t, 1500, "192.0.2.1")
	s, err := b.AllocPD().CreateSRQ(verbs.SRQInitAttr{MaxWR: 1})
	if err != nil {
		t.Fatal(err)
	}
	cq, err := a.CreateCQ(1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.AllocPD().CreateQP(verbs.QPInitAttr{SendCQ: cq, SRQ: s})
	verbstest.MustMention(t, err, "shared receive queue is on another device")
}

func TestPostToAQueuePairWithAnSRQIsRefused(t *testing.T) {
	d := verbstest.OpenPipe(t, 1500, "192.0.2.1")
	pd := d.AllocPD()
	s, err := pd.CreateSRQ(verbs.SRQInitAttr{MaxWR: 1})
	if err != nil {
		t.Fatal(err)
	}
	cq, err := d.CreateCQ(1)
	if err != nil {
		t.Fatal(err)
	}
	q, err := pd.CreateQP(verbs.QPInitAttr{SendCQ: cq, SRQ: s, Cap: verbstest.Cap})
	if err != nil {
		t.Fatal(err)
	}
	if _, cap := q.Query(); cap.MaxRecvWR != 0 || cap.MaxRecvSGE != 0 || cap.MaxSendWR != verbstest.Cap.MaxSendWR {
		t.Errorf("sizes %+v", cap)
	}
	verbstest.MustMention(t, q.PostRecv(&verbs.RecvWR{}), "shared receive queue; post them there")
	verbstest.MustMention(t, s.Close(), "close its queue pairs first")
	var e *verbs.PostError
	if err := s.PostRecv(&verbs.RecvWR{}, &verbs.RecvWR{}); !errors.As(err, &e) || e.Index != 1 {
		t.Errorf("the second post to an SRQ of one: %v", err)
	}
	if err := errors.Join(q.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}
