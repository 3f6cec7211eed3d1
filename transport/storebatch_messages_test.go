package transport

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// heldScript is a scenario with the region "far" (see vectoredAt600000), and the calls that store
// in it.
type heldScript struct {
	rule   string
	limit  uint64
	script string
	calls  []string
}

func runHeld(t *testing.T, service qp.Type, scripts []heldScript) {
	t.Helper()
	for _, c := range scripts {
		t.Run(c.rule, func(t *testing.T) {
			s := newScriptOf(t, service, nil)
			m := vectoredAt600000(t, s)
			m.limit = c.limit
			s.run(c.script)
			if !slices.Equal(m.calls, c.calls) {
				t.Errorf("the calls were %q, want %q", m.calls, c.calls)
			}
		})
	}
}

func TestSuccessiveMessagesAreStoredTogether(t *testing.T) {
	runHeld(t, qp.RC, []heldScript{
		{"WRITEs, each with its end last", 1024, `
			<+ RDMA_WRITE_ONLY psn=100 len=64 va=0x600000 dma=64 rkey=far ack
			<+ RDMA_WRITE_ONLY psn=101 len=8 va=0x600040 dma=8 rkey=far ack
			< RDMA_WRITE_ONLY psn=102 len=64 va=0x600100 dma=64 rkey=far ack
			> ACKNOWLEDGE psn=102 syn=ack msn=3`,
			[]string{"56 in 1 + 8 final + 8 final + 56 in 1 + 8 final"}},
		{"SENDs, which complete when they are stored", 1024, `
			recv id=1 len=64 lkey=far at=0x600000
			recv id=2 len=64 lkey=far at=0x600040
			recv id=3 len=64
			recv id=4 len=0
			<+ SEND_ONLY psn=100 len=64 ack
			<+ SEND_ONLY psn=101 len=64 ack
			verdict accepted
			<+ SEND_ONLY psn=102 len=64 ack
			wc 1 SUCCESS RECV len=64
			wc 2 SUCCESS RECV len=64
			wc 3 SUCCESS RECV len=64
			< SEND_ONLY psn=103 len=0 ack
			wc 4 SUCCESS RECV len=0
			> ACKNOWLEDGE psn=103 syn=ack msn=4`,
			[]string{"128 in 2"}},
		{"a message without data completes behind those that are held back", 1024, `
			recv id=1 len=64 lkey=far at=0x600000
			recv id=2 len=64
			<+ SEND_ONLY psn=100 len=64 ack
			<+ SEND_ONLY psn=101 len=0 ack
			verdict accepted
			< RDMA_WRITE_ONLY psn=102 len=0 va=0 dma=0 rkey=far ack
			wc 1 SUCCESS RECV len=64
			wc 2 SUCCESS RECV len=0
			> ACKNOWLEDGE psn=102 syn=ack msn=3`,
			[]string{"64 in 1"}},
		{"a WRITE with immediate data completes when what was written before is stored", 1024, `
			recv id=1 len=64
			<+ RDMA_WRITE_ONLY psn=100 len=4 va=0x600000 dma=4 rkey=far
			<+ RDMA_WRITE_ONLY_WITH_IMMEDIATE psn=101 len=4 va=0x600008 dma=4 rkey=far imm=5 ack
			verdict accepted
			< RDMA_WRITE_ONLY psn=102 len=4 va=0x600010 dma=4 rkey=far ack
			wc 1 SUCCESS RECV_RDMA_WITH_IMM len=4 imm=5
			> ACKNOWLEDGE psn=102 syn=ack msn=3`,
			[]string{"4 final + 4 final + 4 final"}},
		{"data of READs, which complete when they are stored, and what is complete behind them", 1024, `
			post read id=1 len=64 lkey=far at=0x600000
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=64 ack
			post read id=2 len=64 lkey=far at=0x600040
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=64 ack
			post bind id=3 key=w2 to=bindable va=0x300000 n=64
			<+ RDMA_READ_RESPONSE_ONLY psn=100 len=64 syn=ack msn=1
			< RDMA_READ_RESPONSE_ONLY psn=101 len=64 syn=ack msn=2
			wc 1 SUCCESS RDMA_READ
			wc 2 SUCCESS RDMA_READ
			wc 3 SUCCESS BIND_MW`,
			[]string{"128 in 2"}},
		{"the send queue is drained behind the completions that are held back", 1024, `
			post read id=1 len=64 lkey=far at=0x600000
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=64 ack
			modify SQD notify
			< RDMA_READ_RESPONSE_ONLY psn=100 len=64 syn=ack msn=1
			wc 1 SUCCESS RDMA_READ
			event SQ_DRAINED`,
			[]string{"64 in 1"}},
		{"an atomic sees what was written before", 1024, `
			<+ RDMA_WRITE_ONLY psn=100 len=8 va=0x600000 dma=8 rkey=far
			<+ FETCH_ADD psn=101 va=0x10000 rkey=rw add=1 ack
			verdict accepted
			< RDMA_WRITE_ONLY psn=102 len=8 va=0x600000 dma=8 rkey=far ack
			> ATOMIC_ACKNOWLEDGE psn=101 syn=ack msn=2 value=0
			> ACKNOWLEDGE psn=102 syn=ack msn=3`,
			[]string{"8 final", "8 final"}},
		{"a SEND with invalidate is stored before its key is taken away", 1024, bound + `
			recv id=1 len=64 lkey=far at=0x600000
			recv id=2 len=64 lkey=far at=0x600040
			<+ SEND_ONLY psn=100 len=64 ack
			<+ SEND_ONLY_WITH_INVALIDATE psn=101 len=64 inv=w2 ack
			wc 1 SUCCESS RECV len=64
			wc 2 SUCCESS RECV len=64 inv
			< RDMA_WRITE_ONLY psn=102 len=0 va=0 dma=0 rkey=far ack
			> ACKNOWLEDGE psn=102 syn=ack msn=3`,
			[]string{"128 in 2"}},
		{"what other memory gets is not seen before", 1024, `
			<+ RDMA_WRITE_ONLY psn=100 len=8 va=0x600000 dma=8 rkey=far
			< RDMA_WRITE_ONLY psn=101 len=8 va=0x10000 dma=8 rkey=rw ack
			> ACKNOWLEDGE psn=101 syn=ack msn=2`,
			[]string{"8 final"}},
	})
}

func TestAMessageThatIsNotStoredEndsThoseBehindIt(t *testing.T) {
	runHeld(t, qp.RC, []heldScript{
		{"SENDs", 64, `
			recv id=1 len=64 lkey=far at=0x600000
			recv id=2 len=64 lkey=far at=0x600040
			recv id=3 len=64 lkey=far at=0x600000
			recv id=4 len=300 lkey=far at=0x600000
			recv id=5 len=64
			<+ SEND_ONLY psn=100 len=64 ack
			<+ SEND_ONLY psn=101 len=64 ack
			<+ SEND_ONLY psn=102 len=64 ack
			verdict accepted
			< SEND_FIRST psn=103 len=256
			wc 1 SUCCESS RECV len=64
			wc 2 LOC_PROT_ERR
			wc 3 WR_FLUSH_ERR
			wc 4 WR_FLUSH_ERR
			wc 5 WR_FLUSH_ERR
			> ACKNOWLEDGE psn=101 syn=op msn=1
			state ERR`,
			[]string{"128 in 2 + 64 in 1 + 256 in 1"}},
		{"a WRITE before a SEND: an event tells", 64, `
			recv id=1 len=64
			<+ RDMA_WRITE_ONLY psn=100 len=8 va=0x600080 dma=8 rkey=far ack
			< SEND_ONLY psn=101 len=0 ack
			wc 1 WR_FLUSH_ERR
			event QP_FATAL
			> ACKNOWLEDGE psn=100 syn=op msn=0
			state ERR`,
			[]string{"8 final"}},
		{"READs", 64, `
			post read id=1 len=64 lkey=far at=0x600000
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=64 ack
			post read id=2 len=64 lkey=far at=0x600040 silent
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=64 ack
			post bind id=3 key=w2 to=bindable va=0x300000 n=64 silent
			post send id=4 len=1
			> SEND_ONLY psn=102 len=1 ack
			<+ RDMA_READ_RESPONSE_ONLY psn=100 len=64 syn=ack msn=1
			< RDMA_READ_RESPONSE_ONLY psn=101 len=64 syn=ack msn=2
			wc 1 SUCCESS RDMA_READ
			wc 2 LOC_PROT_ERR
			wc 3 WR_FLUSH_ERR
			wc 4 WR_FLUSH_ERR
			state ERR`,
			[]string{"128 in 2"}},
		{"an atomic behind it is not executed", 64, `
			<+ RDMA_WRITE_ONLY psn=100 len=8 va=0x600080 dma=8 rkey=far
			< FETCH_ADD psn=101 va=0x10000 rkey=rw add=1 ack
			verdict reply_pending
			event QP_FATAL
			> ACKNOWLEDGE psn=100 syn=op msn=0
			state ERR`,
			[]string{"8 final"}},
		{"what other memory would get behind it is not stored", 64, `
			<+ RDMA_WRITE_ONLY psn=100 len=8 va=0x600080 dma=8 rkey=far
			< RDMA_WRITE_ONLY psn=101 len=8 va=0x10000 dma=8 rkey=rw ack
			verdict operational_error
			event QP_FATAL
			> ACKNOWLEDGE psn=100 syn=op msn=0
			counts sent_error_naks=1
			state ERR`,
			[]string{"8 final"}},
	})
}

// A complete message is executed, however the next message ends.
func TestCompleteMessagesAreStoredBeforeAnError(t *testing.T) {
	runHeld(t, qp.RC, []heldScript{
		{"the next one is refused", 1024, `
			recv id=1 len=64 lkey=far at=0x600000
			recv id=2 len=4
			<+ SEND_ONLY psn=100 len=64 ack
			<+ RDMA_WRITE_FIRST psn=101 len=256 va=0x600000 dma=512 rkey=far
			< RDMA_WRITE_ONLY psn=102 len=64 va=0x600000 dma=64 rkey=far ack
			wc 1 SUCCESS RECV len=64
			verdict invalid_request
			event QP_REQ_ERR
			wc 2 WR_FLUSH_ERR
			> ACKNOWLEDGE psn=102 syn=inv msn=1
			state ERR`,
			[]string{"64 in 1"}},
		{"the program ends the queue pair", 1024, `
			recv id=1 len=64 lkey=far at=0x600000
			<+ SEND_ONLY psn=100 len=64 ack
			modify ERR
			wc 1 SUCCESS RECV len=64`,
			[]string{"64 in 1"}},
		{"a READ fails behind others", 1024, `
			post read id=1 len=64 lkey=far at=0x600000
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=64 ack
			post read id=2 len=64 lkey=far at=0x600040
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=64 ack
			<+ RDMA_READ_RESPONSE_ONLY psn=100 len=64 syn=ack msn=1
			< RDMA_READ_RESPONSE_ONLY psn=101 len=60 syn=ack msn=2
			wc 1 SUCCESS RDMA_READ
			wc 2 LOC_LEN_ERR
			state ERR`,
			[]string{"64 in 1"}},
		{"a READ fails in its middle behind others", 1024, `
			post read id=1 len=64 lkey=far at=0x600000
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=64 ack
			post read id=2 len=600 lkey=far at=0x600040
			> RDMA_READ_REQUEST psn=101 va=0x40000 dma=600 ack
			<+ RDMA_READ_RESPONSE_ONLY psn=100 len=64 syn=ack msn=1
			<+ RDMA_READ_RESPONSE_FIRST psn=101 len=256 syn=ack msn=2
			< RDMA_READ_RESPONSE_MIDDLE psn=102 len=60
			wc 1 SUCCESS RDMA_READ
			wc 2 LOC_LEN_ERR
			state ERR`,
			[]string{"64 in 1"}},
	})
}

func TestUnreliableMessagesAreStoredAtTheirEnd(t *testing.T) {
	runHeld(t, qp.UC, []heldScript{
		{"each on its own", 1024, `
			recv id=1 len=64 lkey=far at=0x600000
			recv id=2 len=64 lkey=far at=0x600040
			<+ UC_SEND_ONLY psn=100 len=64
			wc 1 SUCCESS RECV len=64
			<+ UC_SEND_ONLY psn=101 len=64
			wc 2 SUCCESS RECV len=64`,
			[]string{"64 in 1", "64 in 1"}},
	})
}

func TestASingleGatherStoresEachMessageAtItsEnd(t *testing.T) {
	s := newScript(t, nil)
	s.storeBatch.PerMessage = true
	m := vectoredAt600000(t, s)
	s.run(`
		recv id=1 len=64 lkey=far at=0x600000
		<+ SEND_ONLY psn=100 len=64
		wc 1 SUCCESS RECV len=64
		<+ RDMA_WRITE_ONLY psn=101 len=64 va=0x600000 dma=64 rkey=far
		post read id=2 len=300 lkey=far at=0x600000
		> RDMA_READ_REQUEST psn=100 va=0x40000 dma=300 ack
		<+ RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
		<+ RDMA_READ_RESPONSE_LAST psn=101 len=44 syn=ack msn=1
		wc 2 SUCCESS RDMA_READ`)
	if want := []string{"64 in 1", "56 in 1 + 8 final", "300 in 2"}; !slices.Equal(m.calls, want) {
		t.Errorf("the calls were %q, want %q", m.calls, want)
	}
}
