package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// reconnect takes the queue pair through RESET to RTS with the same attributes.
func (s *script) reconnect() {
	s.reconnectUpTo(qp.RTS)
}

// reconnectUpTo is reconnect that ends in an earlier state.
func (s *script) reconnectUpTo(last qp.State) {
	attr := s.qp.Attr
	for st := qp.RESET; st <= last; st++ {
		s.qp.Attr = attr
		s.qp.Attr.State = st
		s.rc.Modified(s.now)
	}
}

// The requester must not continue at a number that the send queue has left behind, or it sends
// requests that RESET has dropped.
func TestReconnectedQPSendsNothingOfBefore(t *testing.T) {
	s := newScript(t, nil)
	s.run(`
		post write id=1 len=10
		> RDMA_WRITE_ONLY psn=100 len=10 va=0x40000 dma=10 ack
		< ACKNOWLEDGE psn=100
		wc 1 SUCCESS RDMA_WRITE
		post send id=2 len=10
		> SEND_ONLY psn=101 len=10 ack`)
	s.reconnect()
	s.run(`
		advance 1ms
		post send id=3 len=20
		> SEND_ONLY psn=100 len=20 ack
		< ACKNOWLEDGE psn=100
		wc 3 SUCCESS SEND`)
}
