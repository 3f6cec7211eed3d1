package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// The work requests of a UC complete when the batch with their packets was sent, and not before.

func ucWith(t *testing.T, posts ...[]string) (*script, *UC) {
	t.Helper()
	s := newScriptOf(t, qp.UC, nil)
	for _, p := range posts {
		s.post(p)
	}
	return s, s.rc.(*UC)
}

func TestOneBurstOfUCTakesAllThatIsQueued(t *testing.T) {
	s, _ := ucWith(t, []string{"send", "id=1", "len=600"},
		[]string{"bind", "id=2", "key=w2", "to=bindable", "va=0x300000", "n=64"},
		[]string{"reg", "id=3", "key=fast", "va=0x400000", "n=64"}, []string{"send", "id=4", "len=1"})
	s.run(`
		send 64 done
		> UC_SEND_FIRST psn=100 len=256
		> UC_SEND_MIDDLE psn=101 len=256
		> UC_SEND_LAST psn=102 len=88
		> UC_SEND_ONLY psn=103 len=1
		wc 1 SUCCESS SEND
		wc 2 SUCCESS BIND_MW
		wc 3 SUCCESS REG_MR
		wc 4 SUCCESS SEND`)
}

func TestUCGoesOnInSQDWithWhatItStarted(t *testing.T) {
	s, uc := ucWith(t, []string{"send", "id=1", "len=600"}, []string{"send", "id=2", "len=1"})
	uc.Transmit(s.now, nil, s.batch, 1)
	s.batch.Reset()
	s.run(`
		modify+ SQD notify
		send 1 more
		> UC_SEND_MIDDLE psn=101 len=256
		send 64 done
		> UC_SEND_LAST psn=102 len=88
		wc 1 SUCCESS SEND
		event SQ_DRAINED
		modify RTS
		> UC_SEND_ONLY psn=103 len=1
		wc 2 SUCCESS SEND`)
}

func TestUCInvalidatesWhenAllBeforeHasLeft(t *testing.T) {
	s, uc := ucWith(t, []string{"bind", "id=1", "key=w2", "to=bindable", "va=0x300000", "n=64"})
	s.run(`
		send 64
		wc 1 SUCCESS BIND_MW
		key w2 open`)
	s.post([]string{"send", "id=2", "len=1"})
	s.post([]string{"inv", "id=3", "key=w2"})
	uc.Transmit(s.now, nil, s.batch, 64)
	if s.batch.Len() != 1 || s.keys.Lookup(s.windows["w2"].RKey()) == nil {
		t.Errorf("%d packets, and the key is shut before they left", s.batch.Len())
	}
	s.batch.Reset()
	if !uc.Sent(s.now) {
		t.Error("nothing more to do when the packet has left")
	}
	s.run(`
		wc 2 SUCCESS SEND
		send 64 done
		wc 3 SUCCESS LOCAL_INV
		key w2 shut`)
}

func TestUCIsNotDrainedBeforeItsWorkIsComplete(t *testing.T) {
	for _, post := range [][]string{{"send", "id=1", "len=1"},
		{"bind", "id=1", "key=w2", "to=bindable", "va=0x300000", "n=64"}} {
		s, uc := ucWith(t, post)
		uc.Transmit(s.now, nil, s.batch, 64)
		s.batch.Reset()
		s.modify("SQD notify")
		if len(s.got) > 0 {
			t.Errorf("%s: too early: %v", post[0], s.got)
		}
		if uc.Sent(s.now); len(s.got) != 2 || s.got[1] != "event SQ_DRAINED" {
			t.Errorf("%s: %v", post[0], s.got)
		}
	}
}

func TestUCFailsWhatCannotBeSentInItsTurn(t *testing.T) {
	s, _ := ucWith(t, []string{"send", "id=1", "len=1"}, []string{"send", "id=2", "len=1", "badkey"},
		[]string{"send", "id=3", "len=1"})
	s.transmit()
	s.run(`
		> UC_SEND_ONLY psn=100 len=1
		wc 1 SUCCESS SEND
		wc 2 LOC_PROT_ERR
		wc 3 WR_FLUSH_ERR
		state SQE`)
}

func TestMemoryThatGoesAwayUnderAMessageOfUCFailsIt(t *testing.T) {
	s, uc := ucWith(t, []string{"send", "id=1", "len=600"})
	uc.Transmit(s.now, nil, s.batch, 1)
	s.batch.Reset()
	s.run(`
		dereg rw
		wc 1 LOC_PROT_ERR
		state SQE`)
}
