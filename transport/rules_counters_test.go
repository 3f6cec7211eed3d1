package transport

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// counts compares the counters with those of the step.
func (s *script) counts(rest string) {
	s.t.Helper()
	var got []string
	s.rc.Counters().Each(func(name string, n uint64) {
		if n > 0 && name != "sent_pkts" && name != "rcvd_pkts" {
			got = append(got, fmt.Sprintf("%s=%d", name, n))
		}
	})
	if l := strings.Join(got, " "); l != rest {
		s.fatalf("they are %s", l)
	}
}

func TestCountersTellWhatHappened(t *testing.T) {
	sendOne := `
			post send id=1 len=1
			> SEND_ONLY psn=100 len=1 ack
	`
	runScenarios(t, []scenario{
		{"in order there is nothing to count", nil, sendOne + `
			< ACKNOWLEDGE psn=100
			wc 1 SUCCESS SEND
			< RDMA_WRITE_ONLY psn=100 len=0 ack
			> ACKNOWLEDGE psn=100 syn=ack msn=1
			counts`},
		{"timeouts, what is sent again for them, and their end", retries(1), sendOne + `
			advance 67108864ns
			> SEND_ONLY psn=100 len=1 ack
			counts retransmitted_pkts=1 ack_timeouts=1
			advance 67108864ns
			wc 1 RETRY_EXC_ERR
			counts retransmitted_pkts=1 ack_timeouts=2 retry_exceeded_err=1`},
		{"implied NAKs", nil, readOne + `
			post send id=2 len=1
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			> RDMA_READ_REQUEST psn=100 va=0x40000 dma=1 ack
			> SEND_ONLY psn=101 len=1 ack
			< ACKNOWLEDGE psn=101
			counts retransmitted_pkts=2 implied_naks=1`},
		{"sequence NAKs taken", nil, sendOne + `
			< ACKNOWLEDGE psn=100 syn=seq
			> SEND_ONLY psn=100 len=1 ack
			< ACKNOWLEDGE psn=100 syn=seq
			counts retransmitted_pkts=1 rcvd_seq_err=2`},
		{"RNR NAKs taken, and their end", retries(0), sendOne + `
			< ACKNOWLEDGE psn=100 syn=rnr1
			wc 1 RNR_RETRY_EXC_ERR
			counts rcvd_rnr_err=1 retry_rnr_exceeded_err=1`},
		{"error NAKs taken", nil, sendOne + `
			< ACKNOWLEDGE psn=100 syn=acc
			wc 1 REM_ACCESS_ERR
			counts rcvd_error_naks=1`},
		{"gaps, one NAK for each, and duplicates", nil, `
			< RDMA_WRITE_ONLY psn=101 len=0
			> ACKNOWLEDGE psn=100 syn=seq msn=0
			< RDMA_WRITE_ONLY psn=102 len=0
			< RDMA_WRITE_ONLY psn=99 len=0
			> ACKNOWLEDGE psn=99 syn=ack msn=0
			counts sent_seq_err=1 duplicate_request=1 out_of_seq_request=2 early_kept=2`},
		{"RNR NAKs sent", nil, `
			< SEND_ONLY psn=100 len=1
			> ACKNOWLEDGE psn=100 syn=rnr12 msn=0
			counts send_rnr_err=1`},
		{"error NAKs sent", nil, `
			< RDMA_WRITE_ONLY psn=100 len=4 va=0x10000 dma=4 rkey=0x77
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=100 syn=acc msn=0
			counts sent_error_naks=1`},
		{"READs answered again", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			counts duplicate_request=1 replayed_reads=1`},
		{"READs that cannot be answered: their memory is gone", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			dereg rw
			event QP_ACCESS_ERR
			> ACKNOWLEDGE psn=100 syn=acc msn=1
			counts sent_error_naks=1`},
		{"READs that cannot be answered again", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			dereg rw
			> ACKNOWLEDGE psn=100 syn=acc msn=1
			counts sent_error_naks=1 duplicate_request=1 replayed_reads=1`},
	})
	runUC(t, []scenario{
		{"on UC what the first packet finds in order is no gap", nil, `
			< UC_RDMA_WRITE_ONLY psn=100 len=0
			verdict accepted
			counts`},
		{"on UC gaps", nil, `
			< UC_RDMA_WRITE_ONLY psn=101 len=0
			verdict accepted
			< UC_RDMA_WRITE_ONLY psn=102 len=0
			counts out_of_seq_request=1`},
	})
	runUD(t, []scenario{
		{"on UD wrong keys", nil, `
			< UD_SEND_ONLY psn=0 len=4 qkey=0x56
			counts qkey_viol_cntr=1`},
		{"on UD what is longer than the path takes", nil, `
			post send id=1 len=257
			wc 1 SUCCESS SEND
			counts oversize_datagrams=1`},
	})
}

func TestPacketsAreCounted(t *testing.T) {
	for _, typ := range []qp.Type{qp.RC, qp.UC, qp.UD} {
		t.Run(typ.String(), func(t *testing.T) {
			s := newScriptOf(t, typ, nil)
			s.post([]string{"send", "id=1", "len=4"})
			s.transmit()
			for range 3 {
				s.rc.Receive(s.now, s.parse([]string{"ACKNOWLEDGE", "psn=7"}))
			}
			if c := s.rc.Counters(); c.SentPackets != 1 || c.ReceivedPackets != 3 {
				t.Errorf("sent %d, received %d, not 1 and 3", c.SentPackets, c.ReceivedPackets)
			}
		})
	}
}

func TestCountersOfQueuePairsAddUp(t *testing.T) {
	var a, b Counters
	v := reflect.ValueOf(&a).Elem()
	for i := range v.NumField() {
		v.Field(i).SetUint(uint64(i + 1))
	}
	b.Add(&a)
	b.Add(&a)
	v = reflect.ValueOf(&b).Elem()
	names := map[string]bool{}
	i := uint64(0)
	b.Each(func(name string, n uint64) {
		i++
		if names[name] || n != 2*i {
			t.Errorf("%s is %d, not twice %d", name, n, i)
		}
		names[name] = true
	})
	if len(names) != v.NumField() {
		t.Errorf("%d counters have %d names", v.NumField(), len(names))
	}
}
