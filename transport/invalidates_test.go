package transport

import (
	"fmt"
	"strings"
	"testing"
)

// Only a packet that invalidates a key may keep other queue pairs from looking keys up.
func TestInvalidatesOnlyForInvalidatingPacket(t *testing.T) {
	const fast = `
		post reg id=9 key=fast va=0x400000 n=64
		wc 9 SUCCESS REG_MR
		`
	const receive = "recv id=1 len=4\n"
	const lost = "< SEND_ONLY_WITH_INVALIDATE psn=101 len=4 inv=%\n> ACKNOWLEDGE psn=100 syn=seq msn=0\n"
	kept := func(key string) string { return strings.Replace(lost, "%", key, 1) }
	for _, c := range []struct {
		name, before, packet string
		want                 bool
	}{
		{"a fast region", fast + receive, "SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=fast", true},
		{"a window bound here", bound + receive, "SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=w2", true},
		{"the last packet of a SEND", fast + "recv id=1 len=260\n< SEND_FIRST psn=100 len=256\n",
			"SEND_LAST_WITH_INVALIDATE psn=101 len=4 inv=fast", true},
		{"no receive", fast, "SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=fast", false},
		{"a fast region that is not registered", receive, "SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=fast", false},
		{"a window that is not bound", receive, "SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=w2", false},
		{"a window bound on another queue pair", "qpn 0x12 bind w2\n" + receive,
			"SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=w2", false},
		{"an ordinary region", receive, "SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=rw", false},
		{"a last packet without a first", fast + receive, "SEND_LAST_WITH_INVALIDATE psn=100 len=4 inv=fast", false},
		{"a SEND", fast + receive, "SEND_ONLY psn=100 len=4", false},
		{"a packet that comes early", fast + receive, "SEND_ONLY_WITH_INVALIDATE psn=101 len=4 inv=fast", false},
		{"a packet that comes again", fast + receive, "SEND_ONLY_WITH_INVALIDATE psn=99 len=4 inv=fast", false},
		{"a state that receives nothing", fast + receive + "modify ERR\nwc 1 WR_FLUSH_ERR\n",
			"SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=fast", false},
		{"a state that receives nothing, with receives in an SRQ",
			"srq depth=2\n" + fast + receive + "modify ERR\nevent QP_LAST_WQE_REACHED\n",
			"SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=fast", false},
		{"an error NAK that has yet to leave",
			fast + receive + "<+ RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=0x77\n",
			"SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=fast", false},
		{"what is kept behind the packet", fast + kept("fast"), "RDMA_WRITE_ONLY psn=100 len=0", true},
		{"what is kept behind a READ",
			fast + "< SEND_ONLY_WITH_INVALIDATE psn=102 len=4 inv=fast\n> ACKNOWLEDGE psn=100 syn=seq msn=0\n",
			"RDMA_READ_REQUEST psn=100 va=0x10000 dma=300 rkey=rw", true},
		{"what is kept behind another gap",
			fast + "< SEND_ONLY_WITH_INVALIDATE psn=102 len=4 inv=fast\n> ACKNOWLEDGE psn=100 syn=seq msn=0\n",
			"RDMA_WRITE_ONLY psn=100 len=0", false},
		{"what is kept behind a gap when packets behind another were executed", fast + `
			< RDMA_WRITE_ONLY psn=101 len=0
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=102 len=0
			< SEND_ONLY_WITH_INVALIDATE psn=104 len=4 inv=fast
			< RDMA_WRITE_ONLY psn=100 len=0
			> ACKNOWLEDGE psn=103 syn=seq msn=3
			`, "RDMA_WRITE_ONLY psn=103 len=0", true},
		{"what is kept with a key of nothing", kept("fast"), "RDMA_WRITE_ONLY psn=100 len=0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t, nil)
			s.run(c.before)
			if got := s.rc.(*RC).Invalidates(s.parse(strings.Fields(c.packet))); got != c.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// Receive does not take a receive that another process posts between Invalidates and Receive.
func TestReceiveInvalidatesOnlyAnnouncedKeys(t *testing.T) {
	s := newScript(t, nil)
	s.run(bound)
	p := s.parse(strings.Fields("SEND_ONLY_WITH_INVALIDATE psn=100 len=4 inv=w2"))
	if s.rc.(*RC).Invalidates(p) {
		t.Fatal("it is announced without a receive")
	}
	s.recv(fields([]string{"id=1", "len=4"}))
	if v := s.rc.Receive(s.now, p); v != NoReceive || s.keys.Lookup(s.windows["w2"].RKey()) == nil {
		t.Errorf("the verdict is %v", v)
	}
	if v := s.rc.Receive(s.now, p); v != Accepted {
		t.Errorf("when it comes again, the verdict is %v", v)
	}
}

// A FLUSH without a free resource is not executed, so no packet kept behind it invalidates a key.
func TestInvalidatesStopsAtFlushWithoutResource(t *testing.T) {
	for waiting := range flushSlots + 1 { // responses still to be sent
		for kept := range 3 { // FLUSHes between the arriving one and the SEND
			s := newScript(t, flushable)
			s.run("post reg id=9 key=fast va=0x400000 n=64\nwc 9 SUCCESS REG_MR\nrecv id=1 len=4\n")
			psn := 100
			flush := func(psn int) string {
				return fmt.Sprintf("FLUSH psn=%d rkey=bindable type=1 level=1", psn)
			}
			for range waiting {
				s.run("<+ " + flush(psn) + "\n")
				psn++
			}
			for i := range kept {
				s.run("<+ " + flush(psn+1+i) + "\n")
			}
			s.run(fmt.Sprintf("<+ SEND_ONLY_WITH_INVALIDATE psn=%d len=4 inv=fast\n", psn+1+kept))
			c, p := s.rc.(*RC), s.parse(strings.Fields(flush(psn)))
			got := c.Invalidates(p)
			c.Receive(s.now, p)
			done := c.qp.Recv.Len() == 0
			if want := waiting+1+kept <= flushSlots; got != want || done != want {
				t.Errorf("%d answers wait and %d FLUSHes are kept: announced %v, done %v", waiting, kept, got, done)
			}
		}
	}
}
