package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

func runUD(t *testing.T, all []scenario) {
	t.Helper()
	for _, s := range all {
		t.Run(s.rule, func(t *testing.T) { newScriptOf(t, qp.UD, s.adjust).run(s.script) })
	}
}

func TestDatagramsAreSent(t *testing.T) {
	runUD(t, []scenario{
		{"each message is one packet to the receiver its request names; PSNs count packets", nil, `
			post send id=1 len=256 se
			> UD_SEND_ONLY psn=100 len=256 se to=0x22 qkey=0x55 by=0
			wc 1 SUCCESS SEND
			post sendimm id=2 len=3 imm=7 to=0x33 qkey=0x66
			> UD_SEND_ONLY_WITH_IMMEDIATE psn=101 len=3 imm=7 to=0x33 qkey=0x66 by=0
			wc 2 SUCCESS SEND
			post send id=3 len=0 silent
			> UD_SEND_ONLY psn=102 len=0 to=0x22 qkey=0x55 by=0`},
		{"a Q_Key whose highest bit is set stands for the queue pair's own", nil, `
			post send id=1 len=4 qkey=0x80000000
			> UD_SEND_ONLY psn=100 len=4 to=0x22 qkey=0x55 by=0
			wc 1 SUCCESS SEND
			post send id=2 len=4 qkey=0x7fffffff
			> UD_SEND_ONLY psn=101 len=4 to=0x22 qkey=0x7fffffff by=0
			wc 2 SUCCESS SEND`},
		{"a message over the path MTU completes with success and emits nothing (C10-93.1.1)", nil, `
			post send id=1 len=257
			wc 1 SUCCESS SEND
			post send id=2 len=256
			> UD_SEND_ONLY psn=101 len=256 to=0x22 qkey=0x55 by=0
			wc 2 SUCCESS SEND`},
		{"the path MTU is that of the link the message leaves by", nil, `
			post send id=1 len=512 by=1
			> UD_SEND_ONLY psn=100 len=512 to=0x22 qkey=0x55 by=1
			wc 1 SUCCESS SEND`},
		{"a write cannot be sent, and takes only the send queue with it (SQE)", nil, `
			recv id=7 len=100
			post write id=1 len=4
			wc 1 LOC_QP_OP_ERR
			state SQE
			post send id=2 len=4
			wc 2 WR_FLUSH_ERR
			< UD_SEND_ONLY psn=5 len=4
			wc 7 SUCCESS RECV len=44 from=0x22
			modify RTS
			post send id=3 len=4
			> UD_SEND_ONLY psn=100 len=4 to=0x22 qkey=0x55 by=0
			wc 3 SUCCESS SEND`},
		{"in SQD nothing begins; RTS goes on where it stood", nil, `
			post send id=1 len=4
			> UD_SEND_ONLY psn=100 len=4 to=0x22 qkey=0x55 by=0
			wc 1 SUCCESS SEND
			modify SQD
			post send id=2 len=4
			modify RTS
			> UD_SEND_ONLY psn=101 len=4 to=0x22 qkey=0x55 by=0
			wc 2 SUCCESS SEND`},
		{"a bad local key is a send error", nil, `
			post send id=1 len=4 badkey
			wc 1 LOC_PROT_ERR
			state SQE`},
		{"a request without a way cannot be sent", nil, `
			post send id=1 len=4 noah
			wc 1 LOC_QP_OP_ERR
			state SQE`},
		{"in SQD nothing is started, and the queue is drained at once", nil, `
			modify SQD notify
			event SQ_DRAINED
			post send id=1 len=4
			modify RTS
			> UD_SEND_ONLY psn=100 len=4 to=0x22 qkey=0x55 by=0
			wc 1 SUCCESS SEND`},
		{"ERR flushes both queues and all that is posted later", nil, `
			recv id=1 len=100
			modify SQD
			post send id=2 len=4
			modify ERR
			wc 2 WR_FLUSH_ERR
			wc 1 WR_FLUSH_ERR
			post send id=3 len=4
			wc 3 WR_FLUSH_ERR
			recv id=4 len=4
			wc 4 WR_FLUSH_ERR
			< UD_SEND_ONLY psn=5 len=4
			verdict wrong_state`},
		{"RESET forgets both queues", nil, `
			recv id=1 len=100
			modify SQD
			post send id=2 len=4
			modify RESET
			state RESET`},
	})
}

func TestDatagramsAreReceived(t *testing.T) {
	runUD(t, []scenario{
		{"40 bytes of network header come before the payload, PSNs do not matter", nil, `
			recv id=1 len=1000
			recv id=2 len=40
			< UD_SEND_ONLY psn=7777 len=10 se from=0x99
			wc 1 SUCCESS RECV len=50 se from=0x99
			< UD_SEND_ONLY_WITH_IMMEDIATE psn=3 len=0 imm=5
			wc 2 SUCCESS RECV len=40 imm=5 from=0x22
			verdict accepted`},
		{"another Q_Key is dropped, and costs no receive", nil, `
			recv id=1 len=1000
			< UD_SEND_ONLY psn=1 len=10 qkey=0x56
			verdict bad_q_key
			< UD_SEND_ONLY psn=1 len=10
			wc 1 SUCCESS RECV len=50 from=0x22`},
		{"without a receive a datagram is dropped", nil, `
			< UD_SEND_ONLY psn=1 len=10
			verdict no_receive
			state RTS`},
		{"a datagram longer than its receive is dropped; the receive serves the next, as on rxe", nil, `
			recv id=1 len=49
			recv id=2 len=39
			< UD_SEND_ONLY psn=1 len=10
			verdict too_long
			< UD_SEND_ONLY psn=2 len=9
			wc 1 SUCCESS RECV len=49 from=0x22
			< UD_SEND_ONLY psn=3 len=0
			verdict too_long
			state RTS`},
		{"a receive of an SRQ that is too small completes with an error, as on rxe", nil, `
			srq depth=8
			recv id=1 len=49
			recv id=2 len=50
			< UD_SEND_ONLY psn=1 len=10
			verdict too_long
			wc 1 REM_INV_REQ_ERR
			< UD_SEND_ONLY psn=2 len=10
			wc 2 SUCCESS RECV len=50 from=0x22
			state RTS`},
		{"a receive whose memory is gone fails the queue pair", nil, `
			recv id=1 len=100
			recv id=2 len=100
			dereg rw
			< UD_SEND_ONLY psn=1 len=10
			verdict local_error
			wc 1 LOC_PROT_ERR
			wc 2 WR_FLUSH_ERR
			state ERR`},
		{"packets of other services are not for a UD queue pair", nil, `
			recv id=1 len=100
			< SEND_ONLY psn=100 len=10
			verdict wrong_service
			< UC_SEND_ONLY psn=100 len=10
			verdict wrong_service
			< ACKNOWLEDGE psn=100
			verdict wrong_service`},
	})
}

func TestGeneralServicesInterface(t *testing.T) {
	newScriptOf(t, qp.GSI, nil).run(`
		recv id=1 len=296
		post send id=2 len=256 to=1 qkey=0x1234
		> UD_SEND_ONLY psn=100 len=256 to=0x1 qkey=0x80010000 by=0
		wc 2 SUCCESS SEND
		< UD_SEND_ONLY psn=1 len=256
		verdict bad_q_key
		< UD_SEND_ONLY psn=1 len=256 qkey=0x80010000 from=1
		wc 1 SUCCESS RECV len=296 from=0x1`)
}

// A failure waits until earlier requests are complete: completions keep the order of the queue.
func TestDatagramFailureKeepsTheOrderOfCompletions(t *testing.T) {
	s := newScriptOf(t, qp.UD, nil)
	for _, post := range [][]string{{"send", "id=1", "len=4"}, {"send", "id=2", "len=4", "badkey"},
		{"send", "id=3", "len=4"}} {
		s.post(post)
	}
	s.transmit()
	s.run(`
		> UD_SEND_ONLY psn=100 len=4 to=0x22 qkey=0x55 by=0
		wc 1 SUCCESS SEND
		wc 2 LOC_PROT_ERR
		wc 3 WR_FLUSH_ERR
		state SQE`)
}

// One call of Transmit sends over one link, because each batch belongs to a link.
func TestDatagramsOfOneBurstLeaveByOneLink(t *testing.T) {
	s := newScriptOf(t, qp.UD, nil)
	for _, post := range [][]string{{"send", "id=1", "by=1"}, {"send", "id=2", "by=1"}, {"send", "id=3"}} {
		s.post(post)
	}
	ud := s.rc.(*UD)
	for _, want := range []struct{ link, frames int }{{1, 2}, {0, 1}} {
		link, ok := ud.Link()
		ud.Transmit(s.now, nil, s.batch, 64)
		if !ok || link != want.link || s.batch.Len() != want.frames {
			t.Errorf("Link = %d, %v and %d frames, want %+v", link, ok, s.batch.Len(), want)
		}
		s.batch.Reset()
		if more := ud.Sent(s.now); more != (want.link == 1) {
			t.Errorf("after link %d more is %v", want.link, more)
		}
	}
	if _, ok := ud.Link(); ok {
		t.Error("there is nothing to send, but Link names one")
	}
}
